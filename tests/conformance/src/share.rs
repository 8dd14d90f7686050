//! Shares of the machine.

use libtest_mimic::Failed;
use model::Arm;

use crate::runs::{batch, expect, run, scenario, service, timed_scenario};

/// Of two spinning processes each gets half, and one that is nice gets its weight's part: 335 of 1,359
/// (kernel/sched/core.c).
pub fn processes(arm: &dyn Arm) -> Result<(), Failed> {
    let share = |policy: &str, more: &str| -> Result<f64, Failed> {
        let scenario = scenario(1, &(batch("a", 1, "") + &batch("b", 1, more)))?;
        Ok(run(arm, &scenario, policy)?.share(1))
    };
    for policy in ["eevdf", "cts"] {
        let equal = share(policy, "")?;
        expect((equal - 0.5).abs() < 0.02, policy, &[equal])?;
    }
    let nice = share("eevdf", "nice = 5")?;
    expect((nice - 0.247).abs() < 0.02, "the control: at nice 5", &[nice])
}

/// A policy in a file is what the arm runs: one by virtual time keeps weights, one first come, first served
/// does not.
pub fn by_file(arm: &dyn Arm) -> Result<(), Failed> {
    let scenario = scenario(1, &(batch("a", 1, "") + &batch("b", 1, "nice = 5")))?;
    let share = |file: &str| -> Result<f64, Failed> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policy/examples");
        Ok(run(arm, &scenario, &format!("{folder}/{file}"))?.share(1))
    };
    let kept = share("vtime.c")?;
    expect((kept - 0.247).abs() < 0.02, "the share at nice 5", &[kept])?;
    let control = share("fifo.c")?;
    expect((control - 0.5).abs() < 0.02, "the control: the same without virtual time", &[control])
}

/// A group of weight 300 gets three quarters beside one of 100 with as many threads as it likes; without
/// groups threads count.
pub fn groups(arm: &dyn Arm) -> Result<(), Failed> {
    let share = |groups: &str, of_a: &str, of_b: &str| -> Result<f64, Failed> {
        let programs = batch("a", 1, of_a) + &batch("b", 3, of_b);
        let scenario = scenario(1, &format!("{groups}{programs}"))?;
        Ok(run(arm, &scenario, "eevdf")?.share(0))
    };
    let tables = "[[group]]\nname = \"a\"\nweight = 300\n[[group]]\nname = \"b\"\n";
    let grouped = share(tables, "group = \"a\"", "group = \"b\"")?;
    expect((grouped - 0.75).abs() < 0.02, "the heavy group's share", &[grouped])?;
    let control = share("", "", "")?;
    expect((control - 0.25).abs() < 0.02, "the control: one of four threads", &[control])
}

/// A batch gets its part beside a service that wants more than the machine; SCHED_FIFO leaves it what the
/// kernel reserves.
pub fn no_thread_starves(arm: &dyn Arm) -> Result<(), Failed> {
    let scenario = scenario(1, &(service("500us", 1.5) + &batch("batch", 64, "")))?;
    let fair = run(arm, &scenario, "eevdf")?.share(1);
    expect(fair > 0.4, "the batch's share under eevdf", &[fair])?;
    let control = run(arm, &scenario, "fifo")?.share(1);
    expect(control < 0.1, "the control: the batch's share under fifo", &[control])
}

/// A light thread has one of two CPUs to itself while three others sleep; when they are back, it waits for
/// little more than a turn. It would have to let them catch up with all that it has received meanwhile, if
/// that counted.
pub fn a_thread_that_ran_alone_waits_little(arm: &dyn Arm) -> Result<(), Failed> {
    let others = "[[program]]\nname = \"others\"\nkind = \"daemon\"\nthreads = 3\nrun = \"4s\"\nsleep = \"5s\"\n";
    let programs = batch("light", 1, "nice = 2") + &batch("hog", 1, "") + others;
    // They run from 0 to about 9.3 s, and again from 14.3 s on.
    let scenario = timed_scenario(["14s", "500ms"], 2, &programs)?;
    let waits_ms = |policy: &str| -> Result<f64, Failed> {
        Ok(run(arm, &scenario, policy)?.longest_wait(0).as_secs_f64() * 1e3)
    };
    let bounded = waits_ms("rearguard")?;
    expect(bounded <= 60.0, "the longest wait in ms under rearguard", &[bounded])?;
    let free = waits_ms("rearguard:vruntime_cap=off")?;
    expect(free > 150.0, "the control: the longest wait in ms without a bound", &[free])
}

/// A spinning thread does not live on the turns of its 200 sleeping siblings, nor by a nap of 1 us every 40
/// ms: beside another process's spinner it gets as much as that one. Without the burst limit it gets more;
/// one that never sleeps then keeps its own main thread from answering, which ends a real run.
pub fn a_spinner_among_sleepers(arm: &dyn Arm) -> Result<(), Failed> {
    let siblings = "kind = \"daemon\"\nthreads = 200\nrun = \"15us\"\nsleep = \"100ms\"\n";
    let siblings = format!("[[program]]\nname = \"siblings\"\nprocess = \"spinner\"\n{siblings}");
    let naps =
        "[[program]]\nname = \"spinner\"\nkind = \"daemon\"\nrun = \"40ms\"\nsleep = \"1us\"\n";
    for spinner in [&batch("spinner", 1, ""), naps] {
        let programs = format!("{spinner}{siblings}{}", batch("hog", 1, ""));
        let scenario = timed_scenario(["1s", "4s"], 1, &programs)?;
        let lead = |policy: &str| -> Result<f64, Failed> {
            let run = run(arm, &scenario, policy)?;
            Ok(run.share(0) - run.share(2))
        };
        for policy in ["cts", "rearguard"] {
            let kept = lead(policy)?;
            expect(kept.abs() < 0.02, "the spinner's share beyond the hog's", &[kept])?;
        }
        if spinner == naps {
            let control = lead("rearguard:burst_limit=off")?;
            expect(control > 0.15, "the control: without the burst limit", &[control])?;
        }
    }
    Ok(())
}
