//! From one server to ten thousand: what fan-out, dispatch and redundancy make of the tail.
//!
//! [`Measured`] is one server's latency as it was measured. [`Cluster`] is many servers, read from a
//! file and simulated case by case with queueing feedback: what a rule sends more delays all. The
//! same seed gives the same bytes.
#![forbid(unsafe_code)]

mod definition;
mod dispatch;
mod document;
mod engine;
mod measured;
mod outcome;
mod read;
mod redundancy;
mod words;

pub use definition::{Case, Cluster, Leaf, Machine, Partial, Root, Slow, Tier, Work};
pub use dispatch::Dispatch;
pub use measured::Measured;
pub use outcome::Outcome;
pub use redundancy::{Cancel, MOST_COPIES, Redundancy, Wait};
