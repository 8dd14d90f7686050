//! What the server's kernel says of a measurement: the stages of its requests, and the culprits of their
//! waits.

use std::net::{IpAddr, UdpSocket};

use ::explain::{Program, Setting, explain};
use ::measure::{Measurement, Target};
use generator::{Place, Transport};
use model::Failure;
use model::scenario::Machine;
use tracer::{Asked, Observed, Peer, Scheduling, Tracer, Wanted, join, snapshot};

use super::{Staged, Traced};
use crate::measure::live::{Blamed, Snapshot};
use crate::stages::{figures, whole_figures};

/// Hooks at the server's port, in force before the first connection.
pub struct Watching(Tracer);

impl Watching {
    pub fn start(target: &Target) -> Result<Watching, Failure> {
        let tcp = target.transport() == Transport::Stream;
        let (port, scheduling) = (Some(target.address.port()), Scheduling::Everywhere);
        Ok(Watching(Tracer::start(Wanted { port, tcp, scheduling })?))
    }

    /// What was seen since the last look; `None`: no request.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let observed = snapshot(&self.0.recent())?;
        let stages = figures(&observed.trace);
        let blamed = Some(blamed(&observed));
        Some(Snapshot { stages, blamed })
    }

    /// Joins what was seen to the requests, byte by byte.
    pub fn finish(self, measured: &Measurement, target: &Target) -> Result<Staged, Failure> {
        let recording = self.0.stop()?;
        let is_udp = target.transport() == Transport::Datagram;
        let own = own_ip(target).unwrap_or(target.address.ip());
        let asked = |place: &Place| Asked {
            client: Peer::of((own, place.port).into(), is_udp),
            request_end: place.request_end,
            answer: place.answer_begin..place.answer_end,
        };
        let asked: Vec<Option<Asked>> =
            measured.places.iter().map(|place| place.as_ref().map(asked)).collect();
        let (trace, cpus) = join(&recording, measured.trace.clone(), &asked, measured.begin)?;
        let figures = whole_figures(&trace);
        let traced = Some(Traced { trace, cpus });
        Ok(Staged { figures, note: None, traced })
    }
}

/// The address from which this machine reaches the target.
fn own_ip(target: &Target) -> Option<IpAddr> {
    let any: IpAddr = if target.address.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(target.address).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// The culprits of the slowest requests, the worst first.
fn blamed(observed: &Observed) -> Vec<Blamed> {
    let program = |(index, process)| Program { serves: index == 0, ..Program::of(process, index) };
    let setting = Setting {
        machine: Machine { cpus: observed.cpus, ..Machine::ONE_CPU },
        programs: observed.programs.iter().enumerate().map(program).collect(),
    };
    let Ok(explanation) = explain(&observed.trace, &setting) else { return Vec::new() };
    let findings = explanation.documents().into_iter().flat_map(|service| service.findings);
    let mut all: Vec<Blamed> = findings
        .flat_map(|finding| {
            let (source, whole) = (finding.source, finding.share);
            finding.culprits.into_iter().map(move |culprit| Blamed {
                source: source.clone(),
                culprit: culprit.name,
                share: whole * culprit.share,
            })
        })
        .collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all
}
