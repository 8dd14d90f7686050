//! What the calling thread may have of the machine: its CPUs, its timers, real-time priority.

use std::io;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// The generator's real-time priority, on a CPU that no service uses.
const GENERATOR_PRIORITY: u8 = 20;

/// Prepares the calling thread, the generator: timers to the nanosecond, and real-time priority if it may
/// have it.
pub fn shield() -> io::Result<()> {
    set_timerslack(1)?;
    // Without the privilege it runs like any thread, and its self-check says whether that was enough.
    let _ = real_time(RealtimeThreadSchedulePolicy::Fifo, GENERATOR_PRIORITY);
    Ok(())
}

/// Binds the calling thread, and those it starts later, to these CPUs.
pub fn bind(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// Puts the calling thread into a real-time class, priority 1 to 99.
pub fn real_time(policy: RealtimeThreadSchedulePolicy, priority: u8) -> io::Result<()> {
    let value = priority.try_into().expect("a priority of 0 to 99");
    let policy = ThreadSchedulePolicy::Realtime(policy);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(value), policy)
        .map_err(|error| match error {
            thread_priority::Error::OS(code) => io::Error::from_raw_os_error(code),
            other => io::Error::other(format!("{other:?}")),
        })
}
