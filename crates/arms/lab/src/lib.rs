//! The VM lab: brings stock Debian kernels, and boots one in QEMU to run one command under it.
//!
//! The machine's own package state is never touched: kernels come by an apt state of the lab's own. The
//! guest's init and the guard of the QEMU process are this very executable in another role, so an executable
//! that uses [`Lab`] must call [`role_main`] first thing in its `main`.
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

use std::process::ExitCode;

/// Plays a role of the lab if the arguments ask for one, and says how it ended; `None`: they do not.
pub fn role_main(args: impl IntoIterator<Item = String>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    match args.next()?.as_str() {
        guest::ROLE => Some(guest::main()),
        boot::ROLE => Some(boot::exec_bound(args)),
        _ => None,
    }
}
