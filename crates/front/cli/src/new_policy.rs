//! `rearguard new-policy`: the beginning of a policy of one's own.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use model::Failure;

/// What the file begins as: it runs as it is.
const TEMPLATE: &str = include_str!("../../../../policy/examples/template.c");

/// Write a policy of your own into NAME.c: it runs at once, and every line of it may change
#[derive(clap::Args)]
pub struct Args {
    /// Its name: letters, digits, `-` and `_`
    name: String,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let name = args.name.strip_suffix(".c").unwrap_or(&args.name);
    check(name)?;
    let path = format!("{name}.c");
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    file.and_then(|mut file| file.write_all(TEMPLATE.as_bytes())).map_err(|error| {
        Failure::Input(match error.kind() {
            ErrorKind::AlreadyExists => {
                format!("{path} is there already, and is left as it is; choose another name")
            }
            _ => format!("{path}: {error}"),
        })
    })?;
    stdout::line(format_args!(
        "{path}: a policy. Beside the simulator's own, on any scenario:\n\n    \
         rearguard compare SCENARIO.toml --policy eevdf,./{path}\n\n\
         With --on vm it runs on a real kernel in a guest; `sudo rearguard load ./{path}` puts it into this one."
    ))
}

fn check(name: &str) -> Result<(), Failure> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_word) {
        let reason = "expected letters, digits, `-` and `_`, for example mine";
        return Err(Failure::Input(format!("policy `{name}`: {reason}")));
    }
    if sim::arm::names().contains(&name) {
        return Err(Failure::Input(format!("policy `{name}` exists; choose another name")));
    }
    Ok(())
}
