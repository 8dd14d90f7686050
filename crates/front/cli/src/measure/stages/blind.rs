//! A program without the kernel's part cannot trace.

use ::measure::{Measurement, Target};
use model::{Failure, trace_session};

use super::Staged;
use crate::measure::live::Snapshot;

/// None.
pub enum Watching {}

impl Watching {
    pub fn start(_target: &Target) -> Result<Watching, Failure> {
        Err(trace_session::unbuilt())
    }

    pub fn snapshot(&self) -> Option<Snapshot> {
        match *self {}
    }

    pub fn finish(self, _measured: &Measurement, _target: &Target) -> Result<Staged, Failure> {
        match self {}
    }
}
