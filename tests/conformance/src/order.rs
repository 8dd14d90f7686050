//! The order in which requests are served, and what it does to their latency.

use libtest_mimic::Failed;
use model::Arm;

use crate::runs::{batch, expect, run, scenario, service};

/// First come, first served is the order of a service's threads under `cts`; `lcfs` turns it around.
pub fn in_order(arm: &dyn Arm) -> Result<(), Failed> {
    let scenario = scenario(1, &service("500us", 0.8))?;
    let ordered = run(arm, &scenario, "cts")?.inversions();
    expect(ordered < 0.01, "inversions a request under cts", &[ordered])?;
    let control = run(arm, &scenario, "lcfs")?.inversions();
    expect(control > 0.3, "the control: inversions a request under lcfs", &[control])
}

/// A service that wants less than its share does not wait for spinning threads; without preemption it waits
/// for their slices.
pub fn tail_beside_batch(arm: &dyn Arm) -> Result<(), Failed> {
    let scenario = scenario(1, &(service("500us", 0.4) + &batch("batch", 4, "")))?;
    let near = run(arm, &scenario, "cts")?.excess_p99();
    expect(near < 1.3, "p99 over the ideal's under cts", &[near])?;
    let control = run(arm, &scenario, "cts:preempt=off")?.excess_p99();
    expect(control > 2.0, "the control: p99 over the ideal's without preemption", &[control])
}

/// Every request is answered, unless more come than the machine can serve.
pub fn none_is_lost(arm: &dyn Arm) -> Result<(), Failed> {
    let lost = |wanted: f64| -> Result<u64, Failed> {
        let scenario = scenario(1, &service("500us", wanted))?;
        Ok(run(arm, &scenario, "eevdf")?.summary.programs[0].lost)
    };
    let few = lost(0.7)?;
    expect(few == 0, "requests lost at 70%", &[few as f64])?;
    let many = lost(3.0)?;
    expect(many > 100, "the control: requests lost at 300%", &[many as f64])
}
