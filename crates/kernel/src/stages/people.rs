//! Who threads are: process, name, group. Looked up while they live.

use std::collections::BTreeMap;
use std::fs;

/// What /proc says of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Person {
    /// The process.
    pub process: u32,
    /// The process's name.
    pub name: String,
    /// The path of its group (cgroup), without the leading `/`; empty: the root.
    pub group: String,
}

/// Everybody who was met.
#[derive(Clone, Debug, Default)]
pub(super) struct People {
    pub known: BTreeMap<u32, Person>,
}

impl People {
    /// Looks up a thread that was seen, if it is new.
    pub fn meet(&mut self, thread: u32) {
        if thread == 0 || self.known.contains_key(&thread) {
            return;
        }
        let read = |id: u32, what: &str| fs::read_to_string(format!("/proc/{id}/{what}")).ok();
        let process = |status: String| {
            status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
        };
        let Some(process) = read(thread, "status").and_then(process) else { return };
        let group = read(process, "cgroup").unwrap_or_default();
        let group = group.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let name = read(process, "comm").unwrap_or_default().trim().to_string();
        self.known.insert(thread, Person { process, name, group: group.to_string() });
    }
}
