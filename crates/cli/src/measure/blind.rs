//! What `--stages` says where there is nobody who could watch.

use ::measure::{Measurement, Target};
use model::{Failure, Trace, recorder};

use super::live::Glance;

/// Nobody.
pub enum Watching {}

/// What nobody saw.
pub struct Staged {
    pub figures: Vec<report::stages::Stage>,
    pub trace: Trace,
    pub cpus: u32,
}

impl Watching {
    pub fn start(_target: &Target) -> Result<Watching, Failure> {
        Err(recorder::unbuilt())
    }

    pub fn glance(&self) -> Option<Glance> {
        match *self {}
    }

    pub fn finish(self, _measured: &Measurement, _target: &Target) -> Result<Staged, Failure> {
        match self {}
    }
}
