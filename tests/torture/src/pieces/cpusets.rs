//! Groups whose CPUs change.

use std::time::Duration;

use super::Stage;
use crate::groups::Group;
use crate::worker::Kind;
use crate::workers::{finish, spawn_workers};

/// Changes them, and moves processes between them.
pub fn changes(stage: &mut Stage) -> Result<String, String> {
    let root = Group::root()?;
    let groups = ["a", "b", "c"].map(|name| root.make(&format!("cpus-{name}")));
    let groups: Vec<Group> = groups.into_iter().collect::<Result<_, _>>()?;
    let (few, many) = (stage.threads(1), stage.threads(2));
    let kinds = [(Kind::Spin, many), (Kind::Nap, many), (Kind::Pipes, few), (Kind::Storm, few)];
    let workers = spawn_workers(&kinds, &mut stage.chance)?;
    let mut changes = 0;
    while stage.lasts() {
        let group = stage.chance.of(&groups);
        if stage.chance.once_in(3) {
            group.take(stage.chance.of(&workers).pid())?;
        } else {
            group.set("cpuset.cpus", &list(&stage.chance.cpus(stage.cpus)))?;
        }
        changes += 1;
        stage.chance.pause(Duration::from_millis(20));
    }
    workers.iter().try_for_each(|worker| root.take(worker.pid()))?;
    let least = finish(workers)?;
    groups.into_iter().try_for_each(Group::remove)?;
    Ok(format!("{changes} changes; each thread went round {least} times or more"))
}

fn list(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}
