//! Undo: the values before, in reverse order, as often as you like.

use model::Failure;

use super::record::{Entry, Record};
use super::{Journal, Session};
use crate::platform::Platform;

/// What an undo did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// What has its value before again.
    pub restored: Vec<String>,
    /// What needed nothing: it had that value already, or is gone.
    pub needless: usize,
    /// What a reboot had undone.
    pub rebooted: usize,
    /// What another program has changed since, and so was left; with the values.
    pub conflicts: Vec<String>,
    /// What the machine refused.
    pub refused: Vec<String>,
}

impl Undone {
    /// Whether nothing of it is left to do.
    pub fn is_complete(&self) -> bool {
        self.conflicts.is_empty() && self.refused.is_empty()
    }

    /// Adds another's.
    pub fn add(&mut self, other: Undone) {
        self.restored.extend(other.restored);
        self.needless += other.needless;
        self.rebooted += other.rebooted;
        self.conflicts.extend(other.conflicts);
        self.refused.extend(other.refused);
    }
}

/// How one change was undone.
enum How {
    Restored(String),
    Needless,
    Conflict(String),
    Refused(String),
}

/// Undoes a session. With `force` also what another program has changed since.
///
/// What could not be undone stays in the journal.
pub fn undo(journal: &Journal, mut session: Session, force: bool) -> Result<Undone, Failure> {
    let mut undone = Undone::default();
    let live = |session: &Session| session.entries.iter().filter(|entry| !entry.undone).count();
    if session.header.boot != journal.boot()? {
        undone.rebooted = live(&session);
        session.forget(journal);
        return Ok(undone);
    }
    for number in (0..session.entries.len()).rev() {
        if session.entries[number].undone {
            continue;
        }
        let entry = session.entries[number].clone();
        match one(journal, &session, &entry, force)? {
            How::Restored(what) => undone.restored.push(what),
            How::Needless => undone.needless += 1,
            How::Conflict(what) => {
                undone.conflicts.push(what);
                continue;
            }
            How::Refused(what) => {
                undone.refused.push(what);
                continue;
            }
        }
        // A disk that is full or read-only must not keep the rest from being restored. Undone again, this one
        // needs nothing.
        if session.record(Record::Undone { number }).is_err() {
            session.entries[number].undone = true;
            journal.unwritten.add(&session, number);
        }
    }
    if live(&session) == 0 {
        session.forget(journal);
    }
    Ok(undone)
}

fn one(journal: &Journal, session: &Session, entry: &Entry, force: bool) -> Result<How, Failure> {
    let Entry { target, before, .. } = entry;
    if let Some((mut other, number, restores)) = session.above(journal, target)? {
        if entry.is_ours(&restores) {
            let told = other.record(Record::Before { number, before: before.clone() });
            if let Err(failure) = told {
                return Ok(How::Refused(format!("{target}: {failure}")));
            }
        }
        return Ok(How::Needless);
    }
    let now = match target.read(journal.on) {
        Ok(None) => return Ok(How::Needless),
        Ok(Some(now)) => now,
        Err(error) => return Ok(How::Refused(format!("{target}: {error}"))),
    };
    if target.same(&now, before) {
        return Ok(How::Needless);
    }
    if !entry.is_ours(&now) && !force {
        return Ok(How::Conflict(format!(
            "{target}: it was `{before}`, we made it `{}`, another program made it `{now}`",
            entry.after()
        )));
    }
    Ok(restore(journal.on, entry))
}

fn restore(on: &dyn Platform, Entry { target, before, .. }: &Entry) -> How {
    if let Err(error) = target.write(on, before) {
        return How::Refused(format!("{target}: {error}"));
    }
    match target.read(on) {
        Ok(Some(now)) if !target.same(&now, before) => {
            How::Refused(format!("{target}: told `{before}`, the kernel says `{now}`"))
        }
        Err(error) => How::Refused(format!("{target}: {error}")),
        Ok(_) => How::Restored(format!("{target}: {before}")),
    }
}
