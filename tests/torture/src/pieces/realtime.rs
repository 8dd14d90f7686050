//! Real-time hogs beside everything.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::Stage;
use crate::worker::Kind;
use crate::workers::{finish, spawn_workers};
use torture::rank;

/// A hog lets go after at most this.
pub const LONGEST_HOLD: Duration = Duration::from_secs(4);

/// Hogs take some or all CPUs, with and without the share that the kernel keeps for the classes below.
pub fn hogs(stage: &mut Stage) -> Result<String, String> {
    let (few, many) = (stage.threads(1), stage.threads(2));
    let kinds = [(Kind::Spin, many), (Kind::Nap, many), (Kind::Pipes, few), (Kind::Locks, few)];
    let workers = spawn_workers(&kinds, &mut stage.chance)?;
    let mut holds = 0;
    while stage.lasts() {
        let reserve = Reserve::change(stage.cpus, stage.chance.once_in(2));
        let cpus = stage.chance.cpus(stage.cpus);
        let how_long = stage.chance.moment(LONGEST_HOLD);
        hold(&cpus, how_long);
        drop(reserve);
        holds += 1;
        stage.chance.pause(Duration::from_secs(1));
    }
    let least = finish(workers)?;
    Ok(format!("{holds} holds; each thread went round {least} times or more"))
}

/// Takes CPUs from all classes below.
pub fn hold(cpus: &[usize], how_long: Duration) {
    thread::scope(|scope| {
        for &cpu in cpus {
            scope.spawn(move || hog(cpu, how_long));
        }
    });
}

fn hog(cpu: usize, how_long: Duration) {
    bind(cpu);
    rank::above_all(rank::HOG);
    let begin = Instant::now();
    while begin.elapsed() < how_long {
        std::hint::spin_loop();
    }
}

/// Binds the calling thread to one CPU.
pub fn bind(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu).expect("a CPU number of the guest");
    sched_setaffinity(Pid::from_raw(0), &set).expect("the CPU is online");
}

/// What the kernel keeps back from real-time threads. Dropping this restores it.
pub struct Reserve(Vec<(String, String)>);

impl Reserve {
    /// Switches it off, or leaves it.
    pub fn change(cpus: usize, off: bool) -> Reserve {
        let mut paths = vec![("/proc/sys/kernel/sched_rt_runtime_us".to_string(), "-1")];
        for cpu in 0..cpus {
            for server in ["fair_server", "ext_server"] {
                let path = format!("/sys/kernel/debug/sched/{server}/cpu{cpu}/runtime");
                paths.push((path, "0"));
            }
        }
        let mut before = Vec::new();
        for (path, value) in paths.into_iter().filter(|_| off) {
            // Older kernels lack some of them.
            let Ok(was) = fs::read_to_string(&path) else { continue };
            if fs::write(&path, value).is_ok() {
                before.push((path, was));
            }
        }
        Reserve(before)
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        for (path, was) in self.0.drain(..).rev() {
            let _ = fs::write(path, was);
        }
    }
}

/// Takes one CPU for as long as the run lasts, from a thread of its own.
pub fn starve(cpu: usize, cpus: usize) {
    thread::spawn(move || {
        let _reserve = Reserve::change(cpus, true);
        hog(cpu, Duration::from_secs(3600));
    });
}
