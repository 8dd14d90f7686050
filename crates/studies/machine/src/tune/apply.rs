//! Knobs turned, together, and turned back.

use model::Failure;

use super::knobs::Knob;
use super::scope::Scope;
use super::status::tuned;
use crate::housekeeping;
use crate::journal::{Purpose, Undone, undo};
use crate::machine::Machine;
use crate::place::Place;
use crate::platform::Platform;
use crate::proc::Task;
use crate::target::{GROUPS, Target};
use crate::transaction::{Stop, Transaction};

/// Turns knobs: all of them, or none. The caller holds the lock.
pub fn apply<'a>(
    machine: &'a Machine,
    stop: &'a Stop,
    knobs: &[Box<dyn Knob>],
    service: Option<&Scope>,
    asked: &str,
) -> Result<Transaction<'a>, Failure> {
    let on = machine.on();
    let place = check(machine, knobs, service)?;
    Transaction::begin(machine, stop, Purpose::Tune, asked)?.make(|changes| {
        for knob in knobs {
            knob.turn(on, changes, service)?;
        }
        match (place, service) {
            (Some(place), Some(service)) => settle(on, changes, place, service),
            _ => Ok(()),
        }
    })
}

/// Everything that can be known before the first change.
pub(super) fn check(
    machine: &Machine,
    knobs: &[Box<dyn Knob>],
    service: Option<&Scope>,
) -> Result<Option<Place>, Failure> {
    let on = machine.on();
    let mut place = None;
    for (at, knob) in knobs.iter().enumerate() {
        let kind = knob.kind();
        if knobs[..at].iter().any(|other| other.kind().name == kind.name) {
            return Err(Failure::Input(format!("{}: given twice", kind.name)));
        }
        if kind.needs_service && service.is_none() {
            let name = kind.name;
            return Err(Failure::Input(format!("{name}: of which service? add --pid or --unit")));
        }
        let can = (kind.state)(on).can;
        can.map_err(|remedy| Failure::Machine(format!("{}: {remedy}", kind.name)))?;
        knob.check(on)?;
        knob.place(on, &mut place)?;
    }
    if let Some(place) = &place {
        place.check(on, &housekeeping::taken(&machine.journal(), None)?)?;
    }
    Ok(place)
}

/// Makes the place and moves the service there.
fn settle(
    on: &dyn Platform,
    changes: &mut Transaction,
    mut place: Place,
    service: &Scope,
) -> Result<(), Failure> {
    place.group = format!("{GROUPS}/rearguard-tune-{}", changes.number());
    place.fallback = Some(service.home.clone());
    place.make(changes)?;
    // What it starts meanwhile is there at the next look; what it starts later begins in the place.
    loop {
        let mut moved = false;
        for process in service.processes(on)? {
            let Some(task) = Task::of_process(on, process) else { continue };
            let target = Target::Membership { process, start: task.start };
            let set = changes.set(&target, &place.group);
            let is_gone = || !matches!(target.read(on), Ok(Some(_)));
            moved |= if set.is_err() && is_gone() { false } else { set? };
        }
        if !moved {
            return Ok(());
        }
    }
}

/// Turns all knobs back, the latest first; how many sessions there were, and what was done. The caller holds
/// the lock.
pub fn undo_all(machine: &Machine, force: bool) -> Result<(usize, Undone), Failure> {
    let journal = machine.journal();
    let mut undone = Undone::default();
    let sessions = tuned(&journal)?;
    let count = sessions.len();
    for session in sessions.into_iter().rev() {
        undone.add(undo(&journal, session, force)?);
    }
    // Once, at the end: between two sessions the rest would be kept off anew, and a read-only disk refuses
    // that. The command that removed the last cell may have died before this.
    housekeeping::refresh(machine, &Stop::new(false))?;
    Ok((count, undone))
}
