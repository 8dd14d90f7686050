//! This executable as a helper of its own commands: processes that outlive them.

pub mod enter;
pub mod guard;
pub mod hold;
pub mod watchdog;

use std::process::ExitCode;

use model::Failure;

/// Plays a role of this crate if the arguments ask for one, and says how it ended; `None`: they do not.
pub fn role_main(args: impl IntoIterator<Item = String>) -> Option<ExitCode> {
    let args: Vec<String> = args.into_iter().skip(1).collect();
    let (role, args) = args.split_first()?;
    let played = match role.as_str() {
        guard::ROLE => guard::play(args),
        hold::ROLE => hold::play(args),
        watchdog::ROLE => watchdog::play(args),
        enter::ROLE => enter::play(args),
        _ => return None,
    };
    Some(played.map_or_else(fail, |()| ExitCode::SUCCESS))
}

fn fail(failure: Failure) -> ExitCode {
    eprintln!("rearguard: {failure}");
    ExitCode::from(failure.exit_code())
}
