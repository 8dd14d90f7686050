//! One queue, served out of the order of arrival.

use model::seed::below;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Engine, Request, Sink, Workers};

/// Which of the waiting requests is next.
#[derive(Clone, Debug)]
pub(crate) enum Pick {
    /// The last to come.
    Last,
    /// Any, with equal probability.
    Any(Xoshiro256PlusPlus),
}

/// Workers that pick from one queue (Tales section 2.4, LIFO and random request).
#[derive(Clone, Debug)]
pub(crate) struct Ordered<W> {
    workers: W,
    waiting: Vec<Request>,
    pick: Pick,
}

impl<W: Workers> Ordered<W> {
    pub fn new(workers: W, pick: Pick) -> Ordered<W> {
        Ordered { workers, waiting: Vec::new(), pick }
    }

    /// Serves one of those that wait, of which there is at least one.
    #[inline(always)]
    fn serve_next(&mut self, sink: &mut impl Sink) {
        let place = match &mut self.pick {
            Pick::Last => self.waiting.len() - 1,
            Pick::Any(random) => below(self.waiting.len(), random),
        };
        let next = self.waiting.swap_remove(place);
        self.start(next, self.workers.earliest(), sink);
    }

    #[inline(always)]
    fn start(&mut self, request: Request, at: u64, sink: &mut impl Sink) {
        let completion = self.workers.occupy(at, request.service);
        sink.take(request.number, completion - request.arrival);
    }
}

impl<W: Workers> Engine for Ordered<W> {
    #[inline(always)]
    fn arrive(&mut self, request: Request, sink: &mut impl Sink) {
        while !self.waiting.is_empty() && self.workers.earliest() <= request.arrival {
            self.serve_next(sink);
        }
        if self.workers.earliest() <= request.arrival {
            self.start(request, request.arrival, sink);
        } else {
            self.waiting.push(request);
        }
    }

    fn drain(mut self, sink: &mut impl Sink) {
        while !self.waiting.is_empty() {
            self.serve_next(sink);
        }
    }
}
