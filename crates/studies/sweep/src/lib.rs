//! Sweeps: a grid of scenarios, values of their keys and policies, run point by point.
//!
//! A point knows all that it takes to run it, so it can run in any thread, process or machine; what it found
//! is one Parquet file, the same bytes wherever it ran. The folder of a sweep holds those files, so that what
//! is finished is not run again.
#![forbid(unsafe_code)]

mod folder;
mod grid;
mod point;
mod run;
mod sample;
mod tables;

pub use folder::Folder;
pub use grid::{Grid, Source};
pub use point::{Failed, Point, PointFailure};
pub use run::{Swept, sweep};

/// The `schema` of what a point's file notes, and of the outcome that `--json` prints.
pub const SWEEP_SCHEMA: &str = "rearguard.sweep/1";

/// The version, and a fingerprint of the sources that results depend on.
pub const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("ENGINE"));
