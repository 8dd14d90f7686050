//! A queue a worker.

use model::seed::below;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Engine, Request, Sink};

/// Which worker a request is given to.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    /// One after the other, from this one on.
    InTurn(usize),
    /// Any, with equal probability.
    Random(Xoshiro256PlusPlus),
}

/// Workers that each serve a queue of their own, first come, first served (Tales section 2.4, random worker).
#[derive(Clone, Debug)]
pub(crate) struct Split {
    free: Box<[u64]>,
    turn: Turn,
}

impl Split {
    /// As many workers, at least 1, all free.
    pub fn new(workers: u32, turn: Turn) -> Split {
        Split { free: vec![0; workers as usize].into(), turn }
    }

    #[inline(always)]
    fn worker(&mut self) -> usize {
        match &mut self.turn {
            Turn::InTurn(next) => {
                let worker = *next;
                *next = if worker + 1 == self.free.len() { 0 } else { worker + 1 };
                worker
            }
            Turn::Random(random) => below(self.free.len(), random),
        }
    }
}

impl Engine for Split {
    #[inline(always)]
    fn arrive(&mut self, request: Request, sink: &mut impl Sink) {
        let worker = self.worker();
        let completion = request.arrival.max(self.free[worker]) + request.service;
        self.free[worker] = completion;
        sink.take(request.number, completion - request.arrival);
    }

    fn drain(self, _sink: &mut impl Sink) {}
}
