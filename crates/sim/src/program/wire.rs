//! Requests that are sent and not delivered, where they come by interrupts.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Between a service's client and the interrupts of its machine.
pub struct Wire {
    /// Connections whose request is sent and not delivered.
    pub sent: Vec<u32>,
    /// The share of the requests let go by a response that are there before its worker sleeps.
    found: f64,
    lots: Xoshiro256PlusPlus,
}

impl Wire {
    /// Nothing sent yet.
    pub fn new(found: f64, seed: u64) -> Wire {
        Wire { sent: Vec::new(), found, lots: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Whether the next request that a response lets go is one of these, by lot.
    pub fn is_fast(&mut self) -> bool {
        self.found > 0.0 && self.lots.random::<f64>() < self.found
    }
}
