//! Experiments: a plan of grids, each of scenarios, values of their keys and policies, run point by point on
//! any arm.
//!
//! A point knows all that it takes to run it, so it can run in any thread, process or machine. What it found
//! is JSON, the same bytes wherever a simulation ran, and is kept under a name made of all that it depends
//! on: what is finished is not run again.
#![forbid(unsafe_code)]

mod command;
mod kinds;
mod plan;
mod point;
mod run;
mod sample;
mod sources;
mod store;
mod tables;

pub use command::ended;
pub use plan::{Plan, Source};
pub use point::{Failed, Point, PointFailure};
pub use run::{Runner, Swept, found};
pub use store::Store;
pub use tables::{results, tables, write};

/// The `schema` of the outcome that `--json` prints.
pub const SWEEP_SCHEMA: &str = "rearguard.sweep/2";
