//! Where the time of a measurement's requests went: the server's kernel is asked, and where that is not to be had, the client's.

#[cfg(feature = "kernel")]
mod server;
/// Nobody watches without the kernel's part.
#[cfg(not(feature = "kernel"))]
#[path = "stages/blind.rs"]
mod server;

use std::net::UdpSocket;

use ::measure::{Measurement, Passed, Target, passed};
use model::{Failure, Trace};
use report::stages::Stage;

use super::live::Glance;

/// Who tells the stages of a run.
pub enum Watching {
    /// Hooks in the server's kernel.
    Server(server::Watching),
    /// Stamps of the client's kernel, for this reason.
    Client(String),
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
    /// The measurement's trace with stages, events, and everybody who had a CPU.
    pub trace: Trace,
    /// CPUs of the machine.
    pub cpus: u32,
}

impl Watching {
    /// To be called before the first connection.
    pub fn start(target: &Target) -> Result<Watching, Failure> {
        if !is_here(target) {
            return Ok(Watching::Client(format!(
                "{} is another machine's, whose kernel cannot be asked from here; `rearguard stages` asks it there",
                target.address.ip()
            )));
        }
        match server::Watching::start(target) {
            Err(Failure::Machine(why)) => Ok(Watching::Client(why)),
            server => server.map(Watching::Server),
        }
    }

    /// Whether the client's kernel is to stamp what passes it.
    pub fn is_client(&self) -> bool {
        matches!(self, Watching::Client(_))
    }

    /// What was seen since the last look; `None`: no request, or nobody who could say.
    pub fn glance(&self) -> Option<Glance> {
        match self {
            Watching::Server(server) => server.glance(),
            Watching::Client(_) => None,
        }
    }

    /// The stages of the requests of a measurement.
    pub fn finish(self, measured: &Measurement, target: &Target) -> Result<Staged, Failure> {
        let why = match self {
            Watching::Server(server) => return server.finish(measured, target),
            Watching::Client(why) => why,
        };
        let Passed { stages, answered, complete } = passed(&measured.records, is_here(target));
        let note = format!(
            "unknown is what only the server's kernel knows: {why}. The rest is by the client's own sockets (SO_TIMESTAMPING), \
             of {complete} of {answered} requests"
        );
        Ok(Staged { figures: stages, note: Some(note), traced: None })
    }
}

/// Only an address of this machine can be bound.
fn is_here(target: &Target) -> bool {
    UdpSocket::bind((target.address.ip(), 0)).is_ok()
}
