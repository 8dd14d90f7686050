//! Cgroups of our own.

use std::io::{self, ErrorKind};
use std::thread::sleep;
use std::time::Duration;

use super::{ABSENT, PRESENT};
use crate::platform::Platform;

/// How often to try to remove a group whose last process is about to go, and how long to wait in between: 5 s
/// in all.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// `present` or `absent`.
pub fn read(on: &dyn Platform, path: &str) -> String {
    let there = on.read(&format!("{path}/cgroup.procs")).is_ok();
    String::from(if there { PRESENT } else { ABSENT })
}

/// Makes it, or removes it with what runs in it, or after that moved to the fallback group.
pub fn write(on: &dyn Platform, path: &str, fallback: Option<&str>, value: &str) -> io::Result<()> {
    if value == PRESENT {
        return on.make_group(path);
    }
    for _ in 0..TRIES {
        clear(on, path, fallback)?;
        match on.remove_group(path) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => sleep(PAUSE),
            removed => return removed,
        }
    }
    on.remove_group(path)
}

fn clear(on: &dyn Platform, path: &str, fallback: Option<&str>) -> io::Result<()> {
    let inside = on.read(&format!("{path}/cgroup.procs"))?;
    if inside.trim().is_empty() {
        return Ok(());
    }
    let Some(fallback) = fallback else {
        return on.write(&format!("{path}/cgroup.kill"), "1");
    };
    for process in inside.lines() {
        match on.write(&format!("{fallback}/cgroup.procs"), process) {
            // It has ended by itself.
            Err(error) if error.raw_os_error() == Some(3) => {}
            moved => moved?,
        }
    }
    Ok(())
}
