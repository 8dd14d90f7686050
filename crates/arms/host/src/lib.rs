//! The host arm: runs a scenario for real, on this machine's kernel.
//!
//! The scenario's programs are child processes, this executable run again in another role. An executable that
//! uses [`HostArm`] must play [`ROLES`] first thing in its `main`.
#![forbid(unsafe_code)]

mod arm;
mod assemble;
mod changes;
mod check;
mod children;
mod commands;
mod conduct;
mod cpu_time;
mod exclusive;
mod groups;
mod machine;
pub mod pipes;
mod policy;
mod privilege;
mod role;
mod sampler;

pub use arm::{HostArm, Stage, run_on};
pub use check::check_scenario;
pub use exclusive::Exclusive;
use generator::clock;
pub use machine::{Placement, cpu_model, cpus, idle, release};
pub use policy::Policy as Services;
pub use role::{ROLES, serve_until_killed};
pub use sampler::Pulls;
