//! Scheduling classes of the calling thread, and whether it may have them.

use std::io;

use generator::thread::real_time;
use model::Failure;
use serde::{Deserialize, Serialize};
use thread_priority::RealtimeThreadSchedulePolicy;

/// The real-time priority of services under SCHED_FIFO and SCHED_RR: above every normal thread, below what an
/// administrator may have put higher.
const SERVICE_PRIORITY: u8 = 10;
/// The sampler's, on the generator's CPU, below the generator's own.
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

/// Gives the calling thread, the sampler, real-time priority below the generator's, if it may have it:
/// readings come on time on a busy machine and never delay a request.
pub fn shield_sampler() {
    let _ = real_time(RealtimeThreadSchedulePolicy::Fifo, SAMPLER_PRIORITY);
}
