//! The machine.

use super::mechanisms::{KEYS, mechanisms};
use super::table::Table;
use super::value::whole;
use super::{Machine, Mechanisms};

/// The largest machine of a scenario: up to here the simulator's cost an event is measured.
pub(super) const MOST_CPUS: u32 = 4_096;

/// How many CPUs there are, and how they lie.
pub(super) const CPU_KEYS: [&str; 4] = ["cpus", "smt", "llcs", "nodes"];

/// The machine and what it does beside running threads. `None` only where a problem was reported.
pub(super) fn machine(table: &Table) -> Option<(Machine, Mechanisms)> {
    table.expect_keys(&[&CPU_KEYS, &KEYS[..]].concat());
    let count = whole::<u32>(1, i64::from(MOST_CPUS));
    let cpus = table.required("cpus", &count);
    let smt = table.optional("smt", &count).unwrap_or(1);
    let nodes = table.optional("nodes", &count).unwrap_or(1);
    let llcs = table.optional("llcs", &count).unwrap_or(nodes);
    let machine = Machine { cpus: cpus?, smt, llcs, nodes };
    check_division(table, machine);
    Some((machine, mechanisms(table, machine.cpus)))
}

/// Every node has as many caches, every cache as many CPUs and every core as many of them.
fn check_division(table: &Table, Machine { cpus, smt, llcs, nodes }: Machine) {
    if llcs % nodes != 0 {
        table
            .wrong("llcs", format!("{llcs} caches on {nodes} nodes; expected a multiple of nodes"));
    } else if cpus % llcs != 0 {
        table.wrong("cpus", format!("{cpus} CPUs on {llcs} caches; expected a multiple of llcs"));
    } else if (cpus / llcs) % smt != 0 {
        let each = cpus / llcs;
        table.wrong(
            "smt",
            format!("{smt} CPUs a core; expected a divisor of the {each} CPUs of a cache"),
        );
    }
}
