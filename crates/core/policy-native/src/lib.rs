//! The scheduler's C source compiled natively, behind a safe trait.
//!
//! `policy/` in C decides. An implementation of [`Platform`] answers its questions and does what it orders. A
//! [`Policy`] is one loaded instance: it owns the state that the C code hangs on threads, CPUs and queues.
//! Its code is built in, or compiled when it is named from a file of the user's. This crate is the only one
//! with `unsafe`: C calls into [`Platform`] through a thread-local pointer that is set while a callback runs.

mod anchor;
mod domains;
mod file;
mod file_options;
mod options;
mod platform;
mod policy;
mod policy_options;
mod program;
mod shim;
mod state;
mod table;

pub use file::{HEADERS, Source, compiles, trusted};
pub use file_options::FileOptions;
pub use options::policies;
pub use platform::{Kick, Level, Local, Move, Place, Platform};
pub use policy::Policy;
pub use policy_options::PolicyOptions;
pub use program::Program;
pub use shim::{calls, place};
pub use state::{ENTRIES, Owner, POOLS, QUEUES};
pub use table::{OPTIONS, OptionRow, Options, POLICIES, PolicyRow, Values, option, policy};
