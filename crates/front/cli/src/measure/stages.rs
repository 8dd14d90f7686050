//! Where the time of a measurement's requests went: the server's kernel is asked, and where that is not to be
//! had, the client's.

#[cfg(feature = "bpf")]
mod server;
/// Nothing watches without the kernel's part.
#[cfg(not(feature = "bpf"))]
#[path = "stages/blind.rs"]
mod server;

use std::net::SocketAddr;

use ::measure::{Measurement, SocketStages, Target, socket_stages};
use generator::{LiveCounters, Record};
use model::{Failure, Trace};
use report::stages::Stage;

use super::live::Snapshot;

/// The source of a run's stages.
pub enum Watching {
    /// Hooks in the server's kernel.
    Server(server::Watching),
    /// Stamps of the client's kernel.
    Client {
        /// Why the server's is not asked.
        why: String,
        /// Whether the server is on this machine.
        is_here: bool,
    },
}

/// What was told.
pub struct Staged {
    /// How long each stage takes.
    pub figures: Vec<Stage>,
    /// What is unknown, and why.
    pub note: Option<String>,
    /// Where the server's kernel told it.
    pub traced: Option<Traced>,
}

/// What the server's kernel saw.
pub struct Traced {
    /// The measurement's trace with stages, events, and every thread that had a CPU.
    pub trace: Trace,
    /// CPUs of the machine.
    pub cpus: u32,
}

impl Watching {
    /// To be called before the first connection.
    pub fn start(target: &Target) -> Result<Watching, Failure> {
        let address = address(target)?;
        let is_here = target.address.is_here();
        if !is_here {
            let why = format!(
                "{} is another machine's, whose kernel cannot be asked from here; `rearguard stages` asks it there",
                address.ip()
            );
            return Ok(Watching::Client { why, is_here });
        }
        match server::Watching::start(address, target.transport()) {
            Err(Failure::Machine(why)) => Ok(Watching::Client { why, is_here }),
            server => server.map(Watching::Server),
        }
    }

    /// Whether the client's kernel is to stamp what passes it.
    pub fn is_client(&self) -> bool {
        matches!(self, Watching::Client { .. })
    }

    /// What was seen since the last look; `None`: no request.
    pub fn snapshot(&self, live: &LiveCounters) -> Option<Snapshot> {
        match self {
            Watching::Server(server) => server.snapshot(),
            Watching::Client { is_here, .. } => of_client(&live.take_stamped(), *is_here),
        }
    }

    /// The stages of the requests of a measurement.
    pub fn finish(self, measured: &Measurement) -> Result<Staged, Failure> {
        let (why, is_here) = match self {
            Watching::Server(server) => return server.finish(measured),
            Watching::Client { why, is_here } => (why, is_here),
        };
        let SocketStages { stages, answered, complete } = socket_stages(&measured.records, is_here);
        let note = format!(
            "unknown is what only the server's kernel knows: {why}. The rest is by the client's own sockets (SO_TIMESTAMPING), \
             of {complete} of {answered} requests"
        );
        Ok(Staged { figures: stages, note: Some(note), traced: None })
    }
}

/// Where packets can be watched. [`Failure::Input`] for a target without packets.
pub fn address(target: &Target) -> Result<SocketAddr, Failure> {
    if target.shares_connections() {
        return Err(Failure::Input(format!(
            "--stages: requests to {} share a connection, so their bytes cannot be told apart: leave --stages out, or measure \
             over HTTP/1.1",
            target.text
        )));
    }
    target.address.ip().ok_or_else(|| {
        Failure::Input(format!(
            "--stages: {} has none, as no packet goes over a unix socket: leave --stages out, or measure the server at a \
             port, if it listens at one",
            target.text
        ))
    })
}

/// What the client's kernel stamped of some requests: the stages that it knows, and no culprit.
fn of_client(records: &[Record], is_here: bool) -> Option<Snapshot> {
    let SocketStages { mut stages, complete, .. } = socket_stages(records, is_here);
    stages.retain(|stage| stage.span_ns.p50.value.is_some());
    (complete > 0).then_some(Snapshot { stages, blamed: None })
}
