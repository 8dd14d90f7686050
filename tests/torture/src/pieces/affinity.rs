//! Allowed CPUs that flip.

use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::Stage;
use crate::chance::Chance;
use crate::worker::Kind;
use crate::workers::{Worker, any_thread, finish, spawn_workers};

/// Flips them.
pub fn flips(stage: &mut Stage) -> Result<String, String> {
    let (few, many) = (stage.threads(1), stage.threads(2));
    let kinds = [(Kind::Spin, many), (Kind::Nap, many), (Kind::Pipes, few), (Kind::Locks, few)];
    let workers = spawn_workers(&kinds, &mut stage.chance)?;
    let mut flips = 0;
    while stage.lasts() {
        flips += usize::from(flip(&workers, stage.cpus, &mut stage.chance));
        stage.chance.pause(Duration::from_millis(5));
    }
    let least = finish(workers)?;
    if flips == 0 {
        return Err("no thread's CPUs could be changed".into());
    }
    Ok(format!("{flips} flips; each thread went round {least} times or more"))
}

/// Gives a thread other CPUs: often one alone, so that running and waiting threads must move.
pub fn flip(workers: &[Worker], cpus: usize, chance: &mut Chance) -> bool {
    let Some(thread) = any_thread(workers, chance) else { return false };
    let chosen = if chance.once_in(3) { vec![chance.below(cpus)] } else { chance.cpus(cpus) };
    allow(thread, &chosen)
}

fn allow(thread: Pid, cpus: &[usize]) -> bool {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu).expect("a CPU number of the guest"));
    // A thread that has just ended, or CPUs that are all offline: nothing to flip.
    sched_setaffinity(thread, &set).is_ok()
}
