//! What can be changed on a machine: one kind a file, all with a value that is read, written and compared.
//!
//! That is all an undo needs: the journal holds the target and its value before, whatever the kind.

mod affinity;
mod child;
mod class;
mod controller;
mod file;
mod group;
mod inherited;
mod membership;

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

pub use child::{ABSENT, Child, PRESENT};
pub use file::Form;

use crate::platform::Platform;

/// Where cgroups of version 2 are.
pub const GROUPS: &str = "/sys/fs/cgroup";

/// Something of the machine that has a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Target {
    /// A file of /sys or /proc.
    File {
        /// Its path.
        path: String,
        /// What its text means, so that the same value in other words is the same.
        form: Form,
    },
    /// Whether a controller works below a cgroup: `on` or `off`.
    Controller {
        /// The cgroup's path.
        group: String,
        /// The controller.
        name: String,
    },
    /// A cgroup of our own: `present` or `absent`.
    Group {
        /// Its path.
        path: String,
        /// Where processes go that are in it when it ends; `None`: they end with it.
        fallback: Option<String>,
    },
    /// Which cgroup a process is in.
    Membership {
        /// The process.
        process: i32,
        /// When it started.
        start: u64,
    },
    /// The scheduling class of a thread.
    Class {
        /// Its process.
        process: i32,
        /// The thread.
        thread: i32,
        /// When it started.
        start: u64,
    },
    /// Whether threads of a family of processes are in a class that they inherited: `yes` or `no`.
    InheritedClass {
        /// The first process.
        process: i32,
        /// When it started.
        start: u64,
        /// The class.
        class: String,
        /// The one that they would have otherwise.
        instead: String,
    },
    /// The CPUs that a thread of the kernel may use.
    Affinity {
        /// The thread.
        thread: i32,
        /// When it started.
        start: u64,
    },
    /// A process of ours that stays: `present` or `absent`.
    Child(Child),
}

impl Target {
    /// A text of /sys or /proc.
    pub fn text(path: impl Into<String>) -> Target {
        Target::File { path: path.into(), form: Form::Text }
    }

    /// A list of CPUs.
    pub fn list(path: impl Into<String>) -> Target {
        Target::File { path: path.into(), form: Form::List }
    }

    /// A mask of CPUs.
    pub fn mask(path: impl Into<String>) -> Target {
        Target::File { path: path.into(), form: Form::Mask }
    }

    /// Its value now; `None`: it is gone (a thread ended, a device was unplugged).
    pub fn read(&self, on: &dyn Platform) -> io::Result<Option<String>> {
        match self {
            Target::File { path, form: Form::Mask } => file::read_mask(on, path),
            Target::File { path, .. } => file::read(on, path),
            Target::Controller { group, name } => controller::read(on, group, name),
            Target::Group { path, .. } => Ok(Some(group::read(on, path))),
            Target::Membership { process, start } => Ok(membership::read(on, *process, *start)),
            Target::Class { process, thread, start } => {
                Ok(class::read(on, *process, *thread, *start))
            }
            Target::InheritedClass { process, class, .. } => {
                inherited::read(on, *process, class).map(Some)
            }
            Target::Affinity { thread, start } => Ok(affinity::read(on, *thread, *start)),
            Target::Child(child) => child.read(on).map(Some),
        }
    }

    /// Gives it a value.
    pub fn write(&self, on: &dyn Platform, value: &str) -> io::Result<()> {
        match self {
            Target::File { path, .. } => on.write(path, value),
            Target::Controller { group, name } => controller::write(on, group, name, value),
            Target::Group { path, fallback } => group::write(on, path, fallback.as_deref(), value),
            Target::Membership { process, .. } => membership::write(on, *process, value),
            Target::Class { thread, .. } => class::write(on, *thread, value),
            // Heirs come by themselves.
            Target::InheritedClass { .. } if value == "yes" => Ok(()),
            Target::InheritedClass { process, class, instead, .. } => {
                inherited::reset(on, *process, class, instead)
            }
            Target::Affinity { thread, .. } => affinity::write(on, *thread, value),
            Target::Child(child) => child.write(on, value),
        }
    }

    /// Whether it has its value as soon as that was written.
    pub fn is_prompt(&self) -> bool {
        !matches!(self, Target::InheritedClass { .. })
    }

    /// Whether two texts are one value.
    pub fn same(&self, a: &str, b: &str) -> bool {
        match self {
            Target::File { form, .. } => form.same(a, b),
            Target::Affinity { .. } => Form::List.same(a, b),
            _ => a == b,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Target::File { path, .. } => f.write_str(path),
            Target::Controller { group, name } => {
                write!(f, "controller {name} of {}", membership::name(group))
            }
            Target::Group { path, .. } => write!(f, "cgroup {}", membership::name(path)),
            Target::Membership { process, .. } => write!(f, "cgroup of process {process}"),
            Target::Class { thread, .. } => write!(f, "scheduling class of thread {thread}"),
            Target::InheritedClass { process, .. } => {
                write!(f, "threads that process {process} has started since")
            }
            Target::Affinity { thread, .. } => write!(f, "CPUs of kernel thread {thread}"),
            Target::Child(child) => write!(f, "{}", child.about),
        }
    }
}
