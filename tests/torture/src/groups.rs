//! Control groups of the guest.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use nix::unistd::Pid;

const ROOT: &str = "/sys/fs/cgroup";

/// A group. It stays until [`Group::remove`].
pub struct Group(PathBuf);

impl Group {
    /// The root, which hands its controllers down.
    pub fn root() -> Result<Group, String> {
        let root = Group(ROOT.into());
        root.hand_down()?;
        Ok(root)
    }

    /// Makes a group in this one.
    pub fn make(&self, name: &str) -> Result<Group, String> {
        let path = self.0.join(name);
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Group(path))
    }

    /// Gives groups inside their own weights and CPUs.
    pub fn hand_down(&self) -> Result<(), String> {
        self.set("cgroup.subtree_control", "+cpu +cpuset")
    }

    /// Writes one of its files.
    pub fn set(&self, file: &str, value: &str) -> Result<(), String> {
        let path = self.0.join(file);
        fs::write(&path, value).map_err(|error| format!("{value} > {}: {error}", path.display()))
    }

    /// Moves a process into it.
    pub fn take(&self, process: Pid) -> Result<(), String> {
        self.set("cgroup.procs", &process.to_string())
    }

    /// Removes it. Processes that have just ended hold it for a moment.
    pub fn remove(self) -> Result<(), String> {
        for _ in 0..500 {
            match fs::remove_dir(&self.0) {
                Ok(()) => return Ok(()),
                Err(_) => sleep(Duration::from_millis(10)),
            }
        }
        fs::remove_dir(&self.0).map_err(|error| format!("rmdir {}: {error}", self.0.display()))
    }
}
