//! Workers seen from outside.

use std::fs;
use std::io::Read;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::chance::Chance;
use crate::worker::{self, Kind};

/// How long a worker that was told to end may take: its threads are at most a slice each from seeing it.
const FAREWELL: Duration = Duration::from_secs(30);

/// A process with threads at work.
pub struct Worker {
    kind: Kind,
    child: Child,
    orders: Option<ChildStdin>,
}

impl Worker {
    /// Starts one.
    pub fn start(kind: Kind, threads: usize, chance: &mut Chance) -> Result<Worker, String> {
        let name = kind.to_possible_value().expect("none is skipped").get_name().to_string();
        let mut child = Command::new("/proc/self/exe")
            .args([worker::ROLE, &name, &threads.to_string(), &chance.seed().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("no worker could be started: {error}"))?;
        let orders = child.stdin.take();
        Ok(Worker { kind, child, orders })
    }

    /// The process.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Its threads at present.
    pub fn threads(&self) -> Vec<Pid> {
        let entries = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter_map(|name| name.to_str()?.parse().ok().map(Pid::from_raw)).collect()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        // It has not been waited for, so its number is still its own.
        let _ = kill(self.pid(), signal);
    }

    /// Kills it and waits for its end.
    pub fn kill(mut self) -> Result<(), String> {
        self.signal(Signal::SIGKILL);
        self.wait().map(drop)
    }

    /// Lets it end; fails if it does not, or if one of its threads never went round.
    pub fn finish(mut self) -> Result<u64, String> {
        drop(self.orders.take());
        let (kind, pid) = (self.kind, self.child.id());
        if !self.wait()? {
            return Err(format!("worker {pid} ({kind:?}) failed"));
        }
        let mut said = String::new();
        let mut stdout = self.child.stdout.take().expect("piped");
        stdout.read_to_string(&mut said).map_err(|error| error.to_string())?;
        match said.trim().parse() {
            Ok(0) => Err(format!("a thread of worker {pid} ({kind:?}) never made progress")),
            Ok(least) => Ok(least),
            Err(_) => Err(format!("worker {pid} ({kind:?}) said `{}`", said.trim())),
        }
    }

    fn wait(&mut self) -> Result<bool, String> {
        let begin = Instant::now();
        while begin.elapsed() < FAREWELL {
            if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
                return Ok(status.success());
            }
            sleep(Duration::from_millis(10));
        }
        let (kind, pid) = (self.kind, self.child.id());
        Err(format!("worker {pid} ({kind:?}) did not end within {FAREWELL:?}: a thread is lost"))
    }
}

/// Starts workers of several kinds, so many threads each.
pub fn spawn_workers(kinds: &[(Kind, usize)], chance: &mut Chance) -> Result<Vec<Worker>, String> {
    kinds.iter().map(|(kind, threads)| Worker::start(*kind, *threads, chance)).collect()
}

/// Gives latecomers a moment, then lets all end; the least progress of any thread.
pub fn finish(workers: Vec<Worker>) -> Result<u64, String> {
    sleep(Duration::from_secs(2));
    let least = workers.into_iter().map(Worker::finish).collect::<Result<Vec<u64>, String>>()?;
    Ok(least.into_iter().min().unwrap_or(0))
}

/// A thread of one of them.
pub fn any_thread(workers: &[Worker], chance: &mut Chance) -> Option<Pid> {
    let threads = chance.of(workers).threads();
    if threads.is_empty() { None } else { Some(*chance.of(&threads)) }
}
