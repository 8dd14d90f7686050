//! Whether the ideal of a service can be one.

use model::Nanos;

use crate::explanation::Service;
use crate::finding::p99_9;
use crate::split::Explained;

/// A tail and its ideal that are no further apart than this are the same: the load's.
const NEAR: f64 = 1.25;
/// The part of all service times that was never done from which on they are not those of the requests.
const UNSPENT: f64 = 0.5;

/// How an ideal stands to what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The tail is its ideal's.
    Near,
    /// The tail is longer.
    Below,
    /// No server is that much faster than its ideal: the ideal's service time is longer than requests have,
    /// as where it holds what other threads of the service do.
    Impossible,
}

impl Service {
    pub(crate) fn standing(&self) -> Standing {
        let tail = |of: fn(&Explained) -> Nanos| p99_9(self.requests.iter().map(of)).0 as f64;
        let (measured, ideal) = (tail(|one| one.latency), tail(|one| one.ideal));
        match measured {
            _ if self.unspent() > UNSPENT || ideal > NEAR * measured => Standing::Impossible,
            measured if measured <= NEAR * ideal => Standing::Near,
            _ => Standing::Below,
        }
    }

    /// Whether there is an ideal: one that is impossible is none.
    pub(crate) fn has_ideal(&self) -> bool {
        self.standing() != Standing::Impossible
    }

    /// What requests took less than their service times, as a part of these.
    fn unspent(&self) -> f64 {
        let all: u64 = self.requests.iter().map(|one| one.service.0).sum();
        let less: u64 = self.requests.iter().map(|one| one.other.min(0).unsigned_abs()).sum();
        less as f64 / all.max(1) as f64
    }
}
