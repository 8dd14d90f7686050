//! A machine that kills the process which changes it, at any act.

use std::cell::Cell;
use std::fs::File;
use std::io;

use machine::platform::{Live, Platform};
use machine::{Class, Cpus};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// This machine; the process is killed instead of its act of this number.
pub struct Fuse {
    live: Live,
    left: Cell<u32>,
}

impl Fuse {
    /// A process that does so many acts.
    pub fn new(state: &str, acts: u32) -> Fuse {
        Fuse { live: Live::new(&format!("{state}/said")), left: Cell::new(acts) }
    }

    fn act(&self) {
        if self.left.get() == 0 {
            kill(Pid::this(), Signal::SIGKILL).expect("it may end itself");
        }
        self.left.set(self.left.get() - 1);
    }
}

impl Platform for Fuse {
    fn read(&self, path: &str) -> io::Result<String> {
        self.live.read(path)
    }

    fn beginning(&self, path: &str, most: u64) -> io::Result<String> {
        self.live.beginning(path, most)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.live.list(path)
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.act();
        self.live.write(path, text)
    }

    fn append(&self, path: &str, text: &str) -> io::Result<()> {
        self.act();
        self.live.append(path, text)
    }

    fn reserve(&self, path: &str) -> io::Result<()> {
        self.live.reserve(path)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.act();
        self.live.remove(path)
    }

    fn lock(&self, path: &str) -> io::Result<File> {
        self.live.lock(path)
    }

    fn make_group(&self, path: &str) -> io::Result<()> {
        self.act();
        self.live.make_group(path)
    }

    fn remove_group(&self, path: &str) -> io::Result<()> {
        self.act();
        self.live.remove_group(path)
    }

    fn set_class(&self, thread: i32, class: Class) -> io::Result<()> {
        self.act();
        self.live.set_class(thread, class)
    }

    fn set_affinity(&self, thread: i32, cpus: &Cpus) -> io::Result<()> {
        self.act();
        self.live.set_affinity(thread, cpus)
    }

    fn start(&self, token: &str, args: &[String]) -> io::Result<()> {
        self.act();
        self.live.start(token, args)
    }

    fn stop(&self, process: i32) -> io::Result<()> {
        self.act();
        self.live.stop(process)
    }
}
