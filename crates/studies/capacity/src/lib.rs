//! The greatest load that each policy carries at an objective, such as at most 0.1% of requests slower than
//! 10 ms, beside the load that the ideal carries at the same objective (the metric of ZygOS, SOSP 2017).
//!
//! Every load is a point of an [`experiment`]: the scenario with another rate, the same seeds, so the same
//! random numbers at every load and under every policy.
#![forbid(unsafe_code)]

mod carried;
mod loads;
mod objective;
mod search;
mod study;

pub use objective::Objective;
pub use study::Study;
