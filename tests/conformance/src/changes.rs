//! What happens to threads in the course of a run.

use libtest_mimic::Failed;
use model::Arm;

use crate::runs::{batch, expect, run, scenario};

/// Before the window one of three threads on two CPUs is bound to the first, the others to the second: it
/// gets a CPU to itself. The class of the kernel does, and `rearguard`. Left alone, they share alike.
pub fn cpus(arm: &dyn Arm) -> Result<(), Failed> {
    let bound =
        |program: &str, cpu: u32| change(&format!("program = \"{program}\"\ncpus = [{cpu}]"));
    let programs = batch("a", 1, "") + &batch("b", 1, "") + &batch("c", 1, "");
    let changes = bound("a", 0) + &bound("b", 1) + &bound("c", 1);
    let share = |more: &str, policy: &str| -> Result<f64, Failed> {
        Ok(run(arm, &scenario(2, &format!("{programs}{more}"))?, policy)?.share(0))
    };
    for policy in ["eevdf", "rearguard"] {
        let alone = share(&changes, policy)?;
        expect((alone - 0.5).abs() < 0.02, "the share of the machine of who is alone", &[alone])?;
    }
    let control = share("", "rearguard")?;
    expect((control - 0.333).abs() < 0.03, "the control: one of three", &[control])
}

/// A thread that becomes nice 5 yields, and so do a group that loses weight and a process in a lighter group.
pub fn weights(arm: &dyn Arm) -> Result<(), Failed> {
    let share = |more: &str, of: &str, policy: &str| -> Result<f64, Failed> {
        let groups = ["a\"", "b\"", "light\"\nweight = 50"];
        let groups = groups.map(|group| format!("[[group]]\nname = \"{group}\n")).concat();
        let programs =
            batch("a", 1, "group = \"a\"") + &batch("b", 1, &format!("group = \"{of}\""));
        Ok(run(arm, &scenario(1, &format!("{groups}{programs}{more}"))?, policy)?.share(1))
    };
    for policy in ["eevdf", "rearguard"] {
        let nice = share(&change("program = \"b\"\nnice = 5"), "a", policy)?;
        expect((nice - 0.247).abs() < 0.03, "the share from nice 5 on", &[nice])?;
        let light = share(&change("group = \"b\"\nweight = 50"), "b", policy)?;
        expect((light - 0.333).abs() < 0.03, "the share of who weighs half", &[light])?;
        let moved = share(&change("program = \"b\"\ngroup = \"light\""), "b", policy)?;
        expect((moved - 0.333).abs() < 0.03, "the share of who is in a lighter group", &[moved])?;
        let control = share("", "b", policy)?;
        expect((control - 0.5).abs() < 0.02, "the control: nothing changes", &[control])?;
    }
    Ok(())
}

/// A change before the window of a scenario begins.
fn change(what: &str) -> String {
    format!("[[change]]\nat = \"100ms\"\n{what}\n")
}
