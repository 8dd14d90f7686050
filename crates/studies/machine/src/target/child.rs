//! Processes of ours that stay: what lasts only as long as a process holds a file open, or watches.

use std::io;

use serde::{Deserialize, Serialize};

use crate::platform::{Platform, TOKEN};
use crate::proc::processes;

/// Something that is there.
pub const PRESENT: &str = "present";
/// Something that is not.
pub const ABSENT: &str = "absent";

/// A process of ours.
///
/// Its token is in its environment from its first moment on, so it is found also when its parent died before
/// writing its number down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// What tells it from all others.
    pub token: String,
    /// Arguments of this executable.
    pub args: Vec<String>,
    /// What it is, for people.
    pub about: String,
}

impl Child {
    /// `present` or `absent`.
    pub fn read(&self, on: &dyn Platform) -> io::Result<String> {
        Ok(String::from(if self.find(on)?.is_some() { PRESENT } else { ABSENT }))
    }

    /// Starts or ends it.
    pub fn write(&self, on: &dyn Platform, value: &str) -> io::Result<()> {
        if value == PRESENT {
            return on.start(&self.token, &self.args);
        }
        self.find(on)?.map_or(Ok(()), |process| on.stop(process))
    }

    fn find(&self, on: &dyn Platform) -> io::Result<Option<i32>> {
        let wanted = format!("{TOKEN}={}", self.token);
        // A command that undoes everything and is part of it ends by itself after that.
        let own = std::process::id() as i32;
        let user = nix::unistd::geteuid().as_raw();
        let has_token = |process: &i32| {
            // The environment of another user's process cannot be read; that of one that ended is empty.
            let environment = on.read(&format!("/proc/{process}/environ")).unwrap_or_default();
            environment.split('\0').any(|entry| entry == wanted) && belongs(on, *process, user)
        };
        Ok(processes(on)?.into_iter().filter(|process| *process != own).find(has_token))
    }
}

/// Whether a process is this user's in every way: a set-user-ID program may have been given any environment.
fn belongs(on: &dyn Platform, process: i32, user: u32) -> bool {
    let status = on.read(&format!("/proc/{process}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    users.is_some_and(|users| users.split_whitespace().all(|id| id.parse() == Ok(user)))
}
