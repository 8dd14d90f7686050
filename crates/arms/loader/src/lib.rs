//! `scx_rearguard`, the program that puts policies into the kernel, as other programs see it: where it is,
//! what it reports on its socket, and the report as a table and as OpenMetrics. It and its like as the
//! scheduler of a run.
//!
//! It is a program of its own because it links code that is GPL-2.0-only, which `rearguard` with its
//! dependencies under Apache-2.0 must not. This crate depends on neither.
#![forbid(unsafe_code)]

mod client;
mod control;
mod open_metrics;
mod owners;
mod program;
mod report;
mod scheduler;
mod table;

pub use client::{Client, SOCKET};
pub use control::{Answer, Ask, CONTROL, PromiseStatus, ask};
pub use open_metrics::{label, open_metrics};
pub use owners::Owners;
pub use program::{NAME, compile, find};
pub use report::{Field, Figures, Group, Process, Queue, Report};
pub use scheduler::{InForce, PROGRAM, ROLES, Scheduler, named};
pub use table::table;
