//! One queue, first come, first served.

use super::{Engine, Request, Sink, Workers};

/// First come, first served: the recursion of Kiefer and Wolfowitz (1955). Nothing ever waits in a queue
/// here: a request's start is known when it arrives, since no later request goes first.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<W>(pub W);

impl<W: Workers> Engine for Fifo<W> {
    #[inline(always)]
    fn arrive(&mut self, request: Request, sink: &mut impl Sink) {
        let start = request.arrival.max(self.0.earliest());
        let completion = self.0.occupy(start, request.service);
        sink.take(request.number, completion - request.arrival);
    }

    fn drain(self, _sink: &mut impl Sink) {}
}
