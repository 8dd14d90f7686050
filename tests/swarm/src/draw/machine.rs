//! Machines and groups.

use model::scenario::{Group, Machine};

use crate::rng::Rng;

/// The largest machine.
const MOST_CPUS: u64 = 64;
const WEIGHTS: [u32; 8] = [1, 20, 50, 100, 100, 150, 300, 10_000];
/// How deep groups lie.
const DEPTH: usize = 4;

/// From one CPU to four nodes.
pub fn draw(rng: &mut Rng) -> Machine {
    loop {
        let nodes = rng.of(&[1, 1, 1, 2, 2, 4]);
        let llcs = nodes * rng.of(&[1, 1, 1, 2, 4]);
        let smt = rng.of(&[1, 1, 2, 2, 4]);
        let cores = rng.of(&[1, 1, 2, 2, 3, 4, 5, 8, 16]);
        let cpus = llcs * smt * cores;
        if cpus <= MOST_CPUS {
            let [cpus, smt, llcs, nodes] = [cpus, smt, llcs, nodes].map(|count| count as u32);
            return Machine { cpus, smt, llcs, nodes };
        }
    }
}

/// Groups in groups, or none.
pub fn groups(rng: &mut Rng) -> Vec<Group> {
    let count = rng.of(&[0, 0, 0, 1, 2, 3, 6]);
    let mut groups: Vec<Group> = Vec::new();
    for index in 0..count {
        let parents: Vec<usize> = (0..groups.len())
            .filter(|&parent| groups[parent].name.matches('/').count() + 1 < DEPTH)
            .collect();
        let parent =
            if parents.is_empty() || rng.one_in(2) { None } else { Some(rng.of(&parents)) };
        let name = match parent {
            Some(parent) => format!("{}/g{index}", groups[parent].name),
            None => format!("g{index}"),
        };
        groups.push(Group::new(name, parent, rng.of(&WEIGHTS)));
    }
    groups
}

/// A weight.
pub fn weight(rng: &mut Rng) -> u32 {
    rng.of(&WEIGHTS)
}
