//! Groups of a guest with threads that spin in them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::Failure;

use crate::life::io;

pub const ROOT: &str = "/sys/fs/cgroup";

/// Has the groups below the root share CPU time.
pub fn divide() -> Result<(), Failure> {
    fs::write(format!("{ROOT}/cgroup.subtree_control"), "+cpu").map_err(io)
}

/// A group below the root, gone when it is dropped.
pub struct Group(String);

impl Group {
    pub fn new(name: &str, max: &str) -> Result<Group, Failure> {
        let group = Group(format!("{ROOT}/{name}"));
        fs::create_dir(&group.0).map_err(io)?;
        group.set("cpu.max", max)?;
        Ok(group)
    }

    pub fn set(&self, file: &str, value: &str) -> Result<(), Failure> {
        fs::write(format!("{}/{file}", self.0), value).map_err(io)
    }

    pub fn spin(&self, threads: u32) -> Result<Spinner, Failure> {
        let own = std::env::current_exe().map_err(io)?;
        let mut command = Command::new(own);
        command.args(["__kernel_guest", "spin", &threads.to_string()]);
        let child = command.stdout(Stdio::null()).spawn().map_err(io)?;
        self.set("cgroup.procs", &child.id().to_string())?;
        Ok(Spinner(child))
    }

    /// CPU time so far, in CPU seconds.
    pub fn used(&self) -> f64 {
        let stat = fs::read_to_string(format!("{}/cpu.stat", self.0)).unwrap_or_default();
        let used = stat.lines().find_map(|line| line.strip_prefix("usage_usec "));
        used.and_then(|used| used.parse().ok()).unwrap_or(f64::NAN) / 1e6
    }

    /// CPUs used over so long, after a second in which threads start.
    pub fn share(&self, seconds: u64) -> f64 {
        sleep(Duration::from_secs(1));
        let (begin, used) = (Instant::now(), self.used());
        sleep(Duration::from_secs(seconds));
        (self.used() - used) / begin.elapsed().as_secs_f64()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let empty = |_: &i32| {
            sleep(Duration::from_millis(50));
            fs::remove_dir(&self.0).is_ok()
        };
        if (0..100).find(empty).is_none() {
            eprintln!("{} cannot be removed", self.0);
        }
    }
}

pub struct Spinner(Child);

impl Spinner {
    pub fn id(&self) -> String {
        self.0.id().to_string()
    }

    /// The CPU time of each thread, in seconds.
    pub fn used(&self) -> BTreeMap<OsString, f64> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.0.id())).into_iter().flatten();
        let used = threads.flatten().map(|thread| {
            let stat = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            let ran = stat.split(' ').next().and_then(|ran| ran.parse::<f64>().ok());
            (thread.file_name(), ran.unwrap_or(f64::NAN) / 1e9)
        });
        used.collect()
    }

    /// How long it takes to die.
    pub fn end(mut self) -> Result<Duration, Failure> {
        let begin = Instant::now();
        self.0.kill().and_then(|()| self.0.wait()).map_err(io)?;
        Ok(begin.elapsed())
    }
}

pub fn line(name: &str, value: f64, from: f64, to: f64) -> String {
    let verdict = if (from..=to).contains(&value) { "" } else { " WRONG" };
    format!("{name}: {value:.4}, due {from} to {to}{verdict}")
}

/// In the guest: threads of [`Group::spin`].
pub fn play() -> Result<Vec<String>, Failure> {
    let threads = std::env::args().nth(3).and_then(|threads| threads.parse().ok());
    spin(threads.unwrap_or(1))
}

/// Not by PAUSE, as in life.rs.
fn spin(threads: u32) -> ! {
    let spin = || {
        let mut round = 0u64;
        loop {
            round = std::hint::black_box(round.wrapping_add(1));
        }
    };
    for _ in 1..threads {
        std::thread::spawn(spin);
    }
    spin()
}
