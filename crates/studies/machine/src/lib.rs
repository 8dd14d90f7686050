//! Changes to a machine and their undo: `tune`, `cell`, and what a machine supports.
//!
//! Every change is a [`target::Target`] that gets a value, and goes through the [`journal`], so that its undo
//! does not depend on which processes are still alive.
#![forbid(unsafe_code)]

pub mod cell;
mod class;
mod cpus;
pub mod doctor;
pub mod facts;
mod housekeeping;
pub mod journal;
mod machine;
mod place;
pub mod platform;
mod proc;
mod roles;
pub mod target;
mod transaction;
pub mod tune;

pub use class::{Class, Policy};
pub use cpus::Cpus;
pub use machine::Machine;
pub use place::{Partition, privileged, supported};
pub use roles::ROLES;
pub use roles::enter::ROLE as ENTER;
pub use transaction::{Stop, Transaction};
