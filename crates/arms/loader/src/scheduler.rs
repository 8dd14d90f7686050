//! The scheduler that was asked for: put into force, and in force to the end of the run.
//!
//! A sched_ext scheduler that makes a mistake is ejected, and the workload goes on silently in the default
//! class: a run that did not look at its end would report that class as the policy.

mod log;
mod name;
mod program;

use model::Failure;
use model::role::Role;
use serde::{Deserialize, Serialize};

pub use name::{PROGRAM, named};
use program::Program;

/// The scheduler of normal threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scheduler {
    /// The kernel's default class.
    Kernel,
    /// A program that puts a sched_ext scheduler into force until it is interrupted, with its arguments.
    Program(Vec<String>),
}

/// An executable that puts schedulers into force must play these first thing in its `main`.
pub const ROLES: &[Role] = &[program::ROLE];

/// A scheduler in force. Dropping it takes it out.
pub enum InForce {
    /// The kernel's default class.
    Kernel,
    /// A program.
    Program(Program),
}

impl Scheduler {
    /// Puts it into force.
    pub fn enter(&self) -> Result<InForce, Failure> {
        match self {
            Scheduler::Kernel => Ok(InForce::Kernel),
            Scheduler::Program(command) => Program::start(command).map(InForce::Program),
        }
    }

    /// Whether this machine can, as far as it can be seen without trying.
    pub fn check(&self) -> Result<(), Failure> {
        if *self == Scheduler::Kernel {
            return Ok(());
        }
        if !sched_ext::exists() {
            return Err(Failure::Machine(
                "this kernel has no sched_ext: boot a newer one, or `compare` with --on vm or --on sim".into(),
            ));
        }
        match sched_ext::loaded().ok().flatten() {
            None => Ok(()),
            Some(name) => Err(Failure::Machine(format!(
                "the scheduler `{name}` is loaded already: end its program first; a kernel holds one at a time"
            ))),
        }
    }
}

impl InForce {
    /// Fails unless it has been in force until now: with the reason that the kernel gives, and its last
    /// messages.
    pub fn check(&mut self) -> Result<(), Failure> {
        let wanted = match self {
            InForce::Kernel => None,
            InForce::Program(program) => Some(program.check()?),
        };
        let found = in_force();
        let name = |scheduler: &Option<String>| {
            scheduler.clone().unwrap_or_else(|| "the default class".to_string())
        };
        if found == wanted {
            return Ok(());
        }
        Err(lost(&name(&wanted), &format!("{} is in force", name(&found))))
    }
}

/// The scheduler in force. A kernel that does not say has none.
fn in_force() -> Option<String> {
    sched_ext::in_force().ok().flatten()
}

/// A run that another scheduler ended than began it.
fn lost(who: &str, why: &str) -> Failure {
    let messages = log::kernel_messages();
    Failure::Run(format!(
        "{who} was not in force to the end of the run: {why}; the kernel's last messages:\n{messages}"
    ))
}
