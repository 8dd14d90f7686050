//! Processes as /proc shows them.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Longer than anything here takes on a busy machine, and than a run waits for another one.
const PATIENCE: Duration = Duration::from_secs(70);

/// The programs of a scenario that `parent` runs: its children in a role, by id.
pub fn programs_of(parent: u32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|&id| parent_of(id) == Some(parent) && plays_a_role(id)).collect()
}

/// Waits until `parent` has `count` programs.
pub fn wait_for_programs(parent: u32, count: usize) -> Vec<i32> {
    wait(|| Some(programs_of(parent)).filter(|found| found.len() == count))
        .unwrap_or_else(|| panic!("{count} programs of {parent}, found {:?}", programs_of(parent)))
}

/// Waits until every one of these processes is gone (or is only waiting for its parent to notice); those that
/// are not.
pub fn wait_for_end(ids: &[i32]) -> Vec<i32> {
    let alive = || ids.iter().copied().filter(|&id| is_alive(id)).collect::<Vec<_>>();
    wait(|| Some(()).filter(|()| alive().is_empty()));
    alive()
}

/// Sends a signal.
pub fn signal(id: i32, signal: Signal) {
    kill(Pid::from_raw(id), signal).expect("a process of this test");
}

fn wait<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        let seen = look();
        if seen.is_some() || Instant::now() > end {
            return seen;
        }
        sleep(Duration::from_millis(10));
    }
}

fn is_alive(id: i32) -> bool {
    status(id).is_some_and(|fields| fields[0] != "Z" && fields[0] != "X")
}

fn parent_of(id: i32) -> Option<u32> {
    status(id)?[1].parse().ok()
}

fn plays_a_role(id: i32) -> bool {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(b"__role")
}

/// State and parent of a process: what stands behind its name in parentheses.
fn status(id: i32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields = text.rsplit_once(')')?.1.split_whitespace();
    Some(fields.take(2).map(str::to_string).collect())
}
