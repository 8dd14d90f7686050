//! Whether CPUs idle while there is work for them.

use libtest_mimic::Failed;
use model::Arm;

use crate::runs::{batch, expect, run, scenario};

/// Three spinning threads keep two CPUs busy; one cannot.
pub fn conserved(arm: &dyn Arm) -> Result<(), Failed> {
    let idle = |threads: u32, policy: &str| -> Result<f64, Failed> {
        Ok(run(arm, &scenario(2, &batch("batch", threads, ""))?, policy)?.idle())
    };
    for policy in ["eevdf", "cts"] {
        let idle = idle(3, policy)?;
        expect(idle < 0.02, policy, &[idle])?;
    }
    let control = idle(1, "cts")?;
    expect((control - 0.5).abs() < 0.02, "the control: one thread on two CPUs", &[control])
}

/// Three threads that share one queue get a third of two CPUs each; of two queues without balance one has one
/// thread and the other two.
pub fn shared(arm: &dyn Arm) -> Result<(), Failed> {
    let programs = batch("a", 1, "") + &batch("b", 1, "") + &batch("c", 1, "");
    let scenario = scenario(2, &programs)?;
    let spread = |policy: &str| -> Result<f64, Failed> {
        let seen = run(arm, &scenario, policy)?;
        let shares = [0, 1, 2].map(|program| seen.share(program));
        let (least, most) =
            shares.iter().fold((1.0f64, 0.0f64), |(l, m), s| (l.min(*s), m.max(*s)));
        Ok(most - least)
    };
    let one = spread("cts:queue=machine")?;
    expect(one < 0.03, "the spread of shares with one queue", &[one])?;
    let control = spread("cts:queue=cpu:balance=none")?;
    expect(control > 0.2, "the control: the spread with a queue a CPU and no balance", &[control])
}
