//! What this crate asks of the operating system, and all that it can do to it.
//!
//! A trait, so that tests stand a tree of files in for the machine, and end the process at any act.

mod files;
mod live;

use std::fs::File;
use std::io;

pub use files::Files;
pub use live::{Live, TOKEN};

use crate::class::Class;
use crate::cpus::Cpus;

/// A machine's files and threads. Paths are absolute, as on the machine.
pub trait Platform {
    /// A file's text.
    fn read(&self, path: &str) -> io::Result<String>;
    /// The first bytes of a file that another user may have put there, so many at most.
    fn beginning(&self, path: &str, most: u64) -> io::Result<String>;
    /// The names in a folder, sorted.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
    /// Writes to a file that is there, as one write.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;
    /// Adds to a file, made where it is not there (its folder too), and waits until the disk has it.
    fn append(&self, path: &str, text: &str) -> io::Result<()>;
    /// Has the disk keep room for what will be added to a file: twice its length and some more.
    fn reserve(&self, path: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &str) -> io::Result<()>;
    /// Waits for the right to change things, which is given back when the file is dropped.
    fn lock(&self, path: &str) -> io::Result<File>;
    /// Makes a cgroup.
    fn make_group(&self, path: &str) -> io::Result<()>;
    /// Removes a cgroup.
    fn remove_group(&self, path: &str) -> io::Result<()>;
    /// Puts a thread into a scheduling class.
    fn set_class(&self, thread: i32, class: Class) -> io::Result<()>;
    /// Binds a thread to CPUs.
    fn set_affinity(&self, thread: i32, cpus: &Cpus) -> io::Result<()>;
    /// Starts this executable with other arguments, known by a token in its environment, and waits until it
    /// says that it is ready.
    fn start(&self, token: &str, args: &[String]) -> io::Result<()>;
    /// Ends a process that was started so, and waits for its end.
    fn stop(&self, process: i32) -> io::Result<()>;
}
