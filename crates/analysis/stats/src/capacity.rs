//! The CPU time that a scenario's threads could have.

use model::{Scenario, Trace};

use crate::course::received_s;

/// CPUs of the machine, less what interrupts, the kernel's threads and other processes took of them in the
/// window: that is not owed to a thread. It is what the threads received and left idle. All CPUs where idle
/// time is unknown.
pub(crate) fn cpus(scenario: &Scenario, trace: &Trace) -> f64 {
    let all = f64::from(scenario.machine.cpus);
    let (Some(first), Some(last)) = (trace.usage.first(), trace.usage.last()) else { return all };
    let Some(idle) = trace.counters.idle else { return all };
    let window_s = last.at.saturating_sub(first.at).as_secs_f64();
    let used_s: f64 = received_s(first, last).iter().sum();
    if window_s > 0.0 { ((used_s + idle.as_secs_f64()) / window_s).min(all) } else { all }
}
