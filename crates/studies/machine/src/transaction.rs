//! A session of changes that is made whole or not at all, whatever ends its maker.

use std::sync::atomic::{AtomicBool, Ordering};

use model::Failure;

use crate::cpus::Cpus;
use crate::housekeeping;
use crate::journal::{Journal, Purpose, Session, Taken, Undone, undo};
use crate::machine::Machine;
use crate::roles::guard::Guard;
use crate::target::Target;

/// Turns true when the user wants to stop.
pub type Stop = AtomicBool;

/// A session in the making.
pub struct Transaction<'a> {
    machine: &'a Machine,
    /// The journal that it is in.
    pub journal: Journal<'a>,
    session: Session<'a>,
    guard: Option<Guard>,
    stop: &'a Stop,
    /// What the machine refused and can do without.
    pub skipped: Vec<String>,
}

impl<'a> Transaction<'a> {
    /// Begins; nothing is changed yet. The caller holds the machine's lock.
    pub fn begin(
        machine: &'a Machine,
        stop: &'a Stop,
        purpose: Purpose,
        asked: &str,
    ) -> Result<Transaction<'a>, Failure> {
        let journal = machine.journal();
        let number = journal.next()?;
        let guard = machine.guarded.then(|| Guard::post(machine.state(), number));
        let guard = guard.transpose().map_err(|error| Failure::Run(format!("guard: {error}")))?;
        let session = journal.begin(purpose, asked)?;
        Ok(Transaction { machine, journal, session, guard, stop, skipped: Vec::new() })
    }

    /// The session's number.
    pub fn number(&self) -> u64 {
        self.session.number()
    }

    /// The folder of the journal.
    pub fn state(&self) -> &str {
        self.machine.state()
    }

    /// Gives a target a value, or fails.
    pub fn set(&mut self, target: &Target, value: &str) -> Result<bool, Failure> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        match self.session.set(&self.journal, target, value)? {
            Taken::Changed => Ok(true),
            Taken::Same => Ok(false),
            Taken::Refused(why) => Err(Failure::Run(why)),
        }
    }

    /// Gives a target a value if the machine allows: some interrupts and threads belong to a CPU.
    pub fn offer(&mut self, target: &Target, value: &str) -> Result<(), Failure> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        if let Taken::Refused(why) = self.session.set(&self.journal, target, value)? {
            self.skipped.push(why);
        }
        Ok(())
    }

    /// Moves the rest of the machine off CPUs that will be a partition.
    pub fn make_way(&mut self, cpus: &Cpus) -> Result<(), Failure> {
        self.skipped.extend(housekeeping::make_way(self.machine, self.stop, cpus)?);
        Ok(())
    }

    /// Makes changes; if they fail, undoes those that were made.
    pub fn make(
        mut self,
        change: impl FnOnce(&mut Transaction) -> Result<(), Failure>,
    ) -> Result<Transaction<'a>, Failure> {
        let made = change(&mut self)
            .and_then(|()| housekeeping::refresh(self.machine, self.stop))
            .map(|skipped| self.skipped.extend(skipped));
        // A knob and the cells may have been refused the same.
        self.skipped.sort();
        self.skipped.dedup();
        match made {
            Ok(()) => Ok(self),
            Err(failure) => match self.undo(false)? {
                undone if undone.is_complete() => Err(failure),
                undone => Err(Failure::Run(format!(
                    "{failure}; and its undo is not complete: {}",
                    [undone.conflicts, undone.refused].concat().join("; ")
                ))),
            },
        }
    }

    /// Leaves the changes in place after this command's end, until they are undone.
    pub fn keep(mut self) -> Vec<String> {
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
        self.skipped
    }

    /// Undoes all of it.
    pub fn undo(mut self, force: bool) -> Result<Undone, Failure> {
        let undone = take_back(self.machine, &self.journal, self.session, force)?;
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
        Ok(undone)
    }
}

/// Undoes a session, and gives back what kept the machine off its CPUs.
pub fn take_back(
    machine: &Machine,
    journal: &Journal,
    session: Session,
    force: bool,
) -> Result<Undone, Failure> {
    let mut undone = undo(journal, session, force)?;
    // An undo is not stopped half-way, also not where the journal can take no more.
    if let Err(failure) = housekeeping::refresh(machine, &Stop::new(false)) {
        undone.refused.push(failure.to_string());
    }
    Ok(undone)
}
