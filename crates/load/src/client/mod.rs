//! The open-loop client: requests at their intended moments, whatever the server does.

mod generator;
mod link;
mod selfcheck;

pub use generator::Generator;
pub use link::Link;
pub use selfcheck::faults;

use model::Nanos;
use model::workload::Planned;

use crate::wire::Stamps;

/// A request as the client knows it. Moments count from the start of the run; [`Nanos::NEVER`]: it did not come.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// When it should be sent and what it asks for.
    pub planned: Planned,
    /// The first moment at which it could be sent: its intended one, or later when a connection became free for it.
    pub ready: Nanos,
    /// When it was sent.
    pub sent: Nanos,
    /// What the server wrote into the response.
    pub stamps: Option<Stamps>,
    /// When the response was back on this side, by the kernel's stamp.
    pub received: Nanos,
}

impl Record {
    fn new(planned: Planned) -> Record {
        let never = Nanos::NEVER;
        Record { planned, ready: never, sent: never, stamps: None, received: never }
    }

    /// The record with its moments, which are on CLOCK_MONOTONIC, counted from `start`.
    fn since(mut self, start: Nanos) -> Record {
        let stamps = self.stamps.iter_mut().flat_map(|s| [&mut s.started, &mut s.completed]);
        for moment in
            [&mut self.ready, &mut self.sent, &mut self.received].into_iter().chain(stamps)
        {
            if *moment != Nanos::NEVER {
                *moment = moment.saturating_sub(start);
            }
        }
        self
    }

    /// From the intended moment to the response; [`Nanos::NEVER`] without one.
    fn latency(&self) -> Nanos {
        if self.received == Nanos::NEVER {
            return Nanos::NEVER;
        }
        self.received.saturating_sub(self.planned.intended)
    }
}
