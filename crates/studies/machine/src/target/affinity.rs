//! The CPUs that a thread may use.

use std::io;

use crate::cpus::Cpus;
use crate::platform::Platform;
use crate::proc::{self, Task};

/// A list of CPUs; `None` once the thread has ended.
pub fn read(on: &dyn Platform, thread: i32, start: u64) -> Option<String> {
    Task::of_process(on, thread).filter(|task| task.start == start)?;
    proc::affinity(on, thread).map(|cpus| cpus.to_string())
}

/// Binds it.
pub fn write(on: &dyn Platform, thread: i32, value: &str) -> io::Result<()> {
    let cpus = Cpus::read_list(value).ok_or_else(|| io::Error::other("no list of CPUs"))?;
    on.set_affinity(thread, &cpus)
}
