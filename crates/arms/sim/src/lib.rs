//! The sim arm: a discrete-event model of the kernel, not of a scheduler.
//!
//! [`kernel`] moves time from event to event; programs say what threads do next, a [`class::Class`] says
//! which thread runs where. What is modelled and what is not stands in `docs/evidence/fidelity.md`.
#![forbid(unsafe_code)]

pub mod affinity;
pub mod arm;
pub mod class;
pub mod core;
pub mod costs;
pub mod cpu_set;
pub mod events;
pub mod kernel;
pub mod machine;
pub mod observer;
pub mod places;
mod program;
mod stepped;
mod streams;

pub use arm::{SimArm, names};
pub use kernel::{
    Kernel, Run, Setup, simulate, simulate_changing, simulate_observed, simulate_with,
};
pub use observer::{EventLog, Observer};
pub use stepped::{Stepped, first_service};
