//! What the server's kernel says of a measurement: the stages of its requests, and the culprits of their
//! waits.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use ::explain::{Program, Setting, explain};
use ::measure::Measurement;
use generator::{Place, Transport};
use model::Failure;
use model::scenario::Machine;
use report::explain::within;
use tracer::{Asked, Observed, Peer, Scheduling, Tracer, Wanted, join, snapshot};

use super::{Staged, Traced};
use crate::measure::live::{Blamed, Snapshot};
use crate::stages::{figures, whole_figures};

/// Hooks at the server's port, in force before the first connection.
pub struct Watching {
    tracer: Tracer,
    address: SocketAddr,
    transport: Transport,
}

impl Watching {
    pub fn start(address: SocketAddr, transport: Transport) -> Result<Watching, Failure> {
        let (ports, scheduling) = (vec![address.port()], Scheduling::Everywhere);
        let tracer = Tracer::start(Wanted { ports, scheduling })?;
        Ok(Watching { tracer, address, transport })
    }

    /// What was seen since the last look; `None`: no request.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let observed = snapshot(&self.tracer.recent(), None)?;
        let stages = figures(&observed.trace);
        let blamed = Some(blamed(&observed));
        Some(Snapshot { stages, blamed })
    }

    /// Joins what was seen to the requests, byte by byte.
    pub fn finish(self, measured: &Measurement) -> Result<Staged, Failure> {
        let is_udp = self.transport == Transport::Datagram;
        let own = own_ip(self.address).unwrap_or(self.address.ip());
        let recording = self.tracer.stop()?;
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
fn own_ip(target: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = if target.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(target).ok()?;
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
                culprit: within(&culprit.name, culprit.owner.as_deref()),
                share: whole * culprit.share,
            })
        })
        .collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all
}
