//! Killed at each step, of the changes and of their undo.

use std::fs;
use std::sync::Arc;

use machine::{Machine, Stop, tune};
use model::Failure;

use crate::fake::{Fake, STATE, assert_same, snapshot};
use crate::{alive, apply, apply_until, machine, mortal, tree};

/// More steps than anything here takes.
const MANY: u32 = 1_000;

/// Every knob, each with what it changes.
const ALL: [&str; 8] = [
    "real-time=20",
    "dedicated-cpus=2-3",
    "fifo",
    "irq-affinity=0",
    "packet-steering=0",
    "numa=1",
    "idle-latency=10",
    "governor",
];

/// For every N, the process is killed at its act N; then another process undoes what it left.
fn killed_at_every_step(knobs: &[&str]) {
    let (mut died, mut changed) = (0, 0);
    for acts in 0..MANY {
        let (folder, before) = machine();
        let done = apply(&mortal(folder.path(), acts), knobs).is_ok();
        changed += u32::from(snapshot(folder.path()) != before);
        let (_, undone) = tune::undo_all(&alive(folder.path()), false).expect("undone");
        assert!(undone.is_complete(), "{knobs:?} after {acts} acts: {undone:?}");
        assert_same(folder.path(), &before, &format!("{knobs:?} after {acts} acts"));
        if done {
            assert!(died > 1 && changed > died / 2, "{died} deaths, {changed} changes");
            return;
        }
        died += 1;
    }
    panic!("never done");
}

#[test]
fn killed_while_knobs_are_turned_one_by_one() {
    for knob in ALL {
        killed_at_every_step(&[knob]);
    }
}

#[test]
fn killed_while_all_knobs_are_turned() {
    killed_at_every_step(&ALL);
}

#[test]
fn killed_repeatedly_while_knobs_are_turned_back() {
    for died in 0..MANY {
        let (folder, before) = machine();
        apply(&alive(folder.path()), &ALL).expect("applied");
        assert_ne!(snapshot(folder.path()), before, "the control: knobs change something");
        let done = tune::undo_all(&mortal(folder.path(), died), false).is_ok_and(|(_, undone)| {
            // A refusal is all that a dead process gets.
            undone.is_complete()
        });
        // Also dies.
        let _ = tune::undo_all(&mortal(folder.path(), died / 2), false);
        let (_, undone) = tune::undo_all(&alive(folder.path()), false).expect("undone");
        assert!(undone.is_complete(), "{died}: {undone:?}");
        assert_same(folder.path(), &before, &format!("after {died} died of the undo"));
        if done {
            assert!(died > 20, "{died} deaths");
            return;
        }
    }
    panic!("never done");
}

#[test]
fn stopped_at_every_step_the_command_undoes_what_it_did() {
    for acts in 0..MANY {
        let (folder, before) = machine();
        let stop = Arc::new(Stop::new(false));
        let stopped =
            Machine::new(Box::new(Fake::stopped(folder.path(), acts, &stop)), STATE, false);
        match apply_until(&stopped, &ALL, &stop) {
            Ok(_) => {
                assert!(acts > 50, "{acts} acts");
                return;
            }
            Err(failure) => assert_eq!(failure, Failure::Interrupted),
        }
        assert_same(folder.path(), &before, &format!("stopped after {acts} acts"));
    }
    panic!("never done");
}

#[test]
fn an_undo_without_changes_does_nothing_and_a_second_one_too() {
    let (folder, before) = machine();
    for _ in 0..2 {
        let (sessions, undone) = tune::undo_all(&alive(folder.path()), false).expect("undone");
        assert_eq!((sessions, undone.restored.len()), (0, 0));
        assert_same(folder.path(), &before, "undone");
    }
}

#[test]
fn what_fails_half_way_is_undone_at_once() {
    let (folder, before) = machine();
    // The last knob's place cannot be made: a cgroup of that name exists.
    let astray = "sys/fs/cgroup/rearguard-tune-1/cgroup.procs";
    tree::put(folder.path(), astray, "");
    let failure = apply(&alive(folder.path()), &["governor", "dedicated-cpus=2"]).unwrap_err();
    assert_eq!(failure.exit_code(), 1, "{failure}");
    fs::remove_dir_all(folder.path().join("sys/fs/cgroup/rearguard-tune-1")).expect("removed");
    assert_same(folder.path(), &before, "undone");
}

#[test]
fn after_a_reboot_nothing_is_written() {
    let (folder, _) = machine();
    apply(&alive(folder.path()), &["governor", "irq-affinity=0"]).expect("applied");
    // The machine comes back with its defaults and an administrator's choice; the journal is where it was.
    let journal = folder.path().join(&STATE[1..]);
    let kept = crate::folder();
    fs::rename(journal.join("journal"), kept.path().join("journal")).expect("moved");
    tree::build(folder.path());
    tree::put(folder.path(), "proc/sys/kernel/random/boot_id", "second");
    tree::put(
        folder.path(),
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "performance",
    );
    let before = snapshot(folder.path());
    fs::rename(kept.path().join("journal"), journal.join("journal")).expect("moved");
    let (sessions, undone) = tune::undo_all(&alive(folder.path()), false).expect("undone");
    assert_eq!((sessions, undone.restored.len()), (1, 0), "{undone:?}");
    assert!(undone.rebooted > 2, "{undone:?}");
    assert_same(folder.path(), &before, "undone");
}

/// Two sessions, the one upon the other: the lower one's undo has to know of the upper one's, which no
/// journal tells of.
#[test]
fn a_read_only_disk_keeps_nothing_from_being_restored() {
    let (folder, mut before) = machine();
    apply(&alive(folder.path()), &ALL).expect("applied");
    apply(&alive(folder.path()), &["idle-latency=20", "real-time=30"]).expect("applied");
    assert_ne!(snapshot(folder.path()), before, "the control: something was changed");
    let broken = Machine::new(Box::new(Fake::read_only(folder.path())), STATE, false);
    let (sessions, undone) = tune::undo_all(&broken, false).expect("undone");
    assert!(sessions == 2 && undone.is_complete(), "{undone:?}");
    let kept = |name: &String| name.starts_with("var/lib/rearguard/journal/");
    let journal = snapshot(folder.path()).into_iter().filter(|(name, _)| kept(name));
    before.extend(journal);
    assert_same(folder.path(), &before, "undone on a read-only disk");
    // It can be written again. The first undo still takes what the upper session changed for another
    // program's work, and leaves it; the second one forgets all.
    for is_last in [false, true] {
        let (_, undone) = tune::undo_all(&alive(folder.path()), false).expect("undone");
        assert!(undone.restored.is_empty() && undone.is_complete() == is_last, "{undone:?}");
    }
    before.retain(|name, _| !kept(name));
    assert_same(folder.path(), &before, "undone again");
}

#[test]
fn a_full_disk_keeps_nothing_from_being_restored() {
    let (folder, before) = machine();
    apply(&alive(folder.path()), &ALL).expect("applied");
    assert_ne!(snapshot(folder.path()), before, "the control: something was changed");
    let full = Machine::new(Box::new(Fake::full(folder.path())), STATE, false);
    let (_, undone) = tune::undo_all(&full, false).expect("undone");
    assert!(undone.is_complete(), "{undone:?}");
    assert_same(folder.path(), &before, "undone on a full disk");
}
