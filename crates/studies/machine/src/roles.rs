//! This executable as a helper of its own commands: processes that outlive them.

pub mod enter;
pub mod guard;
pub mod hold;
pub mod watchdog;

use std::process::ExitCode;

use model::Failure;
use model::role::Role;

/// The roles of this crate.
pub const ROLES: &[Role] = &[
    (guard::ROLE, |args| ended(guard::play(args))),
    (hold::ROLE, |args| ended(hold::play(args))),
    (watchdog::ROLE, |args| ended(watchdog::play(args))),
    (enter::ROLE, |args| ended(enter::play(args))),
];

fn ended(played: Result<(), Failure>) -> ExitCode {
    played.map_or_else(fail, |()| ExitCode::SUCCESS)
}

fn fail(failure: Failure) -> ExitCode {
    eprintln!("rearguard: {failure}");
    ExitCode::from(failure.exit_code())
}
