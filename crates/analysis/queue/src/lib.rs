//! The ideal: what an A/S/c queue does with given arrivals and services (Tales section 2).
//!
//! [`ideal_latencies`] replays the requests of a trace and [`ideal`] any, [`Ideal`] simulates drawn ones,
//! [`Chain`] replays those of services behind one another, and [`exact`] knows closed forms to check by.
//! Nothing here reads a clock; every moment is a whole number of nanoseconds.
#![forbid(unsafe_code)]

mod chain;
mod discipline;
mod engine;
pub mod exact;
mod generated;
mod histogram;
mod record;
mod recording;
mod simulate;
mod summary;
pub mod tales;
mod trace;

pub use chain::{Chain, Tier};
pub use discipline::Discipline;
pub use generated::{Ideal, IdealResult};
pub use recording::{Recorded, Recording};
pub use trace::{ideal, ideal_latencies};
