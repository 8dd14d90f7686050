//! Makes a guest that has just booted fit for measuring.

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use host::{Placement, idle};
use model::{Failure, Nanos};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::broken;

/// The kernel has work left over from the boot, and it is over when all CPUs have been idle for so long.
const REST: Duration = Duration::from_secs(1);
/// Only the processor's own clock counts instructions.
const CLOCK: &str = "tsc";
/// How often that is tried: what still computes then is no boot's work.
const TRIES: u32 = 30;
/// How much of one CPU may be busy in a rest: timers, and this program's looks.
const BUSY: u64 = 20;
/// A reading of a CPU's idle time is cut to 10 ms, so two of them are 5 ms off on average.
const CUT: Nanos = Nanos::from_millis(5);

/// Waits until the boot's work is over and leaves the scenario's CPUs to the scenario.
pub fn settle(placement: &Placement) -> Result<(), Failure> {
    keep_init_apart(placement).map_err(broken)?;
    let mut cpus = placement.scenario.clone();
    cpus.extend((!cpus.contains(&placement.generator)).then_some(placement.generator));
    for _ in 0..TRIES {
        if rests(&cpus)? && clock()? == CLOCK {
            return Ok(());
        }
    }
    let clock = clock()?;
    if clock != CLOCK {
        return Err(Failure::Run(format!(
            "the guest's clock is {clock} instead of {CLOCK}, so its time is not to be trusted"
        )));
    }
    let seconds = REST.as_secs() * u64::from(TRIES);
    Err(Failure::Run(format!("the guest's CPUs are still busy {seconds} s after the boot")))
}

/// Whether all CPUs were idle for the length of a rest.
fn rests(cpus: &[usize]) -> Result<bool, Failure> {
    let idle = || {
        let unknown = || Failure::Run("the guest does not tell how long its CPUs were idle".into());
        idle(cpus).ok_or_else(unknown)
    };
    let (begin, before) = (Instant::now(), idle()?);
    thread::sleep(REST);
    let idled = idle()?.saturating_sub(before);
    Ok(is_rest(Nanos(begin.elapsed().as_nanos() as u64), cpus.len() as u64, idled))
}

fn is_rest(span: Nanos, cpus: u64, idled: Nanos) -> bool {
    let busy = Nanos(span.0 * cpus).saturating_sub(idled);
    busy <= Nanos(span.0 / BUSY + CUT.0 * cpus)
}

/// What the guest's time comes from. The kernel turns to the processor's own clock a second or two after the
/// boot.
fn clock() -> Result<String, Failure> {
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    Ok(fs::read_to_string(clock).map_err(broken)?.trim().to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_with_one_busy_cpu_is_not_idle() {
        let second = Nanos::from_secs(1);
        for cpus in [1, 2, 16, 80] {
            let idled =
                |busy_ms| Nanos(second.0 * cpus).saturating_sub(Nanos::from_millis(busy_ms));
            assert!(is_rest(second, cpus, idled(0)), "{cpus}");
            assert!(is_rest(second, cpus, idled(5 * cpus)), "{cpus}: as readings are cut");
            assert!(
                !is_rest(second, cpus, idled(500)),
                "{cpus}: one of them computes half of the time"
            );
        }
    }
}
