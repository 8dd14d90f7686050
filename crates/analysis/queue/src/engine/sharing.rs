//! Processor sharing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Engine, Request, Sink};

/// All requests present are served at once, at the speed min(1, workers / present).
///
/// In virtual time, the service that each request present has had since the workers were last idle, a request
/// is completed a fixed span after it arrived: a heap of those moments replaces the update of all requests
/// at each event.
#[derive(Clone, Debug)]
pub(crate) struct Sharing {
    workers: f64,
    /// (virtual completion in bits, which order as the positive number does; number; arrival)
    present: BinaryHeap<Reverse<(u64, u64, u64)>>,
    virtual_ns: f64,
    now_ns: f64,
}

impl Sharing {
    /// As many workers, at least 1, all idle.
    pub fn new(workers: u32) -> Sharing {
        Sharing {
            workers: workers.into(),
            present: BinaryHeap::new(),
            virtual_ns: 0.0,
            now_ns: 0.0,
        }
    }

    /// Service that each one present gets in a nanosecond.
    fn speed(&self) -> f64 {
        (self.workers / self.present.len() as f64).min(1.0)
    }

    /// Completes all requests that are done by `until`.
    fn advance(&mut self, until: f64, sink: &mut impl Sink) {
        while let Some(&Reverse((completion, number, arrival))) = self.present.peek() {
            let completion = f64::from_bits(completion);
            let at = self.now_ns + (completion - self.virtual_ns) / self.speed();
            if at > until {
                self.virtual_ns += (until - self.now_ns) * self.speed();
                break;
            }
            self.present.pop();
            (self.now_ns, self.virtual_ns) = (at, completion);
            sink.take(number, at.round() as u64 - arrival);
        }
        // Back to zero whenever possible, where doubles are finest.
        if self.present.is_empty() {
            self.virtual_ns = 0.0;
        }
        self.now_ns = until;
    }
}

impl Engine for Sharing {
    fn arrive(&mut self, request: Request, sink: &mut impl Sink) {
        self.advance(request.arrival as f64, sink);
        let completion = (self.virtual_ns + request.service as f64).to_bits();
        self.present.push(Reverse((completion, request.number, request.arrival)));
    }

    fn drain(mut self, sink: &mut impl Sink) {
        self.advance(f64::INFINITY, sink);
    }
}
