//! A cell's whole life beside another's, to be killed at any step.

use machine::cell::{self, Wanted};
use machine::{Cpus, Machine, Stop, tune};
use model::Failure;

fn cpus(text: &str) -> Cpus {
    Cpus::read_list(text).expect("a list")
}

/// Makes a cell that outlives its maker.
pub fn create(machine: &Machine, name: &str, on: &str) -> Result<(), Failure> {
    let wanted = Wanted {
        name: name.into(),
        cpus: cpus(on),
        node: None,
        partition: None,
        ends_processes: false,
    };
    cell::create(machine, &Stop::new(false), &wanted, "test").map(|cell| drop(cell.keep()))
}

/// Gives it other CPUs.
pub fn resize(machine: &Machine, name: &str, to: &str) -> Result<(), Failure> {
    cell::resize(machine, &Stop::new(false), name, &cpus(to)).map(drop)
}

/// Two cells on four CPUs made, one resized, both removed; whether nothing is left to undo.
pub fn live(machine: &Machine) -> Result<bool, Failure> {
    create(machine, "a", "3")?;
    create(machine, "b", "1")?;
    resize(machine, "a", "2-3")?;
    let first = cell::destroy(machine, "b", false, false)?.is_complete();
    Ok(cell::destroy(machine, "a", false, false)?.is_complete() && first)
}

/// What an administrator does after a crash.
pub fn clean(machine: &Machine) {
    let names = cell::cells(&machine.journal()).expect("cells");
    for name in names.into_iter().map(|cell| cell.name) {
        let undone = cell::destroy(machine, &name, false, false).expect("destroyed");
        assert!(undone.is_complete(), "{name}: {undone:?}");
    }
    let (_, undone) = tune::undo_all(machine, false).expect("undone");
    assert!(undone.is_complete(), "{undone:?}");
}
