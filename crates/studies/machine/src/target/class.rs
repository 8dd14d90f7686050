//! The scheduling class of a thread.

use std::io;

use crate::class::Class;
use crate::platform::Platform;
use crate::proc::Task;

/// As [`Class`] writes itself; `None` once the thread has ended.
pub fn read(on: &dyn Platform, process: i32, thread: i32, start: u64) -> Option<String> {
    let task = Task::of_thread(on, process, thread).filter(|task| task.start == start)?;
    Some(task.class.map_or_else(|| "another class".to_string(), |class| class.to_string()))
}

/// Puts it into the class.
pub fn write(on: &dyn Platform, thread: i32, value: &str) -> io::Result<()> {
    on.set_class(thread, parse(value)?)
}

/// A class from the journal's words.
pub fn parse(value: &str) -> io::Result<Class> {
    Class::read(value).ok_or_else(|| io::Error::other(format!("`{value}` is no scheduling class")))
}
