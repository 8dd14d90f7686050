//! CPUs that come and go.

use std::fs;
use std::time::Duration;

use super::Stage;
use crate::worker::Kind;
use crate::workers::{finish, spawn_workers};

/// Flips all but the first, which most machines keep. The scheduler must be in force again after each.
pub fn flips(stage: &mut Stage) -> Result<String, String> {
    let (few, many) = (stage.threads(1), stage.threads(2));
    let kinds = [(Kind::Spin, many), (Kind::Nap, many), (Kind::Pipes, few), (Kind::Storm, few)];
    let workers = spawn_workers(&kinds, &mut stage.chance)?;
    let mut online = vec![true; stage.cpus];
    let mut flips = 0;
    while stage.lasts() {
        let cpu = 1 + stage.chance.below(stage.cpus - 1);
        online[cpu] = !online[cpu];
        put(cpu, online[cpu])?;
        flips += 1;
        // Now and then the next comes while the scheduler is still on its way back.
        if !stage.chance.once_in(4) {
            stage.scheduler.await_enabled()?;
        }
        stage.chance.pause(Duration::from_secs(1));
    }
    (1..stage.cpus).filter(|cpu| !online[*cpu]).try_for_each(|cpu| put(cpu, true))?;
    stage.scheduler.await_settled()?;
    let least = finish(workers)?;
    Ok(format!("{flips} flips; each thread went round {least} times or more"))
}

fn put(cpu: usize, online: bool) -> Result<(), String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    fs::write(&path, if online { "1" } else { "0" }).map_err(|error| format!("{path}: {error}"))
}
