//! Who hears of every scheduling event of a run, as it happens: a recorder, a checker.

use model::change::Change;
use model::event::Event;

/// Hears of every event, in order. It cannot change the run.
pub trait Observer {
    /// Whether it listens at all. A run that nobody listens to is compiled without its events, so that they cost nothing.
    const LISTENS: bool = true;

    /// An event has happened.
    fn on(&mut self, event: &Event);

    /// The machine or a thread is not what it was, from this moment on.
    fn changed(&mut self, _change: &Change) {}
}

/// Nobody listens.
impl Observer for () {
    const LISTENS: bool = false;

    fn on(&mut self, _event: &Event) {}
}

/// The recorder.
impl Observer for Vec<Event> {
    fn on(&mut self, event: &Event) {
        self.push(*event);
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
}
