//! This executable in a guest: boots one, and plays what a test asks for inside.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use lab::{Entry, Job, Lab, Stream, Watcher};
use libtest_mimic::Failed;
use model::Failure;
use model::scenario::Machine;

use crate::{starve, ways_out};

/// The argument that makes this executable play.
pub const ROLE: &str = "__host_guest_play";

/// Plays if the arguments ask for it.
pub fn play(args: impl IntoIterator<Item = String>) -> Option<ExitCode> {
    let args: Vec<String> = args.into_iter().skip(1).collect();
    let (role, args) = args.split_first()?;
    if role != ROLE {
        return None;
    }
    let (name, args) = args.split_first()?;
    let played = match name.as_str() {
        "serve" => ways_out::serve(),
        "rest" => ways_out::rest(),
        "apply" => ways_out::apply(args),
        "every-step" => ways_out::every_step(args),
        "live" => ways_out::live(args),
        "every-step-of-cells" => ways_out::every_step_of_cells(),
        "leave" => ways_out::leave(args),
        "after-reboot" => ways_out::after_reboot(args),
        "spin" => starve::spin(),
        "starve" => starve::starve(args),
        _ => return None,
    };
    Some(match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    })
}

struct Terminal;

impl Watcher for Terminal {
    fn output(&mut self, _: Stream, bytes: &[u8]) -> Result<(), Failure> {
        eprint!("{}", String::from_utf8_lossy(bytes));
        Ok(())
    }

    fn booted(&mut self, _: Duration, _: &str) {}

    fn cancelled(&self) -> bool {
        false
    }
}

/// Plays in a guest, with files of ours and files that it brings back; fails unless it ended well.
pub fn under(
    machine: Machine,
    args: &[&str],
    put: &[PathBuf],
    get: &[&str],
) -> Result<Vec<Entry>, Failed> {
    let lab = Lab::of_user()?;
    let own = std::env::current_exe()?.to_string_lossy().into_owned();
    let words = [own.as_str(), ROLE];
    let command = words.iter().chain(args).map(|word| word.to_string());
    let job = Job {
        kernel: lab.find("newest")?,
        machine,
        apart: false,
        counting: None,
        real_time: None,
        memory_mib: 1024,
        timeout: Duration::from_secs(900),
        put: put.to_vec(),
        files: Vec::new(),
        get: get.iter().map(|path| path.to_string()).collect(),
        command: command.collect(),
    };
    let outcome = lab.run(&job, &mut Terminal)?;
    if outcome.code != 0 {
        return Err(format!("{args:?} ended with {}", outcome.code).into());
    }
    Ok(outcome.files)
}
