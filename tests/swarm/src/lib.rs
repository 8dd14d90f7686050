//! The swarm: random machines, scenarios, policies and faults, each from one seed, under every checker.
//!
//! [`Case::draw`] makes one, [`run`] runs it, [`shrink`] makes a failing one small.
#![forbid(unsafe_code)]

mod draw;
pub mod planted;
mod rng;
mod run;
mod shrink;

pub use draw::Case;
pub use run::{Outcome, Watcher, run, watch};
pub use shrink::shrink;
