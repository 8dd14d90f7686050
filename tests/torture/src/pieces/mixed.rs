//! Most kinds of harm at once.

use std::time::Duration;

use nix::sys::signal::Signal::SIGCONT;

use super::groups::Chain;
use super::{Stage, affinity, classes, groups, signals};
use crate::groups::Group;
use crate::worker::Kind;
use crate::workers::{finish, spawn_workers};

/// Affinity, groups, nice values and signals, over workers of every kind.
pub fn everything(stage: &mut Stage) -> Result<String, String> {
    let root = Group::root()?;
    let few = stage.threads(1);
    let kinds = [Kind::Spin, Kind::Nap, Kind::Pipes, Kind::Locks, Kind::Storm, Kind::Classes];
    let kinds = kinds.map(|kind| (kind, few));
    let mut workers = spawn_workers(&kinds, &mut stage.chance)?;
    let mut chains: Vec<Chain> = Vec::new();
    let mut steps = 0;
    while stage.lasts() {
        let chance = &mut stage.chance;
        match chance.below(16) {
            0..5 => drop(affinity::flip(&workers, stage.cpus, chance)),
            5..8 => drop(classes::renice(&workers, chance)),
            8..12 => groups::step(&root, &mut chains, &workers, chance, steps)?,
            12..15 => signals::stop_or_continue(&workers, chance),
            _ if chance.once_in(8) => signals::replace(&mut workers, few, chance)?,
            _ => {}
        }
        steps += 1;
        chance.pause(Duration::from_millis(5));
    }
    workers.iter().for_each(|worker| worker.signal(SIGCONT));
    workers.iter().try_for_each(|worker| root.take(worker.pid()))?;
    let least = finish(workers)?;
    chains.into_iter().try_for_each(Chain::remove)?;
    Ok(format!("{steps} steps; each thread went round {least} times or more"))
}
