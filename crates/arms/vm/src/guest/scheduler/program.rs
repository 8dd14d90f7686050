//! A sched_ext scheduler that is a program of its own.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::Failure;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{in_force, log};
use crate::guest::broken;

/// What it says goes here.
const LOG: &str = "/run/scheduler.log";
/// Lines of it that a failure shows.
const LINES: usize = 10;
/// How long it may take until it is in force: its programs go through the verifier, on an emulated processor.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long it may take to leave.
const FAREWELL: Duration = Duration::from_secs(10);
/// How often to look.
const LOOK: Duration = Duration::from_millis(50);

/// The program, and the name of its scheduler.
pub struct Program {
    child: Child,
    name: String,
}

impl Program {
    /// Starts it and waits until its scheduler is in force.
    pub fn start(command: &[String]) -> Result<Program, Failure> {
        let log = File::create(LOG).map_err(broken)?;
        let errors = log.try_clone().map_err(broken)?;
        let (program, args) = command.split_first().expect("a program");
        let child = Command::new(program)
            .args(args)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(broken)?;
        let mut started = Program { child, name: String::new() };
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            started.alive()?;
            if let Some(name) = in_force() {
                started.name = name;
                return Ok(started);
            }
            sleep(LOOK);
        }
        Err(started.failure(&format!("no scheduler of its own was in force after {PATIENCE:?}")))
    }

    /// The name of its scheduler; fails if the program has ended.
    pub fn check(&mut self) -> Result<String, Failure> {
        self.alive()?;
        Ok(self.name.clone())
    }

    fn alive(&mut self) -> Result<(), Failure> {
        match self.child.try_wait().map_err(broken)? {
            None => Ok(()),
            Some(status) => Err(self.failure(&format!("it ended ({status})"))),
        }
    }

    fn failure(&self, why: &str) -> Failure {
        let said = fs::read_to_string(LOG).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        let messages = log::kernel_messages();
        Failure::Run(format!(
            "the scheduler's program failed: {why}; its last words:\n{last}\nthe kernel's last messages:\n{messages}"
        ))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // An interrupt is how such programs are asked to leave; all of these fail only when it is gone.
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT);
        let begin = Instant::now();
        while begin.elapsed() < FAREWELL && matches!(self.child.try_wait(), Ok(None)) {
            sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
