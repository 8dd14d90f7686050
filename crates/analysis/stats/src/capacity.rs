//! The CPU time that a scenario's threads could have.

use model::{Scenario, Trace};

use crate::course::received_s;

/// CPUs of the machine, less what interrupts, the kernel's threads and other processes took of them in the
/// window: that is not owed to a thread. It is what the threads received and left idle. All CPUs where idle
/// time is unknown.
pub(crate) fn cpus(scenario: &Scenario, trace: &Trace) -> f64 {
    known_cpus(scenario, trace).unwrap_or(f64::from(scenario.machine.cpus))
}

/// [`cpus`]; `None` where idle time is unknown.
pub(crate) fn known_cpus(scenario: &Scenario, trace: &Trace) -> Option<f64> {
    let (first, last) = (trace.usage.first()?, trace.usage.last()?);
    let idle_s = trace.counters.idle?.as_secs_f64();
    let window_s = last.at.saturating_sub(first.at).as_secs_f64();
    let used_s: f64 = received_s(first, last).iter().sum();
    let cpus = (used_s + idle_s) / window_s;
    (window_s > 0.0).then_some(cpus.min(f64::from(scenario.machine.cpus)))
}
