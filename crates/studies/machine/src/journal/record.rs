//! The lines of a journal.

use serde::{Deserialize, Serialize};

use crate::target::Target;

/// What a session of changes is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// `tune apply`.
    Tune,
    /// A cell, by its name.
    Cell(String),
    /// What keeps the rest of the machine off the cells, all of them.
    Housekeeping,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The format.
    pub schema: String,
    /// What for.
    pub purpose: Purpose,
    /// The boot that the changes were made in: all of them end with it.
    pub boot: String,
    /// What was asked for, for people.
    pub asked: String,
}

/// Every other line. It is on the disk before what it tells of is done, except `Undone`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A change.
    Change {
        /// Its number in the session.
        number: usize,
        /// What is changed.
        target: Target,
        /// Its value before.
        before: String,
        /// Its value after.
        after: String,
    },
    /// The same target gets another value.
    Again {
        /// The change.
        number: usize,
        /// Its new value.
        after: String,
    },
    /// An earlier session was undone, so this one's undo leads back further; or its value changed under this
    /// one's.
    Before {
        /// The change.
        number: usize,
        /// What its undo restores.
        before: String,
    },
    /// A change was undone.
    Undone {
        /// The change.
        number: usize,
    },
}

/// A change of a session, all its records taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What was changed.
    pub target: Target,
    /// What its undo restores.
    pub before: String,
    /// All values that it has had from us, the latest last.
    pub afters: Vec<String>,
    /// Whether it was undone.
    pub undone: bool,
}

impl Entry {
    /// Whether a value is one that we gave it.
    pub fn is_ours(&self, value: &str) -> bool {
        self.afters.iter().any(|after| self.target.same(after, value))
    }

    /// The latest value that it has from us.
    pub fn after(&self) -> &str {
        self.afters.last().expect("one at least")
    }
}

/// Takes records together.
pub fn apply(entries: &mut Vec<Entry>, record: Record) -> Option<()> {
    match record {
        Record::Change { number, target, before, after } => {
            (number == entries.len()).then_some(())?;
            entries.push(Entry { target, before, afters: vec![after], undone: false });
        }
        Record::Again { number, after } => entries.get_mut(number)?.afters.push(after),
        Record::Before { number, before } => entries.get_mut(number)?.before = before,
        Record::Undone { number } => entries.get_mut(number)?.undone = true,
    }
    Some(())
}
