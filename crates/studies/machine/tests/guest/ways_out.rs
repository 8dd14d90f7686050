//! Killed at each step, on a real kernel; a reboot in between.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use machine::platform::Live;
use machine::tune::{self, Scope};
use machine::{Machine, Stop};
use model::{Failure, scenario};

use crate::fuse::Fuse;
use crate::guest::{ROLE, under};
use crate::life;
use crate::snapshot::{Snapshot, difference, take};

const STATE: &str = "/root/state";
/// All that a guest has a knob for, on one node and on two. A governor it has not; schedulers are the whole
/// command's to load.
const KNOBS: &str =
    "real-time=20 dedicated-cpus=2-3 irq-affinity=0 packet-steering=0 idle-latency=5";
const KNOBS_OF_NODES: &str = "real-time=20 numa=1 dedicated-cpus=3";
const FOUR_CPUS: scenario::Machine = scenario::Machine { cpus: 4, smt: 1, llcs: 1, nodes: 1 };
const TWO_NODES: scenario::Machine = scenario::Machine { cpus: 4, smt: 1, llcs: 2, nodes: 2 };
/// More acts than there are.
const MANY: u32 = 1_000;
/// A guard that was left behind needs that long at most.
const GUARD: Duration = Duration::from_secs(60);

pub fn trials() -> Vec<Trial> {
    let trial = |name: &str, run: fn() -> Result<(), Failed>| {
        Trial::test(name, run).with_ignored_flag(true)
    };
    vec![
        trial("killed_at_every_step_tune_undo_restores_the_machine", || {
            under(FOUR_CPUS, &["every-step", "alone", KNOBS], &[], &[]).map(|_| ())
        }),
        trial("killed_at_every_step_the_guard_restores_the_machine", || {
            under(FOUR_CPUS, &["every-step", "guarded", KNOBS], &[], &[]).map(|_| ())
        }),
        trial("killed_at_every_step_on_two_nodes_tune_undo_restores_the_machine", || {
            under(TWO_NODES, &["every-step", "alone", KNOBS_OF_NODES], &[], &[]).map(|_| ())
        }),
        trial("killed_at_every_step_of_their_lives_cells_are_undone", || {
            under(FOUR_CPUS, &["every-step-of-cells"], &[], &[]).map(|_| ())
        }),
        trial("after_a_reboot_the_journal_is_forgotten_and_nothing_written", reboot),
    ]
}

/// A service: three threads and a child of its own.
pub fn serve() -> Result<(), Failure> {
    let mut child = own(&["rest"]).spawn().map_err(run)?;
    for _ in 0..2 {
        std::thread::spawn(rest);
    }
    child.wait().map_err(run)?;
    Ok(())
}

/// Does nothing.
pub fn rest() -> Result<(), Failure> {
    loop {
        std::thread::park();
    }
}

fn run(error: std::io::Error) -> Failure {
    Failure::Run(error.to_string())
}

/// Turns all knobs, and is killed at an act.
pub fn apply(args: &[String]) -> Result<(), Failure> {
    let [acts, guarded, state, service, knobs] = args else { panic!("five arguments") };
    let acts = acts.parse().expect("a number");
    let machine = Machine::new(Box::new(Fuse::new(state, acts)), state, guarded == "guarded");
    let service = Scope::of_process(machine.on(), service.parse().expect("a number"))?;
    let knobs = knobs.split(' ').map(tune::parse).collect::<Result<Vec<_>, _>>()?;
    let _lock = machine.lock()?;
    tune::apply(&machine, &Stop::new(false), &knobs, Some(&service), "test")?.keep();
    Ok(())
}

fn own(args: &[&str]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(ROLE).args(args).stdin(Stdio::null());
    command
}

fn start_service() -> Result<Child, Failure> {
    let service = own(&["serve"]).spawn().map_err(run)?;
    sleep(Duration::from_secs(2));
    Ok(service)
}

fn machine() -> Machine {
    Machine::new(Box::new(Live::new(&format!("{STATE}/said"))), STATE, false)
}

