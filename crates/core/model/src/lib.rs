//! The shared words of Rearguard: time, CPUs, scenario, laws, trace, arm.
//!
//! Everything else depends on this crate and this crate on none of them. It does no I/O, reads no clock
//! and starts no thread.
#![forbid(unsafe_code)]

mod answer;
mod arm;
pub mod arrivals;
pub mod change;
pub mod edit;
pub mod event;
mod failure;
mod ids;
pub mod law;
mod policy_spec;
mod printable;
pub mod role;
pub mod scenario;
pub mod seed;
mod suggest;
mod time;
pub mod trace;
pub mod trace_session;
pub mod units;
pub mod weight;
pub mod workload;

pub use answer::Answer;
pub use arm::{Arm, Events, Silent, Watch};
pub use failure::Failure;
pub use ids::{CpuId, ThreadId};
pub use policy_spec::PolicySpec;
pub use printable::printable;
pub use scenario::Scenario;
pub use suggest::did_you_mean;
pub use time::{Nanos, Scale};
pub use trace::Trace;
