//! The journal: every change is on the disk, with the value before, when it is made; so any later process can
//! undo it.
//!
//! A session of changes is a file. Several sessions may change the same target, one upon the other. The undo
//! of a lower one leaves the upper one's value in place, and gives the upper one the value to restore.

mod record;
mod session;
mod undo;

pub use record::{Entry, Header, Purpose};
pub use session::{Session, Taken};
pub use undo::{Undone, undo};

use model::Failure;

use crate::platform::Platform;
use crate::proc;

/// The journal of a machine.
pub struct Journal<'a> {
    /// The machine.
    pub on: &'a dyn Platform,
    folder: String,
}

/// What [`Header::schema`] says.
const SCHEMA: &str = "rearguard.journal/1";

impl<'a> Journal<'a> {
    /// The journal in this folder of the machine.
    pub fn new(on: &'a dyn Platform, folder: &str) -> Journal<'a> {
        Journal { on, folder: format!("{folder}/journal") }
    }

    /// All sessions that are not undone, the oldest first.
    pub fn sessions(&self) -> Result<Vec<Session<'a>>, Failure> {
        let mut numbers = self.numbers();
        numbers.sort_unstable();
        let sessions = numbers.into_iter().map(|number| Session::open(self.on, self.path(number)));
        // A session without a header died before it changed anything.
        sessions.filter_map(Result::transpose).collect()
    }

    /// Begins a session.
    pub fn begin(&self, purpose: Purpose, asked: &str) -> Result<Session<'a>, Failure> {
        let number = self.next();
        let header =
            Header { schema: SCHEMA.into(), purpose, boot: self.boot()?, asked: asked.to_string() };
        Session::begin(self.on, self.path(number), header)
    }

    /// The number of the session that is begun next.
    pub fn next(&self) -> u64 {
        self.numbers().into_iter().max().unwrap_or(0) + 1
    }

    /// The session of this number, unless it is undone.
    pub fn session(&self, number: u64) -> Result<Option<Session<'a>>, Failure> {
        Ok(self.sessions()?.into_iter().find(|session| session.number() == number))
    }

    /// Removes sessions whose writers died before they changed anything.
    pub fn sweep(&self) -> Result<(), Failure> {
        for path in self.numbers().into_iter().map(|number| self.path(number)) {
            if Session::open(self.on, path.clone())?.is_none() {
                let removed = self.on.remove(&path);
                removed.map_err(|error| Failure::Run(format!("{path}: {error}")))?;
            }
        }
        Ok(())
    }

    /// This boot.
    pub fn boot(&self) -> Result<String, Failure> {
        proc::boot(self.on).map_err(|error| {
            Failure::Machine(format!("/proc/sys/kernel/random/boot_id: {error}: mount /proc"))
        })
    }

    fn numbers(&self) -> Vec<u64> {
        let names = self.on.list(&self.folder).unwrap_or_default();
        names.iter().filter_map(|name| name.strip_suffix(".jsonl")?.parse().ok()).collect()
    }

    fn path(&self, number: u64) -> String {
        format!("{}/{number:06}.jsonl", self.folder)
    }
}
