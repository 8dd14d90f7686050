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

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;

use model::Failure;

use crate::platform::Platform;
use crate::proc;

/// The journal of a machine.
pub struct Journal<'a> {
    /// The machine.
    pub on: &'a dyn Platform,
    state: String,
    folder: String,
    unwritten: &'a Unwritten,
}

/// Changes that were undone where the journal could not be written any more: by the file of their session,
/// and by their number. What is undone next has to know of them.
#[derive(Default)]
pub struct Unwritten(RefCell<BTreeSet<(String, usize)>>);

/// What [`Header::schema`] says.
const SCHEMA: &str = "rearguard.journal/1";
/// Where the sessions lie.
const FOLDER: &str = "journal";
/// Bytes of a session of another user that are looked at.
const LONGEST_OF_ANOTHER: u64 = 1 << 20;
/// Sessions of another user that are looked at.
const MOST_OF_ANOTHER: usize = 64;

impl Unwritten {
    fn add(&self, session: &Session, number: usize) {
        self.0.borrow_mut().insert((session.path.clone(), number));
    }

    fn mark(&self, session: &mut Session) {
        for (_, number) in self.0.borrow().iter().filter(|(path, _)| *path == session.path) {
            if let Some(entry) = session.entries.get_mut(*number) {
                entry.undone = true;
            }
        }
    }

    /// The next session may get the file's number.
    fn forget(&self, path: &str) {
        self.0.borrow_mut().retain(|(of, _)| of != path);
    }
}

impl<'a> Journal<'a> {
    /// The journal in this folder of the machine.
    pub fn new(on: &'a dyn Platform, state: &str, unwritten: &'a Unwritten) -> Journal<'a> {
        Journal { on, state: state.into(), folder: format!("{state}/{FOLDER}"), unwritten }
    }

    /// All sessions that are not undone, the oldest first.
    pub fn sessions(&self) -> Result<Vec<Session<'a>>, Failure> {
        let mut numbers = self.numbers()?;
        numbers.sort_unstable();
        let open = |number| {
            let mut session = Session::open(self.on, self.path(number))?;
            session.iter_mut().for_each(|session| self.unwritten.mark(session));
            Ok(session)
        };
        let sessions = numbers.into_iter().map(open);
        // A session without a header died before it changed anything.
        sessions.filter_map(Result::transpose).collect()
    }

    /// What the latest sessions of another user say of themselves, the oldest first. He may have put anything
    /// there, so little of it is read, and none of it is obeyed.
    pub fn headers_of_another(&self) -> Vec<Header> {
        let mut numbers = self.numbers().unwrap_or_default();
        numbers.sort_unstable();
        let latest = &numbers[numbers.len().saturating_sub(MOST_OF_ANOTHER)..];
        let header = |number: &u64| {
            let text = self.on.beginning(&self.path(*number), LONGEST_OF_ANOTHER).ok()?;
            serde_json::from_str(text.split_once('\n')?.0).ok()
        };
        latest.iter().filter_map(header).collect()
    }

    /// Begins a session.
    pub fn begin(&self, purpose: Purpose, asked: &str) -> Result<Session<'a>, Failure> {
        let number = self.next()?;
        let header =
            Header { schema: SCHEMA.into(), purpose, boot: self.boot()?, asked: asked.to_string() };
        Session::begin(self.on, self.path(number), header)
    }

    /// The number of the session that is begun next.
    pub fn next(&self) -> Result<u64, Failure> {
        let last = self.numbers()?.into_iter().max().unwrap_or(0);
        last.checked_add(1).ok_or_else(|| {
            let path = self.path(last);
            Failure::Run(format!(
                "{path}: no number follows: `rearguard tune undo`, then remove it"
            ))
        })
    }

    /// The session of this number, unless it is undone.
    pub fn session(&self, number: u64) -> Result<Option<Session<'a>>, Failure> {
        Ok(self.sessions()?.into_iter().find(|session| session.number() == number))
    }

    /// Removes sessions whose writers died before they changed anything. One that stays is in no one's way.
    pub fn sweep(&self) -> Result<(), Failure> {
        for path in self.numbers()?.into_iter().map(|number| self.path(number)) {
            if Session::open(self.on, path.clone())?.is_none() {
                let _ = self.on.remove(&path);
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

    fn numbers(&self) -> Result<Vec<u64>, Failure> {
        let names = self.names().map_err(|error| {
            let folder = &self.folder;
            Failure::Machine(format!(
                "{folder}: {error}: what is to be undone stands there: make it a folder that you may read"
            ))
        })?;
        Ok(names.iter().filter_map(|name| name.strip_suffix(".jsonl")?.parse().ok()).collect())
    }

    /// None before the first session. A link that leads nowhere is there, and so an error.
    fn names(&self) -> io::Result<Vec<String>> {
        let beside = match self.on.list(&self.state) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            beside => beside?,
        };
        let is_there = beside.iter().any(|name| name == FOLDER);
        if is_there { self.on.list(&self.folder) } else { Ok(Vec::new()) }
    }

    fn path(&self, number: u64) -> String {
        format!("{}/{number:06}.jsonl", self.folder)
    }
}
