//! One service that is followed: what is slow, what was seen of it, and what waits to be explained.

use std::collections::VecDeque;

use model::Nanos;
use recorder::Threshold;
use tracer::Ended;

/// Slow requests that wait to be explained, at most.
const MOST_PENDING: usize = 64;
const MINUTE: Nanos = Nanos::from_secs(60);

/// What was seen of a service.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Requests that were answered.
    pub requests: u64,
    /// Those over the threshold.
    pub slow: u64,
    /// Of these, those for which another one of their event stands.
    pub same_event: u64,
    /// Those that are less slow than others of their minute.
    pub less_slow: u64,
    /// Those that could not be explained in time.
    pub late: u64,
}

/// The greatest of a minute and of the one before: a scrape that comes each minute misses none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greatest {
    minute: u64,
    of_minute: Nanos,
    before: Nanos,
}

impl Greatest {
    /// Takes up what was seen.
    fn take_up(&mut self, now: Nanos, seen: impl Iterator<Item = Nanos>) {
        let minute = now.0 / MINUTE.0;
        if minute != self.minute {
            let is_next = minute == self.minute + 1;
            self.before = if is_next { self.of_minute } else { Nanos::ZERO };
            (self.minute, self.of_minute) = (minute, Nanos::ZERO);
        }
        self.of_minute = seen.fold(self.of_minute, Nanos::max);
    }

    /// The greatest.
    pub fn get(self) -> Nanos {
        self.of_minute.max(self.before)
    }
}

/// A service.
pub struct Service {
    /// Its port.
    pub port: u16,
    /// What is slow.
    pub threshold: Threshold,
    /// What was seen.
    pub counts: Counts,
    /// The slowest request.
    pub slowest: Greatest,
    /// The longest wait of a thread that had a request, for a CPU.
    pub longest_wait: Greatest,
    /// Slow requests in the order of their begin, each with the threshold then.
    pub pending: VecDeque<(Ended, Nanos)>,
    listens: Option<bool>,
}

impl Service {
    /// Of a port, slow from this latency on; `None`: learned.
    pub fn new(port: u16, slower_than: Option<Nanos>) -> Service {
        let threshold = slower_than.map_or_else(Threshold::learned, Threshold::Fixed);
        let (counts, pending) = (Counts::default(), VecDeque::new());
        let (slowest, longest_wait) = (Greatest::default(), Greatest::default());
        Service { port, threshold, counts, slowest, longest_wait, pending, listens: None }
    }

    /// Says whether a process listens at the port, where that has changed. The hooks know the port alone, so
    /// one that comes later is followed as well.
    pub fn look_for_listener(&mut self) {
        let (port, listens) = (self.port, measure::check_listening(self.port).is_ok());
        match (self.listens.replace(listens), listens) {
            (None | Some(true), false) => {
                anstream::eprintln!("port {port}: no process listens there; it is waited for");
            }
            (Some(false), true) => anstream::eprintln!("port {port}: a process listens there now"),
            _ => {}
        }
    }

    /// Takes up requests that have ended.
    pub fn take_up(&mut self, ended: Vec<Ended>, now: Nanos) {
        self.counts.requests += ended.len() as u64;
        self.slowest.take_up(now, ended.iter().map(|one| one.stages.latency()));
        let wait = |one: &Ended| one.stages.running.saturating_sub(one.stages.ready);
        self.longest_wait.take_up(now, ended.iter().map(wait));
        let threshold = self.threshold.now();
        self.threshold.learn(now, ended.iter().map(|one| one.stages.latency()));
        let Some(threshold) = threshold else { return };
        let is_slow = |one: &Ended| one.stages.latency() > threshold;
        let mut slow: Vec<Ended> = ended.into_iter().filter(is_slow).collect();
        self.counts.slow += slow.len() as u64;
        slow.sort_by_key(|one| one.stages.arrived);
        for one in worst_of_events(slow, &mut self.counts.same_event) {
            if self.pending.len() < MOST_PENDING {
                self.pending.push_back((one, threshold));
            } else {
                self.counts.late += 1;
            }
        }
    }
}

/// The slowest of those that overlap, of requests in the order of their begin.
fn worst_of_events(slow: Vec<Ended>, same_event: &mut u64) -> Vec<Ended> {
    let mut worst: Vec<Ended> = Vec::new();
    let mut until = Nanos::ZERO;
    for one in slow {
        match worst.last_mut().filter(|_| one.stages.arrived < until) {
            Some(last) => {
                *same_event += 1;
                if one.stages.latency() > last.stages.latency() {
                    *last = one;
                }
            }
            None => worst.push(one),
        }
        until = until.max(one.stages.transmitted);
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_is_that_of_a_minute_and_of_the_one_before() {
        let mut greatest = Greatest::default();
        let mut after = |seconds: u64, seen: &[u64]| {
            greatest.take_up(Nanos::from_secs(seconds), seen.iter().map(|ns| Nanos(*ns)));
            greatest.get().0
        };
        assert_eq!(after(61, &[5, 9, 3]), 9);
        assert_eq!(after(62, &[7]), 9);
        assert_eq!(after(121, &[2]), 9, "of the minute before");
        assert_eq!(after(181, &[]), 2);
        assert_eq!(after(182, &[4]), 4);
        assert_eq!(after(600, &[]), 0, "none for minutes");
    }
}
