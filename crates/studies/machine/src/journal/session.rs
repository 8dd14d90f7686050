//! One session of changes: its file, and the changes in it.

use std::io;

use model::Failure;
use serde::Serialize;

use super::record::{Entry, Header, Record, apply};
use super::{Journal, SCHEMA};
use crate::platform::Platform;
use crate::target::Target;

/// How a target took a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It has it.
    Changed,
    /// It had it before.
    Same,
    /// The machine refused, for this reason.
    Refused(String),
}

/// A session of changes.
pub struct Session<'a> {
    on: &'a dyn Platform,
    pub(super) path: String,
    /// What it says of itself.
    pub header: Header,
    /// Its changes, in their order.
    pub entries: Vec<Entry>,
    /// Whether the file's last line is whole.
    whole: bool,
}

impl<'a> Session<'a> {
    pub(super) fn begin(
        on: &'a dyn Platform,
        path: String,
        header: Header,
    ) -> Result<Session<'a>, Failure> {
        let mut session = Session { on, path, header, entries: Vec::new(), whole: true };
        let header = session.header.clone();
        session.append(&header).map_err(|error| {
            Failure::Machine(format!(
                "{}: {error}: without a journal nothing is changed; run it with sudo, or name a folder of yours in RG_STATE_DIR",
                session.path
            ))
        })?;
        Ok(session)
    }

    /// Reads a session; `None` if it is empty.
    pub(super) fn open(on: &'a dyn Platform, path: String) -> Result<Option<Session<'a>>, Failure> {
        // A pipe in its place would hang an undo.
        let text = on.beginning(&path, u64::MAX);
        let text = text.map_err(|error| Failure::Run(format!("{path}: {error}")))?;
        // A line without its end was being written when its writer died, so what it tells of was never done.
        let whole = text.ends_with('\n');
        let mut lines: Vec<&str> = text.split('\n').collect();
        lines.pop();
        let mut lines = lines.into_iter().enumerate().filter(|(_, line)| line.ends_with('}'));
        let bad = |at: usize| {
            Failure::Run(format!(
                "{path}:{}: not a line of a journal; restore what it names by hand, then remove the file",
                at + 1
            ))
        };
        let Some((at, line)) = lines.next() else { return Ok(None) };
        let header: Header = serde_json::from_str(line).map_err(|_| bad(at))?;
        if header.schema != SCHEMA {
            let schema = &header.schema;
            return Err(Failure::Run(format!(
                "{path}: `{schema}` where this version knows {SCHEMA}: undo it with the version that wrote it"
            )));
        }
        let mut entries = Vec::new();
        for (at, line) in lines {
            let record = serde_json::from_str(line).map_err(|_| bad(at))?;
            apply(&mut entries, record).ok_or_else(|| bad(at))?;
        }
        Ok(Some(Session { on, path, header, entries, whole }))
    }

    /// Gives a target a value. On the disk before it is done, and read back after.
    ///
    /// Where a later session has changed the same target, that one's value stays, and its undo will lead to
    /// this one's.
    pub fn set(
        &mut self,
        journal: &Journal,
        target: &Target,
        value: &str,
    ) -> Result<Taken, Failure> {
        let now = match target.read(self.on) {
            Ok(Some(now)) => now,
            Ok(None) => return Ok(Taken::Refused(format!("{target}: there is none"))),
            Err(error) => return Ok(Taken::Refused(format!("{target}: {error}"))),
        };
        let known = self.entries.iter().position(|e| e.target == *target && !e.undone);
        let above = self.above(journal, target)?;
        let mine = match (&above, known) {
            (Some((_, _, before)), _) => before,
            (None, _) => &now,
        };
        if target.same(mine, value) {
            return Ok(Taken::Same);
        }
        let before = mine.clone();
        let kept = self.on.reserve(&self.path);
        kept.map_err(|error| {
            let path = &self.path;
            Failure::Run(format!("{path}: {error}: without room for its undo nothing is changed"))
        })?;
        let back = self.claim(known, target, before, value)?;
        if let Some((mut session, number, _)) = above {
            session.record(Record::Before { number, before: value.into() })?;
            return Ok(Taken::Changed);
        }
        let taken = self.write(target, value);
        let is_as_before =
            || matches!(target.read(self.on), Ok(Some(is)) if target.same(&is, &now));
        if matches!(taken, Taken::Refused(_)) && is_as_before() {
            self.record(back)?;
        }
        Ok(taken)
    }

    /// Writes down that a target gets a value; what to write down if the machine refuses it.
    fn claim(
        &mut self,
        known: Option<usize>,
        target: &Target,
        before: String,
        value: &str,
    ) -> Result<Record, Failure> {
        let after = value.to_string();
        let Some(number) = known else {
            let number = self.entries.len();
            self.record(Record::Change { number, target: target.clone(), before, after })?;
            return Ok(Record::Undone { number });
        };
        let back = Record::Again { number, after: self.entries[number].after().into() };
        self.record(Record::Again { number, after })?;
        Ok(back)
    }

    /// A write that the kernel took may still have come to nothing: a partition that is invalid, a mask that
    /// was cut.
    fn write(&self, target: &Target, value: &str) -> Taken {
        let found = target.write(self.on, value).and_then(|()| target.read(self.on));
        match found {
            Err(error) => Taken::Refused(format!("{target}: {error}")),
            Ok(Some(found)) if !target.is_prompt() || target.same(&found, value) => Taken::Changed,
            Ok(found) => Taken::Refused(format!(
                "{target}: the kernel was told `{value}` and says `{}`",
                found.unwrap_or_default()
            )),
        }
    }

    /// The next session above this one that has changed a target, its change there, and what that restores.
    pub(super) fn above(
        &self,
        journal: &Journal<'a>,
        target: &Target,
    ) -> Result<Option<(Session<'a>, usize, String)>, Failure> {
        for session in journal.sessions()?.into_iter().filter(|other| other.path > self.path) {
            let number = session.entries.iter().position(|e| e.target == *target && !e.undone);
            if let Some(number) = number {
                let before = session.entries[number].before.clone();
                return Ok(Some((session, number, before)));
            }
        }
        Ok(None)
    }

    pub(super) fn record(&mut self, record: Record) -> Result<(), Failure> {
        self.append(&record).map_err(|error| Failure::Run(format!("{}: {error}", self.path)))?;
        apply(&mut self.entries, record).expect("numbers are right");
        Ok(())
    }

    fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        let start = if self.whole { "" } else { "\n" };
        let line = serde_json::to_string(line).expect("plain structures always serialise");
        self.on.append(&self.path, &format!("{start}{line}\n"))?;
        self.whole = true;
        Ok(())
    }

    /// The number that it is known by.
    pub fn number(&self) -> u64 {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.trim_end_matches(".jsonl").parse().expect("named by its number")
    }

    /// Forgets the session: all of it is undone. Where its file cannot be removed the rest has to be restored
    /// all the same; undone again, it needs nothing.
    pub(super) fn forget(self, journal: &Journal) {
        if self.on.remove(&self.path).is_ok() {
            journal.unwritten.forget(&self.path);
        }
    }
}
