//! The gate: what a scheduler did is recorded once, and its next version is held against that.
//!
//! Runs are paired by seed, so both sides have the same arrivals. Every figure is tested, and the probability
//! that a gate raises any false alarm is bounded by Holm's method (1979) over all of them.
#![forbid(unsafe_code)]

mod base;
mod halfway;
mod holm;
mod judge;
mod junit;
mod record;
mod text;

pub use base::{Base, GATE_SCHEMA, Measure, Recorded, Service};
pub use halfway::{Past, Way};
pub use judge::{FAMILY, FIGURES, Judged, Least, Outcome, between, judge, judge_at};
pub use junit::junit;
pub use record::{Runner, Source};
pub use text::{aligned, annotations, said, table};
