//! The vm arm: boots a stock kernel with the scenario's CPUs in QEMU and runs the host arm inside it.
//!
//! What runs in the guest is this very executable in another role, so an executable that uses [`VmArm`] must
//! play [`ROLES`] first thing in its `main`, and those of `lab`, `host` and `loader`.
#![forbid(unsafe_code)]

mod arm;
mod guest;
mod guest_output;
mod needs;
mod order;

pub use arm::VmArm;
pub use guest::{ROLES, kernel_tracer};
