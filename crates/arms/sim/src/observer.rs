//! An observer is told every scheduling event of a run, as it happens: a log, a checker.

use model::change::{Change, ChangeKind};
use model::event::{Event, Tables, What};
use model::{Nanos, ThreadId};

/// Hears of every event, in order. It cannot change the run.
pub trait Observer {
    /// Whether it listens at all. A run without a listener is compiled without its events, so that they
    /// cost nothing.
    const LISTENS: bool = true;

    /// An event has happened.
    fn on(&mut self, event: &Event);

    /// The machine or a thread is not what it was, from this moment on.
    fn changed(&mut self, _change: &Change) {}

    /// A thread is about to be woken for a request that is at the machine since `at`, or has read it.
    fn stamped(&mut self, _thread: ThreadId, _at: Nanos) {}
}

/// No listener.
impl Observer for () {
    const LISTENS: bool = false;

    fn on(&mut self, _event: &Event) {}
}

/// Keeps everything, changes as events among the others.
#[derive(Default)]
pub struct EventLog {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// The sets of CPUs that events refer to.
    pub tables: Tables,
}

impl EventLog {
    /// Threads that are created and that exit are seen as such: they fork, and block for good.
    fn change(&mut self, kind: &ChangeKind) -> Option<What> {
        Some(match kind {
            ChangeKind::Affinity { thread, cpus } => {
                What::Affinity { thread: *thread, cpus: self.tables.cpu_set(cpus) }
            }
            ChangeKind::Nice { thread, nice } => What::Nice { thread: *thread, nice: *nice },
            ChangeKind::Weight { group, weight } => {
                What::Weight { group: *group as u32, weight: *weight }
            }
            ChangeKind::Offline(cpu) => What::Offline { cpu: *cpu },
            ChangeKind::Online(cpu) => What::Online { cpu: *cpu },
            ChangeKind::Max { .. }
            | ChangeKind::Idle { .. }
            | ChangeKind::Move { .. }
            | ChangeKind::Fork(_)
            | ChangeKind::Exit(_) => return None,
        })
    }
}

impl Observer for EventLog {
    fn on(&mut self, event: &Event) {
        self.events.push(*event);
    }

    fn changed(&mut self, change: &Change) {
        let what = self.change(&change.kind);
        self.events.extend(what.map(|what| Event { at: change.at, what }));
    }
}

impl<O: Observer> Observer for &mut O {
    const LISTENS: bool = O::LISTENS;

    fn on(&mut self, event: &Event) {
        (**self).on(event);
    }

    fn changed(&mut self, change: &Change) {
        (**self).changed(change);
    }

    fn stamped(&mut self, thread: ThreadId, at: Nanos) {
        (**self).stamped(thread, at);
    }
}
