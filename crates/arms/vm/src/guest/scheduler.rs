//! The scheduler that was asked for: put into force, and in force to the end of the run.
//!
//! A sched_ext scheduler that makes a mistake is ejected, and the workload goes on silently in the default
//! class: a run that did not look at its end would report that class as the policy.

mod log;
mod program;

use model::Failure;

use crate::order::{Order, Scheduler};
use program::Program;

/// A scheduler in force. Dropping it takes it out.
pub enum InForce {
    /// The kernel's default class.
    Kernel,
    /// A program.
    Program(Program),
}

/// Puts the order's scheduler into force.
pub fn enter(order: &Order) -> Result<InForce, Failure> {
    match &order.scheduler {
        Scheduler::Kernel => Ok(InForce::Kernel),
        Scheduler::Program(command) => Program::start(command).map(InForce::Program),
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
