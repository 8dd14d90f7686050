//! Threads that change their class.

use std::time::Duration;

use super::Stage;
use crate::chance::Chance;
use crate::worker::Kind;
use crate::workers::{Worker, any_thread, finish, spawn_workers};

/// Puts threads from class to class (their process does) and changes their nice values (this one does).
pub fn switches(stage: &mut Stage) -> Result<String, String> {
    let (few, many) = (stage.threads(1), stage.threads(2));
    let kinds = [(Kind::Classes, many), (Kind::Classes, few), (Kind::Pipes, few)];
    let workers = spawn_workers(&kinds, &mut stage.chance)?;
    let mut changes = 0;
    while stage.lasts() {
        changes += usize::from(renice(&workers, &mut stage.chance));
        stage.chance.pause(Duration::from_millis(5));
    }
    let least = finish(workers)?;
    if changes == 0 {
        return Err("no thread's nice value could be changed".into());
    }
    Ok(format!("{changes} nice values; each thread went round {least} times or more"))
}

/// Gives a thread another nice value, of a range in which no thread may starve.
pub fn renice(workers: &[Worker], chance: &mut Chance) -> bool {
    let Some(thread) = any_thread(workers, chance) else { return false };
    let thread = rustix::process::Pid::from_raw(thread.as_raw());
    rustix::process::setpriority_process(thread, chance.below(16) as i32 - 5).is_ok()
}
