//! Nested groups that come and go.

use std::time::Duration;

use super::Stage;
use crate::chance::Chance;
use crate::groups::Group;
use crate::worker::Kind;
use crate::workers::{Worker, finish, spawn_workers};

/// Weights of which none lets another wait for longer than the judge allows.
const WEIGHTS: [&str; 5] = ["30", "100", "101", "300", "500"];
const DEEPEST: usize = 6;

/// Makes chains of groups, moves processes into their leaves and out again, changes weights on the way.
pub fn moves(stage: &mut Stage) -> Result<String, String> {
    let root = Group::root()?;
    let (few, many) = (stage.threads(1), stage.threads(2));
    let kinds = [(Kind::Spin, many), (Kind::Nap, many), (Kind::Pipes, few), (Kind::Storm, few)];
    let workers = spawn_workers(&kinds, &mut stage.chance)?;
    let mut chains: Vec<Chain> = Vec::new();
    let mut steps = 0;
    while stage.lasts() {
        step(&root, &mut chains, &workers, &mut stage.chance, steps)?;
        steps += 1;
        stage.chance.pause(Duration::from_millis(10));
    }
    workers.iter().try_for_each(|worker| root.take(worker.pid()))?;
    let least = finish(workers)?;
    chains.into_iter().try_for_each(Chain::remove)?;
    Ok(format!("{steps} steps; each thread went round {least} times or more"))
}

/// Groups in one another, the outermost first.
pub struct Chain(Vec<Group>);

impl Chain {
    fn make(root: &Group, name: usize, depth: usize) -> Result<Chain, String> {
        let mut chain = vec![root.make(&format!("chain-{name}"))?];
        for _ in 1..depth {
            let last = &chain[chain.len() - 1];
            last.hand_down()?;
            chain.push(last.make("inner")?);
        }
        Ok(Chain(chain))
    }

    /// Removes it, the innermost first.
    pub fn remove(self) -> Result<(), String> {
        self.0.into_iter().rev().try_for_each(Group::remove)
    }

    /// Only leaves may hold processes.
    fn leaf(&self) -> &Group {
        &self.0[self.0.len() - 1]
    }
}

/// One change: a new chain, an old one away, a process moved, or a weight.
pub fn step(
    root: &Group,
    chains: &mut Vec<Chain>,
    workers: &[Worker],
    chance: &mut Chance,
    name: usize,
) -> Result<(), String> {
    match chance.below(8) {
        0 if chains.len() < 6 => {
            chains.push(Chain::make(root, name, 1 + chance.below(DEEPEST))?);
        }
        1 if !chains.is_empty() => {
            let chain = chains.swap_remove(chance.below(chains.len()));
            // A process in it would keep it: all go to the root first.
            workers.iter().try_for_each(|worker| root.take(worker.pid()))?;
            chain.remove()?;
        }
        2..5 if !chains.is_empty() => {
            let groups = &chance.of(chains).0;
            chance.of(groups).set("cpu.weight", WEIGHTS[chance.below(WEIGHTS.len())])?;
        }
        5..8 if !chains.is_empty() => {
            chance.of(chains).leaf().take(chance.of(workers).pid())?;
        }
        _ => root.take(chance.of(workers).pid())?,
    }
    Ok(())
}
