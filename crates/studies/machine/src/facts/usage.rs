//! CPU time of the whole machine, between two looks.

use crate::platform::Platform;

/// CPUs that other programs use before that is a caveat.
const CALM: f64 = 0.05;
/// The share of CPU time that a host withholds before that is one.
const UNDISTURBED: f64 = 0.001;

/// What all CPUs did since boot, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    cpus: u64,
    all: u64,
    idle: u64,
    stolen: u64,
}

impl Usage {
    /// Until now; `None` where the kernel does not tell.
    pub fn read(on: &dyn Platform) -> Option<Usage> {
        let stat = on.read("/proc/stat").ok()?;
        let is_cpu = |line: &&str| line.starts_with("cpu");
        let ticks = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let ticks: Vec<u64> = ticks.filter_map(|word| word.parse().ok()).collect();
        // User, nice, system, idle, waiting for I/O, interrupts, softirqs, stolen; guests are in user.
        let [.., stolen] = *ticks.get(..8)? else { return None };
        Some(Usage {
            cpus: stat.lines().filter(is_cpu).count() as u64 - 1,
            all: ticks[..8].iter().sum(),
            idle: ticks[3] + ticks[4],
            stolen,
        })
    }

    /// The caveat, where the machine was busy between an earlier look and this one.
    pub fn others(&self, earlier: &Usage) -> Option<String> {
        let all = self.all.checked_sub(earlier.all).filter(|all| *all > 0)?;
        let busy = all - self.idle.saturating_sub(earlier.idle).min(all);
        let busy = busy as f64 / all as f64 * self.cpus as f64;
        (busy > CALM).then(|| {
            format!("Other programs used {busy:.2} CPUs before the first run: end them, and measure again.")
        })
    }

    /// The caveat, where the host kept CPU time from this machine between an earlier look and this one.
    pub fn stolen(&self, earlier: &Usage) -> Option<String> {
        let all = self.all.checked_sub(earlier.all).filter(|all| *all > 0)?;
        let share = self.stolen.saturating_sub(earlier.stolen) as f64 / all as f64;
        (share > UNDISTURBED).then(|| {
            let percent = 100.0 * share;
            format!("The host withheld {percent:.1}% of this virtual machine's CPU time (steal).")
        })
    }
}
