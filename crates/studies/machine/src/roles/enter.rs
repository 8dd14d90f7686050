//! A command in a cgroup: this process enters it, then becomes the command, so that none of its threads ever
//! ran elsewhere.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use model::Failure;

/// The argument that makes an executable enter.
pub const ROLE: &str = "__host_enter";

/// Enters and becomes the command; returns only if it cannot.
pub fn play(args: &[String]) -> Result<(), Failure> {
    let [group, program, args @ ..] = args else {
        return Err(Failure::Input(format!("{ROLE}: expected a cgroup and a command")));
    };
    fs::write(format!("{group}/cgroup.procs"), "0")
        .map_err(|error| Failure::Machine(format!("{group}: {error}")))?;
    let error = Command::new(program).args(args).exec();
    Err(Failure::Input(format!("{program}: {error}: name a command that can be run here")))
}
