//! Foreign programs, run again as soon as they have ended.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use model::Nanos;
use model::printable;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use super::order::CommandRun;
use super::thread_pool::{Rounds, ThreadPool};
use crate::clock;

/// Bytes of what a command that fails says that are told, the first ones.
const TOLD: u64 = 400;

/// A command's runs once all have ended, or why it cannot go on.
pub type Runs = io::Result<Vec<CommandRun>>;

/// A thread that runs a command until the window is over. The run that is under way then is the last.
pub fn again(command: Vec<String>) -> io::Result<ThreadPool> {
    let (tell, told) = channel();
    let work = move |rounds: &Rounds| {
        // Nobody is left to be told where the parent has gone.
        let _ = tell.send(all(&command, rounds));
        // Its clock is read until the process ends.
        loop {
            thread::park();
        }
    };
    Ok(ThreadPool { runs: Some(told), ..ThreadPool::spawn([work])? })
}

fn all(command: &[String], rounds: &Rounds) -> Runs {
    let mut runs = Vec::new();
    loop {
        runs.push(once(command)?);
        if !rounds.complete() {
            return Ok(runs);
        }
    }
}

fn once(command: &[String]) -> io::Result<CommandRun> {
    let (before, began) = (cpu_of_children()?, clock::now());
    let (status, said) = ended(command)?;
    let (ended, cpu) = (clock::now(), cpu_of_children()? - before);
    match status.success() {
        true => Ok(CommandRun { began, ended, cpu }),
        false => Err(io::Error::other(format!("{status}: {}", printable(said.trim())))),
    }
}

/// How a command ends, and what it complains of.
fn ended(command: &[String]) -> io::Result<(ExitStatus, String)> {
    let mut started = Command::new(&command[0]);
    started.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = started.spawn()?;
    let mut complaint = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.by_ref().take(TOLD).read_to_end(&mut complaint)?;
        io::copy(&mut stderr, &mut io::sink())?;
    }
    Ok((child.wait()?, String::from_utf8_lossy(&complaint).into_owned()))
}

/// CPU time of all that have ended so far.
fn cpu_of_children() -> io::Result<Nanos> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = (usage.user_time() + usage.system_time()).num_microseconds();
    Ok(Nanos::from_micros(micros.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use model::trace::Window;

    use super::*;

    fn runs(command: &[&str], window_ms: u64) -> Runs {
        let pool = again(command.iter().map(|word| word.to_string()).collect()).unwrap();
        let now = clock::now();
        pool.rounds.watch(Window { start: now, end: now + Nanos::from_millis(window_ms) });
        pool.gate.open();
        pool.runs()
    }

    #[test]
    fn a_command_runs_again_until_the_window_is_over() {
        let all = runs(&["sleep", "0.02"], 100).unwrap();
        assert!((2..=6).contains(&all.len()), "{all:?}");
        assert!(all.windows(2).all(|pair| pair[0].ended <= pair[1].began));
        let long = runs(&["sleep", "0.2"], 1).unwrap();
        assert_eq!(long.len(), 1, "what has begun goes on to its end");
    }

    #[test]
    fn cpu_time_is_that_of_all_its_processes() {
        let spin =
            "for i in 1 2; do (n=0; while [ $n -lt 30000 ]; do n=$((n + 1)); done) & done; wait";
        let spun = runs(&["sh", "-c", spin], 1).unwrap();
        let slept = runs(&["sleep", "0.05"], 1).unwrap();
        assert!(spun[0].cpu > slept[0].cpu + slept[0].cpu, "{spun:?}, control: {slept:?}");
    }

    #[test]
    fn one_that_fails_says_why() {
        let said = runs(&["sh", "-c", "echo no such group >&2; exit 3"], 1).unwrap_err();
        assert_eq!(said.to_string(), "exit status: 3: no such group");
        assert!(runs(&["./absent"], 1).is_err());
    }
}
