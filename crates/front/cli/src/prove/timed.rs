//! The time that a command may take.

use std::time::Instant;

use model::{Nanos, Watch};

/// The user's watch with an end: when the time is up, what is under way is interrupted.
pub struct Timed<'a> {
    user: &'a dyn Watch,
    begin: Instant,
    time: Nanos,
}

impl Timed<'_> {
    /// From now on.
    pub fn new(user: &dyn Watch, time: Nanos) -> Timed<'_> {
        Timed { user, begin: Instant::now(), time }
    }

    /// Since the beginning.
    pub fn elapsed(&self) -> Nanos {
        Nanos(u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Until the end.
    pub fn left(&self) -> Nanos {
        self.time.saturating_sub(self.elapsed())
    }

    /// Whether the user wants to stop, and not the time.
    pub fn user_stops(&self) -> bool {
        self.user.cancelled()
    }
}

impl Watch for Timed<'_> {
    /// What is under way does not know how much of the time it is.
    fn progress(&self, _done: f64) {
        self.user.progress(self.elapsed().as_secs_f64() / self.time.as_secs_f64());
    }

    fn cancelled(&self) -> bool {
        self.user_stops() || self.left() == Nanos::ZERO
    }
}
