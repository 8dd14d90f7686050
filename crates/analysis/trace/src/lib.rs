//! Traces as files: one format for every arm, read back, compared, exported to Perfetto and to Parquet.
//!
//! `docs/reference/traces.md` has the schema.
#![forbid(unsafe_code)]

mod block;
pub mod diff;
mod header;
mod limits;
mod names;
pub mod perfetto;
mod read;
pub mod tables;
mod words;
mod write;

use model::Trace;

pub use header::{Header, Making, Program};
pub use read::read;
pub use write::write;

/// What a file begins with; the number is the format's version.
pub const SCHEMA: &str = "rearguard.trace/2";

/// A trace with what says where it is from.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Where it is from: scenario, machine, policy, seed, arm.
    pub header: Header,
    /// What happened.
    pub trace: Trace,
}
