//! Copies in several queues that know of each other: whichever is served first cancels the others (Dean and
//! Barroso 2013, "tied requests"). Picks the queue that turns out shorter, without doing the work twice; only
//! messages that cross on the network let two be served.
//!
//! The second copy follows two network delays after the first, so that on idle servers the cancellation is
//! there before it.

use super::Rule;

pub(super) struct Tied {
    pub copies: u32,
    pub apart_ns: u64,
}

impl Rule for Tied {
    fn at_once(&self) -> u32 {
        if self.apart_ns == 0 { self.copies } else { 1 }
    }

    fn another_after(&mut self, sent: u32) -> Option<u64> {
        (self.apart_ns > 0 && sent < self.copies).then_some(self.apart_ns)
    }

    fn start_cancels(&self) -> bool {
        true
    }
}
