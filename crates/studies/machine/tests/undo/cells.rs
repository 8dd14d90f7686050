//! Cells made, resized and removed, beside each other and beside knobs; killed at each step.

use std::fs;
use std::path::Path;

use machine::cell::{self, Wanted};
use machine::{Cpus, Partition, Stop, tune};

use crate::fake::{assert_same, snapshot};
use crate::life::{clean, create, live, resize};
use crate::{alive, apply, machine, mortal, tree};

const IRQ: &str = "proc/irq/24/smp_affinity_list";
const WORK_QUEUES: &str = "sys/devices/virtual/workqueue/cpumask";

fn cpus(text: &str) -> Cpus {
    Cpus::read_list(text).expect("a list")
}

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).expect("a file").trim().to_string()
}

#[test]
fn the_rest_of_the_machine_keeps_off_all_cells_together() {
    let (folder, before) = machine();
    let machine = alive(folder.path());
    let rest_is = |rest: &str| {
        assert_eq!(read(folder.path(), IRQ), rest);
        assert_eq!(Cpus::read_mask(&read(folder.path(), WORK_QUEUES)), Some(cpus(rest)));
        assert_eq!(read(folder.path(), "proc/50/status"), format!("Cpus_allowed_list:\t{rest}"));
    };
    create(&machine, "a", "3").expect("created");
    rest_is("0-2");
    create(&machine, "b", "1").expect("created");
    rest_is("0,2");
    resize(&machine, "a", "2-3").expect("resized");
    rest_is("0");
    resize(&machine, "a", "2").expect("resized");
    rest_is("0,3");
    cell::destroy(&machine, "b", false, false).expect("destroyed");
    rest_is("0-1,3");
    cell::destroy(&machine, "a", false, false).expect("destroyed");
    rest_is("0-3");
    assert_same(folder.path(), &before, "undone");
}

#[test]
fn a_cell_of_several_cpus_is_balanced_unless_it_was_asked_not_to_be() {
    let (folder, before) = machine();
    let machine = alive(folder.path());
    let partition = "sys/fs/cgroup/rearguard-cell-a/cpuset.cpus.partition";
    create(&machine, "a", "3").expect("created");
    for (cpus, kind) in [("3", "isolated"), ("2-3", "root"), ("2", "isolated")] {
        resize(&machine, "a", cpus).expect("resized");
        assert_eq!(read(folder.path(), partition), kind, "{cpus}");
    }
    cell::destroy(&machine, "a", false, false).expect("destroyed");
    let wanted = Wanted {
        name: "a".into(),
        cpus: cpus("2-3"),
        node: None,
        partition: Some(Partition::Isolated),
        ends_processes: false,
    };
    cell::create(&machine, &Stop::new(false), &wanted, "test").expect("created").keep();
    resize(&machine, "a", "1-3").expect("resized");
    assert_eq!(read(folder.path(), partition), "isolated");
    cell::destroy(&machine, "a", false, false).expect("destroyed");
    assert_same(folder.path(), &before, "undone");
}

#[test]
fn killed_at_every_step_of_a_cells_life() {
    for died in 0..1_000 {
        let (folder, before) = machine();
        let machine = mortal(folder.path(), died);
        let done = live(&machine) == Ok(true);
        clean(&alive(folder.path()));
        assert_same(folder.path(), &before, &format!("after {died} acts"));
        if done {
            assert!(died > 40, "{died} deaths");
            return;
        }
    }
    panic!("never done");
}

#[test]
fn knobs_and_cells_come_off_in_any_order() {
    for knobs_first in [true, false] {
        let (folder, before) = machine();
        let machine = alive(folder.path());
        create(&machine, "a", "3").expect("created");
        apply(&machine, &["irq-affinity=1", "dedicated-cpus=2"]).expect("applied");
        create(&machine, "b", "1").expect("created");
        assert_eq!(read(folder.path(), IRQ), "1", "the knob was turned last, and holds");
        if knobs_first {
            let (_, undone) = tune::undo_all(&machine, false).expect("undone");
            assert!(undone.is_complete(), "{undone:?}");
            assert_eq!(read(folder.path(), IRQ), "0,2");
        }
        clean(&alive(folder.path()));
        assert_same(folder.path(), &before, &format!("knobs first: {knobs_first}"));
    }
}

#[test]
fn processes_of_a_cell_go_back_where_it_came_from() {
    let (folder, mut before) = machine();
    let machine = alive(folder.path());
    create(&machine, "a", "3").expect("created");
    let entered = machine.on().write("/sys/fs/cgroup/rearguard-cell-a/cgroup.procs", "101");
    entered.expect("entered");
    let uses = cell::uses(&machine.journal()).expect("cells");
    assert_eq!((uses[0].name.as_str(), uses[0].processes), ("a", 1));
    assert_eq!(uses[0].partition, "isolated");
    clean(&alive(folder.path()));
    before.insert("sys/fs/cgroup/cgroup.procs".into(), "50\n101\n".into());
    before.insert("sys/fs/cgroup/web.service/cgroup.procs".into(), "100\n".into());
    before.insert("proc/101/cgroup".into(), "0::/\n".into());
    assert_same(folder.path(), &before, "undone");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_changed() {
    let (folder, _) = machine();
    let machine = alive(folder.path());
    create(&machine, "a", "2-3").expect("created");
    let with_a = snapshot(folder.path());
    for (refused, word) in [
        (create(&machine, "a", "1"), "there is a cell `a`"),
        (create(&machine, "b", "1,3"), "CPUs 3 belong to another cell"),
        (create(&machine, "b", "0-1"), "one CPU at least"),
        (create(&machine, "b c", "1"), "no name for a cell"),
        (resize(&machine, "a", "0-3"), "one CPU at least"),
        (resize(&machine, "aa", "1"), "did you mean `a`"),
    ] {
        let failure = refused.unwrap_err();
        assert_eq!(failure.exit_code(), 2, "{failure}");
        assert!(failure.to_string().contains(word), "{failure}");
        assert_same(folder.path(), &with_a, &format!("{failure}"));
    }
    fs::remove_file(folder.path().join("sys/fs/cgroup/cgroup.controllers")).expect("removed");
    assert_eq!(create(&machine, "b", "1").unwrap_err().exit_code(), 3);
}

#[test]
fn cells_of_an_earlier_boot_are_gone() {
    let (folder, _) = machine();
    create(&alive(folder.path()), "a", "3").expect("created");
    fs::remove_dir_all(folder.path().join("sys")).expect("removed");
    tree::build(folder.path());
    tree::put(folder.path(), "proc/sys/kernel/random/boot_id", "second");
    let machine = alive(folder.path());
    assert!(cell::cells(&machine.journal()).expect("cells").is_empty());
    create(&machine, "a", "2").expect("the name is free");
    clean(&alive(folder.path()));
    assert_eq!(read(folder.path(), IRQ), "0-3");
}
