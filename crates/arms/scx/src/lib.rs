//! Policies in the running kernel: the sched_ext adapter of the seam (`src/bpf`) and its loader.
//!
//! [`load`] checks before it changes anything, puts a policy into force and answers a [`Loaded`], which takes
//! it out again when it is dropped. The kernel ends it as well when this process ends, in whatever way.
//!
//! Building it takes clang, libelf and zlib; everything else of the project builds without.

mod admit;
mod code;
mod control;
mod costs;
mod deep;
mod ending;
mod groups;
mod home;
mod limits;
mod live;
mod loaded;
mod only;
mod open;
mod promised;
mod ready;
mod renew;
mod skeleton;
pub mod stats;
mod tables;
mod topology;

pub use bpf::{CLASSES, keep_least, verbose};
pub use code::Code;
pub use control::Control;
pub use costs::Cost;
pub use deep::deep_groups;
pub use ending::Ending;
pub use limits::{Limit, broken_limits, keeps_quotas};
pub use loaded::{DryRun, Loaded, Poll, Scope, check, dry_run, load, load_code};
pub use only::Only;
pub use promised::Promised;
pub use ready::in_force;
pub use topology::Topology;
