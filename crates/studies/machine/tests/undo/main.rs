//! State before equals state after, in every way out. On a machine that is a tree of files.

mod cells;
mod fake;
#[path = "../shared/life.rs"]
mod life;
mod looks;
mod others;
mod tree;
mod trials;
mod ways_out;

use std::collections::BTreeMap;
use std::path::Path;

use machine::tune::{self, Scope};
use machine::{Machine, Stop};
use model::Failure;
use tempfile::TempDir;

use fake::{Fake, STATE, snapshot};

/// A folder in memory, where that can be: a disk would be waited for at each of some hundred thousand steps.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// A tree, and what it was.
fn machine() -> (TempDir, BTreeMap<String, String>) {
    let folder = folder();
    tree::build(folder.path());
    let before = snapshot(folder.path());
    (folder, before)
}

/// The machine for a process that lives.
fn alive(root: &Path) -> Machine {
    Machine::new(Box::new(Fake::new(root)), STATE, false)
}

/// The machine for a process that is killed after so many acts.
fn mortal(root: &Path, acts: u32) -> Machine {
    Machine::new(Box::new(Fake::mortal(root, acts)), STATE, false)
}

/// `tune apply`, as the command does it.
fn apply(machine: &Machine, knobs: &[&str]) -> Result<Vec<String>, Failure> {
    apply_until(machine, knobs, &Stop::new(false))
}

/// The same, until the user wants it to stop.
fn apply_until(machine: &Machine, knobs: &[&str], stop: &Stop) -> Result<Vec<String>, Failure> {
    let knobs = knobs.iter().map(|text| tune::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let service = Scope::of_process(machine.on(), tree::SERVICE)?;
    Ok(tune::apply(machine, stop, &knobs, Some(&service), "test")?.keep())
}
