//! Which cgroup a process is in.

use std::io;

use super::GROUPS;
use crate::platform::Platform;
use crate::proc::{self, Task};

/// The group's name below the root, `/` for the root itself.
pub fn name(path: &str) -> &str {
    match path.strip_prefix(GROUPS) {
        Some("") => "/",
        Some(name) => name,
        None => path,
    }
}

/// The group's path; `None` once the process has ended.
pub fn read(on: &dyn Platform, process: i32, start: u64) -> Option<String> {
    Task::of_process(on, process).filter(|task| task.start == start)?;
    let group = proc::group(on, process)?;
    Some(format!("{GROUPS}{}", if group == "/" { "" } else { &group }))
}

/// Moves it.
pub fn write(on: &dyn Platform, process: i32, path: &str) -> io::Result<()> {
    on.write(&format!("{path}/cgroup.procs"), &process.to_string())
}
