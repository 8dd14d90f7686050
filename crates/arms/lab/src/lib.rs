//! The VM lab: brings stock Debian kernels, and boots one in QEMU to run one command under it.
//!
//! The machine's own package state is never touched: kernels come by an apt state of the lab's own. The
//! guest's init and the guard of the QEMU process are this very executable in another role, so an executable
//! that uses [`Lab`] must play [`ROLES`] first thing in its `main`.
#![forbid(unsafe_code)]

mod boot;
mod fetch;
mod guest;
mod image;
mod run;
mod store;
mod tools;
mod wire;

pub use boot::{Counting, RealTime, check as check_machine};
pub use fetch::Fetched;
pub use guest::order::INIT as OWN_PROGRAM;
pub use image::archive::Entry;
pub use image::closure::locate;
pub use run::{Cost, Job, Outcome, Watcher};
pub use store::{Kernel, Lab, NEWEST};
pub use wire::Stream;

use model::role::Role;

/// The roles of the lab.
pub const ROLES: &[Role] = &[(guest::ROLE, |_| guest::main()), (boot::ROLE, boot::exec_bound)];
