//! Makes a guest that has just booted fit for measuring.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use load::Placement;
use model::Failure;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::broken;

/// The first seconds after boot are dirty: deferred work of the kernel. Idle time is skipped, so waiting is free.
const SETTLED: Duration = Duration::from_secs(12);

/// Waits until the boot's work is over and leaves the scenario's CPUs to the scenario.
pub fn settle(placement: &Placement) -> Result<(), Failure> {
    keep_init_apart(placement).map_err(broken)?;
    thread::sleep(SETTLED.saturating_sub(uptime()?));
    check_clock()
}

/// Only the processor's own clock counts instructions.
fn check_clock() -> Result<(), Failure> {
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let clock = fs::read_to_string(clock).map_err(broken)?;
    if clock.trim() != "tsc" {
        return Err(Failure::Run(format!(
            "the guest's clock is {} instead of tsc, so its time is not to be trusted",
            clock.trim()
        )));
    }
    Ok(())
}

/// Binds the first process, which passes our words on to the host, to the generator's CPU.
fn keep_init_apart(placement: &Placement) -> io::Result<()> {
    let mut cpu = CpuSet::new();
    cpu.set(placement.generator)?;
    for thread in fs::read_dir("/proc/1/task")? {
        let id = thread?.file_name().to_string_lossy().parse().map_err(io::Error::other)?;
        sched_setaffinity(Pid::from_raw(id), &cpu)?;
    }
    Ok(())
}

fn uptime() -> Result<Duration, Failure> {
    let text = fs::read_to_string("/proc/uptime").map_err(broken)?;
    let seconds = text.split(' ').next().and_then(|seconds| seconds.parse().ok());
    Ok(Duration::from_secs_f64(seconds.unwrap_or(0.0)))
}
