//! A sched_ext scheduler that is a program of its own.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::Failure;
use model::role::Role;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{in_force, log};

/// Lines of what it says that a failure shows.
const LINES: usize = 10;
/// How long it may take until it is in force: its programs go through the verifier, on an emulated processor.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long it may take to leave.
const FAREWELL: Duration = Duration::from_secs(10);
/// How often to look.
const LOOK: Duration = Duration::from_millis(50);
/// The argument before a command that is interrupted as soon as the thread that started it is gone.
const LEASH: &str = "__scheduler";

/// Becomes the command that follows. A killed run leaves no scheduler in force.
pub const ROLE: Role = (LEASH, |command| {
    let Some((program, args)) = command.split_first() else { return ExitCode::FAILURE };
    let error = match set_pdeathsig(Signal::SIGINT) {
        Ok(()) => Command::new(program).args(args).exec(),
        Err(errno) => errno.into(),
    };
    eprintln!("{program}: {error}");
    ExitCode::FAILURE
});

/// The program, the name of its scheduler, and what it says.
pub struct Program {
    child: Child,
    name: String,
    said: File,
}

impl Program {
    /// Starts it and waits until its scheduler is in force. It ends with the thread that called this.
    pub fn start(command: &[String]) -> Result<Program, Failure> {
        let begun = spawn(command).map_err(broken)?;
        let mut started = Program { child: begun.0, name: String::new(), said: begun.1 };
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

    fn failure(&mut self, why: &str) -> Failure {
        let mut said = Vec::new();
        let _ = self.said.rewind().and_then(|()| self.said.read_to_end(&mut said));
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        let messages = log::kernel_messages();
        Failure::Run(format!(
            "the scheduler's program failed: {why}; its last words:\n{last}\nthe kernel's last messages:\n{messages}"
        ))
    }
}

/// The program, and the file without a name that has what it says.
fn spawn(command: &[String]) -> io::Result<(Child, File)> {
    let said = tempfile::tempfile()?;
    let child = Command::new(std::env::current_exe()?)
        .arg(LEASH)
        .args(command)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(said.try_clone()?)
        .stderr(said.try_clone()?)
        .spawn()?;
    Ok((child, said))
}

fn broken(error: io::Error) -> Failure {
    Failure::Run(format!("the scheduler's program failed: {error}"))
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
