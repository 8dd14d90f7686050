//! The extension module below the Python package `rearguard`, whose pure Python part is in python/src.
//!
//! Every call that computes runs in a thread of its own and lets go of the interpreter; results leave as
//! Arrow tables without copies.
#![forbid(unsafe_code)]

mod arrow;
mod cluster;
mod compare;
mod failure;
mod ideal;
mod results;
mod run;
mod samples;
mod scenario;
mod statistics;
mod sweep;
mod value;
mod work;

use pyo3::prelude::*;

/// The compiled part of the package `rearguard`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::arrow::Table;
    #[pymodule_export]
    use crate::cluster::cluster;
    #[pymodule_export]
    use crate::compare::{check, compare, policies};
    #[pymodule_export]
    use crate::failure::{Error, InputError, MachineError, RunError};
    #[pymodule_export]
    use crate::ideal::{ideal, replay};
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::run::{read_trace, run};
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::statistics::{latency, outliers, required_proportion, service_proportion, verdict};
    #[pymodule_export]
    use crate::sweep::{Grid, run_point};
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
