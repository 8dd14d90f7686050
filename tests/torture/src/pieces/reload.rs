//! The scheduler itself comes and goes.

use std::thread::sleep;
use std::time::Duration;

use super::Stage;
use crate::worker::Kind;
use crate::workers::{finish, spawn_workers};
use torture::scheduler::Scheduler;

/// Unloads it as Ctrl-C does, and loads it again.
pub fn cycles(stage: &mut Stage) -> Result<String, String> {
    again_and_again(stage, Scheduler::unload)
}

/// Kills its loader, and loads it again.
pub fn kills(stage: &mut Stage) -> Result<String, String> {
    again_and_again(stage, Scheduler::kill)
}

fn again_and_again(
    stage: &mut Stage,
    end: fn(&mut Scheduler) -> Result<(), String>,
) -> Result<String, String> {
    let (few, many) = (stage.threads(1), stage.threads(2));
    let kinds = [(Kind::Spin, many), (Kind::Nap, many), (Kind::Pipes, few), (Kind::Storm, few)];
    let workers = spawn_workers(&kinds, &mut stage.chance)?;
    let mut cycles = 0;
    while stage.lasts() {
        sleep(stage.chance.moment(Duration::from_secs(2)));
        end(stage.scheduler)?;
        sleep(stage.chance.moment(Duration::from_millis(500)));
        stage.scheduler.load()?;
        cycles += 1;
    }
    let least = finish(workers)?;
    Ok(format!("{cycles} cycles; each thread went round {least} times or more"))
}
