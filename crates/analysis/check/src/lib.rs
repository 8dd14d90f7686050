//! Checkers: what can be said of a scheduler from its events and its trace, without its inside.
//!
//! [`Checks`] follows a run event by event. One rule a file below [`rules`], each by the slowest method that
//! is obviously right; [`promises`] says which policy promises what.
#![forbid(unsafe_code)]

mod checks;
mod fault;
pub mod promises;
pub mod rules;
mod scene;

pub use checks::Checks;
pub use fault::{Fault, Finding};
pub use scene::{Scene, State, Thread};
