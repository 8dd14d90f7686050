//! Scheduling classes of the calling thread, and whether it may have them.

use std::io;

use model::Failure;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// The real-time priority of services under SCHED_FIFO and SCHED_RR: above every normal thread, below what an
/// administrator may have put higher.
const SERVICE_PRIORITY: u8 = 10;
/// The generator's, on a CPU that no service uses.
const GENERATOR_PRIORITY: u8 = 20;
/// The sampler's, on the same CPU.
const SAMPLER_PRIORITY: u8 = 19;

/// A scheduling class that a thread can ask for. Threads that it starts later inherit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// The kernel's default class.
    Normal {
        /// -20 to 19.
        nice: i8,
    },
    /// SCHED_FIFO.
    Fifo,
    /// SCHED_RR.
    RoundRobin,
}

impl Class {
    /// Puts the calling thread into the class.
    pub fn enter(self) -> io::Result<()> {
        use RealtimeThreadSchedulePolicy::{Fifo, RoundRobin};
        match self {
            Class::Normal { nice } => {
                Ok(rustix::process::setpriority_process(None, i32::from(nice))?)
            }
            Class::Fifo => real_time(Fifo, SERVICE_PRIORITY),
            Class::RoundRobin => real_time(RoundRobin, SERVICE_PRIORITY),
        }
    }

    /// Whether a thread of this process may enter the class: one tries, and is gone.
    pub fn permitted(self) -> Result<(), Failure> {
        let tried = std::thread::spawn(move || self.enter()).join().expect("no panic in enter");
        tried.map_err(|error| {
            let (what, limit) = match self {
                Class::Normal { nice } => (format!("nice {nice}"), "-e"),
                Class::Fifo => ("SCHED_FIFO".to_string(), "-r"),
                Class::RoundRobin => ("SCHED_RR".to_string(), "-r"),
            };
            Failure::Machine(format!(
                "this machine refuses {what} ({error}): run it with sudo, give the program CAP_SYS_NICE, \
                 or raise `ulimit {limit}`"
            ))
        })
    }
}

/// Prepares the calling thread, the generator: timers to the nanosecond, and real-time priority if it may have it.
pub fn shield_generator() -> io::Result<()> {
    set_timerslack(1)?;
    // Without the privilege it runs as everybody does, and its self-check says whether that was enough.
    let _ = real_time(RealtimeThreadSchedulePolicy::Fifo, GENERATOR_PRIORITY);
    Ok(())
}

/// Gives the calling thread, the sampler, real-time priority below the generator's, if it may have it: readings come on time on a
/// busy machine and never delay a request.
pub fn shield_sampler() {
    let _ = real_time(RealtimeThreadSchedulePolicy::Fifo, SAMPLER_PRIORITY);
}

/// Binds the calling thread, and those it starts later, to these CPUs.
pub fn bind(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

fn real_time(policy: RealtimeThreadSchedulePolicy, priority: u8) -> io::Result<()> {
    let value = priority.try_into().expect("a priority of 0 to 99");
    let policy = ThreadSchedulePolicy::Realtime(policy);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(value), policy)
        .map_err(|error| match error {
            thread_priority::Error::OS(code) => io::Error::from_raw_os_error(code),
            other => io::Error::other(format!("{other:?}")),
        })
}
