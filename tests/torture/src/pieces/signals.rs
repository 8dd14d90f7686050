//! Processes that are stopped, continued and killed.

use std::time::Duration;

use nix::sys::signal::Signal::{SIGCONT, SIGSTOP};

use super::Stage;
use crate::chance::Chance;
use crate::worker::Kind;
use crate::workers::{Worker, finish, spawn_workers};

const KINDS: [Kind; 4] = [Kind::Spin, Kind::Nap, Kind::Pipes, Kind::Locks];

/// A storm of signals.
pub fn storm(stage: &mut Stage) -> Result<String, String> {
    let threads = stage.threads(1);
    let kinds: Vec<(Kind, usize)> = KINDS.iter().chain(&KINDS).map(|k| (*k, threads)).collect();
    let mut workers = spawn_workers(&kinds, &mut stage.chance)?;
    let (mut signals, mut killed) = (0, 0);
    while stage.lasts() {
        if stage.chance.once_in(50) {
            replace(&mut workers, threads, &mut stage.chance)?;
            killed += 1;
        } else {
            stop_or_continue(&workers, &mut stage.chance);
            signals += 1;
        }
        stage.chance.pause(Duration::from_millis(5));
    }
    workers.iter().for_each(|worker| worker.signal(SIGCONT));
    let least = finish(workers)?;
    Ok(format!("{signals} signals, {killed} killed; each thread went round {least} times or more"))
}

/// Stops a process, or lets it go on.
pub fn stop_or_continue(workers: &[Worker], chance: &mut Chance) {
    let signal = if chance.once_in(2) { SIGSTOP } else { SIGCONT };
    chance.of(workers).signal(signal);
}

/// Kills a process and starts another in its place.
pub fn replace(
    workers: &mut Vec<Worker>,
    threads: usize,
    chance: &mut Chance,
) -> Result<(), String> {
    let victim = workers.swap_remove(chance.below(workers.len()));
    victim.kill()?;
    workers.push(Worker::start(*chance.of(&KINDS), threads, chance)?);
    Ok(())
}
