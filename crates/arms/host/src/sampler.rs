//! CPU time of the scenario's threads at regular moments, read from /proc on the generator's CPU.
//!
//! The kernel brings the time of a *running* thread of another process up to date at its timer tick only. So
//! a reading is up to a tick (4 ms at 250 Hz) old for each CPU. Sums over seconds hardly notice.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use generator::Reading;
use model::Nanos;
use model::trace::{Counters, Window};

use crate::clock;
use crate::machine;

/// Readings in the window, beside the one at its start.
const READINGS: u64 = 100;
/// The longest sleep without a look at whether the run was cancelled.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(50);

/// Readings of all threads at one moment.
pub struct Sample {
    /// When.
    pub at: Nanos,
    /// One entry a thread.
    pub readings: Vec<Reading>,
}

/// What the sampler saw of a run; moments count from its start.
pub struct Samples {
    /// At the start of the run.
    pub base: Sample,
    /// From the window's start to its end.
    pub window: Vec<Sample>,
    /// Totals over the window.
    pub counters: Counters,
}

/// Counts moves between balancing domains so far; `None`: it cannot say.
pub type Pulls<'a> = &'a (dyn Fn() -> Option<u64> + Sync);

/// Reads the threads of a run.
pub struct Sampler<'a> {
    threads: Vec<Probe>,
    cpus: Vec<usize>,
    pulls: Pulls<'a>,
}

/// Totals so far.
struct Totals {
    migrations: Option<u64>,
    pulls: Option<u64>,
    idle: Option<Nanos>,
}

/// The open files of one thread.
struct Probe {
    schedstat: File,
    sched: PathBuf,
}

impl<'a> Sampler<'a> {
    /// A sampler of these threads, given as (process, thread), which run on these CPUs.
    pub fn new(
        threads: impl IntoIterator<Item = (u32, i32)>,
        cpus: &[usize],
        pulls: Pulls<'a>,
    ) -> io::Result<Sampler<'a>> {
        let threads = threads.into_iter().map(Probe::open).collect::<io::Result<_>>()?;
        Ok(Sampler { threads, cpus: cpus.to_vec(), pulls })
    }

    /// All threads, now.
    pub fn sample(&self, start: Nanos) -> io::Result<Sample> {
        let at = clock::now().saturating_sub(start);
        let readings = self.threads.iter().map(Probe::read).collect::<io::Result<_>>()?;
        Ok(Sample { at, readings })
    }

    /// Samples from `start` to the end of the window; `None` if it was told to stop.
    pub fn run(
        &self,
        start: Nanos,
        window: Window,
        stop: &AtomicBool,
    ) -> io::Result<Option<Samples>> {
        if !doze(start, stop) {
            return Ok(None);
        }
        let base = self.sample(start)?;
        if !doze(start + window.start, stop) {
            return Ok(None);
        }
        let before = self.totals();
        let mut samples = Vec::new();
        for i in 0..=READINGS {
            if !doze(start + window.start + Nanos(window.span().0 / READINGS * i), stop) {
                return Ok(None);
            }
            samples.push(self.sample(start)?);
        }
        let counters = self.counters(&samples, &before);
        Ok(Some(Samples { base, window: samples, counters }))
    }

    fn totals(&self) -> Totals {
        Totals {
            migrations: self.migrations(),
            pulls: (self.pulls)(),
            idle: machine::idle(&self.cpus),
        }
    }

    fn counters(&self, window: &[Sample], before: &Totals) -> Counters {
        let switches = |sample: &Sample| sample.readings.iter().map(|r| r.switches).sum::<u64>();
        let total = window.first().zip(window.last());
        let after = self.totals();
        let since = |before: Option<u64>, after: Option<u64>| {
            before.zip(after).map(|(before, after)| after.saturating_sub(before))
        };
        Counters {
            switches: total.map(|(first, last)| switches(last) - switches(first)),
            migrations: since(before.migrations, after.migrations),
            pulls: since(before.pulls, after.pulls),
            idle: before.idle.zip(after.idle).map(|(first, last)| {
                let idle = last.saturating_sub(first);
                left(window, self.cpus.len() as u64).map_or(idle, |left| idle.min(left))
            }),
        }
    }

    /// Moves of all threads between CPUs so far; `None` where the kernel does not tell.
    fn migrations(&self) -> Option<u64> {
        self.threads.iter().map(Probe::migrations).sum()
    }
}

/// What the threads of a run have left of so many CPUs. A kernel that counts idle time by ticks takes a CPU
/// for idle whose threads run between two ticks, as a quota may have it.
fn left(window: &[Sample], cpus: u64) -> Option<Nanos> {
    let used = |sample: &Sample| sample.readings.iter().map(|reading| reading.cpu.0).sum::<u64>();
    let (first, last) = window.first().zip(window.last())?;
    let all = (last.at - first.at).0 * cpus;
    Some(Nanos(all.saturating_sub(used(last).saturating_sub(used(first)))))
}

impl Probe {
    fn open((process, thread): (u32, i32)) -> io::Result<Probe> {
        let folder = PathBuf::from(format!("/proc/{process}/task/{thread}"));
        Ok(Probe { schedstat: File::open(folder.join("schedstat"))?, sched: folder.join("sched") })
    }

    fn read(&self) -> io::Result<Reading> {
        let mut text = [0; 96];
        // From offset 0 the kernel writes the file anew.
        let length = self.schedstat.read_at(&mut text, 0)?;
        Reading::parse(&text[..length]).ok_or_else(|| io::Error::other("unreadable schedstat"))
    }

    fn migrations(&self) -> Option<u64> {
        let text = fs::read_to_string(&self.sched).ok()?;
        let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
        line.split(':').nth(1)?.trim().parse().ok()
    }
}

/// Sleeps until a moment; false if it was told to stop.
pub fn doze(until: Nanos, stop: &AtomicBool) -> bool {
    while clock::now() < until && !stop.load(Ordering::Relaxed) {
        clock::sleep_until(until.min(clock::now() + LONGEST_SLEEP));
    }
    !stop.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu_time::burn;

    #[test]
    fn what_threads_used_was_not_idle() {
        let sample = |ms, cpu_ms: [u64; 2]| {
            let reading = |cpu| Reading { cpu: Nanos::from_millis(cpu), ..Reading::own() };
            Sample { at: Nanos::from_millis(ms), readings: cpu_ms.map(reading).to_vec() }
        };
        let window = [sample(100, [5, 7]), sample(150, [6, 9]), sample(200, [30, 32])];
        assert_eq!(left(&window, 2), Some(Nanos::from_millis(150)));
        assert_eq!(left(&window[..1], 2), Some(Nanos::ZERO));
        assert_eq!(left(&[], 2), None);
    }

    #[test]
    fn work_shows_in_the_reading() {
        let before = Reading::own();
        burn(Nanos::from_millis(40));
        let used = Reading::own().cpu - before.cpu;
        assert!(used >= Nanos::from_millis(30) && used < Nanos::from_millis(80), "{used}");
    }
}
