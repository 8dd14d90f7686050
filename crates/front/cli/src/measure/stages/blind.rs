//! A program without the kernel's part cannot trace.

use std::net::SocketAddr;

use ::measure::Measurement;
use generator::Transport;
use model::{Failure, trace_session};

use super::Staged;
use crate::measure::live::Snapshot;

/// None.
pub enum Watching {}

impl Watching {
    pub fn start(_address: SocketAddr, _transport: Transport) -> Result<Watching, Failure> {
        Err(trace_session::unbuilt())
    }

    pub fn snapshot(&self) -> Option<Snapshot> {
        match *self {}
    }

    pub fn finish(self, _measured: &Measurement) -> Result<Staged, Failure> {
        match self {}
    }
}
