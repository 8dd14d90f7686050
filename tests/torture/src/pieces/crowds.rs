//! Pieces that need nothing but their workers.

use std::thread::sleep;
use std::time::Instant;

use super::Stage;
use crate::worker::Kind;
use crate::workers::{finish, spawn_workers};

fn run(stage: &mut Stage, kinds: &[(Kind, usize)]) -> Result<String, String> {
    let workers = spawn_workers(kinds, &mut stage.chance)?;
    sleep(stage.end.saturating_duration_since(Instant::now()));
    let least = finish(workers)?;
    Ok(format!("each thread went round {least} times or more"))
}

/// Threads and processes start and end.
pub fn storm(stage: &mut Stage) -> Result<String, String> {
    let (some, spinners) = (stage.threads(1), stage.threads(1));
    run(stage, &[(Kind::Storm, some), (Kind::Storm, some), (Kind::Spin, spinners)])
}

/// Pairs that wake one another.
pub fn pingpong(stage: &mut Stage) -> Result<String, String> {
    let threads = stage.threads(4);
    run(stage, &[(Kind::Pipes, threads), (Kind::Locks, threads), (Kind::Spin, 2)])
}

/// Sleepers beside spinners.
pub fn sleepers(stage: &mut Stage) -> Result<String, String> {
    let (many, few) = (stage.threads(8), stage.threads(2));
    run(stage, &[(Kind::Nap, many), (Kind::Nap, many), (Kind::Spin, few)])
}