/// For every N: killed at act N, undone by `tune undo` or by the guard, compared.
pub fn every_step(args: &[String]) -> Result<(), Failure> {
    let [guarded, knobs] = args else { panic!("two arguments") };
    let service = start_service()?;
    let before = take();
    let mut changed = 0;
    // The guard does what the undo does: some steps are enough to see that it comes.
    let step = if guarded == "guarded" { 7 } else { 1 };
    for acts in (0..MANY).step_by(step) {
        let number = service.id().to_string();
        let applying = ["apply", &acts.to_string(), guarded, STATE, &number, knobs];
        let done = own(&applying).status().map_err(run)?.success();
        changed += u32::from(!difference(&before, &take()).is_empty());
        if guarded == "guarded" && !done {
            wait_for_guard()?;
        } else {
            let (_, undone) = tune::undo_all(&machine(), false)?;
            assert!(undone.is_complete(), "after {acts} acts: {undone:?}");
        }
        same(&before, &format!("after {acts} acts"))?;
        if done {
            println!("{acts} acts, {changed} times a changed machine");
            assert!(acts > 20 && changed > 0);
            return Ok(());
        }
    }
    panic!("never done")
}

/// A cell's life, killed at an act.
pub fn live(args: &[String]) -> Result<(), Failure> {
    let acts = args[0].parse().expect("a number");
    let machine = Machine::new(Box::new(Fuse::new(STATE, acts)), STATE, false);
    let _lock = machine.lock()?;
    if life::live(&machine)? { Ok(()) } else { Err(Failure::Run("not undone".into())) }
}

/// For every N: killed at act N, cleaned up after, compared.
pub fn every_step_of_cells() -> Result<(), Failure> {
    let before = take();
    let mut changed = 0;
    for acts in 0..MANY {
        let done = own(&["live", &acts.to_string()]).status().map_err(run)?.success();
        changed += u32::from(!difference(&before, &take()).is_empty());
        life::clean(&machine());
        same(&before, &format!("after {acts} acts"))?;
        if done {
            println!("{acts} acts, {changed} times a changed machine");
            assert!(acts > 40 && changed > acts / 2);
            return Ok(());
        }
    }
    panic!("never done")
}

/// The guard holds the lock while it undoes; it is done when no session is left.
fn wait_for_guard() -> Result<(), Failure> {
    let machine = machine();
    for _ in 0..GUARD.as_millis() / 20 {
        let lock = machine.lock()?;
        machine.journal().sweep()?;
        if machine.journal().sessions()?.is_empty() {
            return Ok(());
        }
        drop(lock);
        sleep(Duration::from_millis(20));
    }
    Err(Failure::Run("the guard does not come".into()))
}

fn same(before: &Snapshot, when: &str) -> Result<(), Failure> {
    // A process that was ended needs a moment to be gone.
    for _ in 0..100 {
        if difference(before, &take()).is_empty() {
            return Ok(());
        }
        sleep(Duration::from_millis(20));
    }
    Err(Failure::Run(format!("{when}:\n{}", difference(before, &take()).join("\n"))))
}

/// Two boots: the journal of the first is on the second's disk.
fn reboot() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let state = folder.path().join("state");
    let path = state.to_string_lossy().into_owned();
    for entry in under(FOUR_CPUS, &["leave", &path], &[], &[&path])? {
        let place = folder.path().join(&entry.name);
        fs::create_dir_all(place.parent().expect("below the folder"))?;
        fs::write(place, entry.content)?;
    }
    assert!(state.join("journal/000001.jsonl").exists(), "the first boot left its journal");
    under(FOUR_CPUS, &["after-reboot", &path], &[state], &[]).map(|_| ())
}

/// Turns knobs and leaves them so.
pub fn leave(args: &[String]) -> Result<(), Failure> {
    let service = start_service()?;
    let words = [&MANY.to_string(), "alone", &args[0], &service.id().to_string(), KNOBS];
    apply(&words.map(String::from))
}

/// Undoes what an earlier boot left: nothing.
pub fn after_reboot(args: &[String]) -> Result<(), Failure> {
    let state = args[0].as_str();
    let machine = Machine::new(Box::new(Live::new(&format!("{state}/said"))), state, false);
    let before = take();
    let (sessions, undone) = tune::undo_all(&machine, false)?;
    assert!(sessions == 1 && undone.rebooted > 10 && undone.restored.is_empty(), "{undone:?}");
    assert!(!Path::new(state).join("journal/000001.jsonl").exists());
    same(&before, "after a reboot")
}
