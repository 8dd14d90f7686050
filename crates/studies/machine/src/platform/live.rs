//! The machine itself.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::setpriority_process;
use scheduler::set_policy;

use super::{Files, Platform};
use crate::class::{Class, Policy};
use crate::cpus::Cpus;

/// The variable by which a process that we started is found again, by whomever.
pub const TOKEN: &str = "RG_HOST_TOKEN";
/// A scheduler needs seconds to pass the kernel's verifier on a busy machine.
const READY: Duration = Duration::from_secs(60);
/// What a process has for its own clean end, before it is killed.
const END: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// This machine.
pub struct Live {
    files: Files,
    /// Where processes that outlive us write what they say.
    said: String,
}

impl Live {
    /// This machine; what processes that we start say goes into a folder.
    pub fn new(said: &str) -> Live {
        Live { files: Files::below("/"), said: said.to_string() }
    }
}

impl Platform for Live {
    fn read(&self, path: &str) -> io::Result<String> {
        self.files.read(path)
    }

    fn beginning(&self, path: &str, most: u64) -> io::Result<String> {
        self.files.beginning(path, most)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.files.list(path)
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.files.write(path, text)
    }

    fn append(&self, path: &str, text: &str) -> io::Result<()> {
        self.files.append(path, text)
    }

    fn reserve(&self, path: &str) -> io::Result<()> {
        self.files.reserve(path)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.files.remove(path)
    }

    fn lock(&self, path: &str) -> io::Result<File> {
        self.files.lock(path)
    }

    fn make_group(&self, path: &str) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn remove_group(&self, path: &str) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn set_class(&self, thread: i32, class: Class) -> io::Result<()> {
        let policy = match class.policy {
            Policy::Normal => scheduler::Policy::Other,
            Policy::Batch => scheduler::Policy::Batch,
            Policy::Idle => scheduler::Policy::Idle,
            Policy::Fifo => scheduler::Policy::Fifo,
            Policy::RoundRobin => scheduler::Policy::RoundRobin,
        };
        set_policy(thread, policy, i32::from(class.priority))
            .map_err(|()| io::Error::last_os_error())?;
        Ok(setpriority_process(rustix::process::Pid::from_raw(thread), i32::from(class.nice))?)
    }

    fn set_affinity(&self, thread: i32, cpus: &Cpus) -> io::Result<()> {
        let mut set = CpuSet::new();
        cpus.iter().try_for_each(|cpu| set.set(cpu))?;
        Ok(sched_setaffinity(Pid::from_raw(thread), &set)?)
    }

    fn start(&self, token: &str, args: &[String]) -> io::Result<()> {
        let said = format!("{}/{token}", self.said);
        // Its names are tokens.
        DirBuilder::new().recursive(true).mode(0o700).create(&self.said)?;
        let out = File::create(&said)?;
        let mut child = Command::new("/proc/self/exe")
            .args(args)
            .env(TOKEN, token)
            // It outlives us, and Ctrl-C is not for it.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()?;
        let ready = ready(&mut child, Path::new(&said));
        // What it says later is not read.
        fs::remove_file(&said)?;
        ready
    }

    fn stop(&self, process: i32) -> io::Result<()> {
        let process = Pid::from_raw(process);
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            let asked = Instant::now();
            while asked.elapsed() < END {
                match kill(process, if asked.elapsed() < LOOK { Some(signal) } else { None }) {
                    Err(Errno::ESRCH) => return Ok(()),
                    Err(error) => return Err(error.into()),
                    Ok(()) if is_zombie(process) => return Ok(()),
                    Ok(()) => sleep(LOOK),
                }
            }
        }
        Err(io::Error::other(format!("process {process} does not end")))
    }
}

/// Whether a process has ended, and only its parent has not asked yet.
fn is_zombie(process: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && line.contains('Z'))
}

/// Waits for the child's first words, which say that it is at work, or for its end.
fn ready(child: &mut Child, said: &Path) -> io::Result<()> {
    let asked = Instant::now();
    while asked.elapsed() < READY {
        let words = fs::read_to_string(said)?;
        if child.try_wait()?.is_some() {
            return Err(io::Error::other(words.trim().to_string()));
        }
        if words.contains('\n') {
            return Ok(());
        }
        sleep(LOOK);
    }
    child.kill()?;
    child.wait()?;
    Err(io::Error::other(format!("not ready after {} s", READY.as_secs())))
}
