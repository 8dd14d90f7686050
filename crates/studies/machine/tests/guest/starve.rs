//! A real-time service that starves a CPU, where the kernel's own guards are off: the watchdog gives it back.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::Trial;
use machine::platform::Live;
use machine::tune::{self, Scope};
use machine::{Machine, Stop};
use model::Failure;

use crate::guest::{ROLE, under};

const STATE: &str = "/root/state";
/// The watchdog waits 3 s, and this role is starved like all others.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn trials() -> Vec<Trial> {
    let run = || under(model::scenario::Machine::ONE_CPU, &["starve"], &[], &[]).map(|_| ());
    vec![
        Trial::test("the_watchdog_gives_a_service_back_that_starves_the_machine", run)
            .with_ignored_flag(true),
    ]
}

/// Takes the CPU.
pub fn spin() -> Result<(), Failure> {
    let mut turns = 0u64;
    // Not by the instruction for spinning: an emulator stops at each, and the guest's clock with it.
    loop {
        turns = std::hint::black_box(turns.wrapping_add(1));
    }
}

/// The kernel's guards off, the service in the real-time class: after a while it is not.
pub fn starve(_: &[String]) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Run(error.to_string());
    fs::write("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "0").map_err(failed)?;
    fs::write("/proc/sys/kernel/sched_rt_runtime_us", "-1").map_err(failed)?;
    let mut service =
        Command::new("/proc/self/exe").args([ROLE, "spin"]).spawn().map_err(failed)?;
    let machine = Machine::new(Box::new(Live::new(&format!("{STATE}/said"))), STATE, false);
    let scope = Scope::of_process(machine.on(), service.id() as i32)?;
    let knobs = [tune::parse("real-time")?];
    let lock = machine.lock()?;
    tune::apply(&machine, &Stop::new(false), &knobs, Some(&scope), "test")?.keep();
    drop(lock);
    // From here on this process runs only when the watchdog has done its work.
    for _ in 0..PATIENCE.as_millis() / 100 {
        sleep(Duration::from_millis(100));
        if machine.journal().sessions()?.iter().all(|s| s.entries.iter().all(|e| e.undone)) {
            let stat =
                fs::read_to_string(format!("/proc/{}/stat", service.id())).map_err(failed)?;
            let policy = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(38));
            assert_eq!(policy, Some("0"), "{stat}");
            service.kill().map_err(failed)?;
            return Ok(());
        }
    }
    Err(Failure::Run("the watchdog has not come".into()))
}
