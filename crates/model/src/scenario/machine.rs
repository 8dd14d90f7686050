//! The machine.

use super::Machine;
use super::table::Table;
use super::value::whole;

/// The largest machine of a scenario: up to here the simulator's cost an event is measured.
const MOST_CPUS: i64 = 4_096;

/// `None` only where a problem was reported.
pub(super) fn machine(table: &Table) -> Option<Machine> {
    table.expect_keys(&["cpus", "smt", "llcs", "nodes"]);
    let count = whole::<u32>(1, MOST_CPUS);
    let cpus = table.required("cpus", &count);
    let smt = table.optional("smt", &count).unwrap_or(1);
    let nodes = table.optional("nodes", &count).unwrap_or(1);
    let llcs = table.optional("llcs", &count).unwrap_or(nodes);
    let machine = Machine { cpus: cpus?, smt, llcs, nodes };
    check_division(table, machine);
    Some(machine)
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
