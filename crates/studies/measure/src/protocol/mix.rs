//! Several kinds of requests in one load: which one it is, each request draws by the kinds' weights.

use generator::{Ask, Greeting, Protocol, ReceivedBytes, Verdict};
use model::seed::derive;

/// What the draw is of, beside the request's number: templates draw from the same random number.
const KIND: u64 = 1;

/// The draw of a kind.
#[derive(Clone, Debug)]
pub struct Weights {
    /// The sum of the weights up to each kind, in rising order.
    up_to: Vec<u64>,
}

/// Kinds of requests of one protocol.
pub struct Mix {
    weights: Weights,
    /// How each is asked.
    kinds: Vec<Box<dyn Protocol>>,
}

impl Weights {
    /// Weights of 1 and more. Panics without any.
    pub fn new(weights: impl Iterator<Item = u64>) -> Weights {
        let running = |sum: &mut u64, weight| {
            *sum += weight;
            Some(*sum)
        };
        let up_to: Vec<u64> = weights.scan(0, running).collect();
        assert!(!up_to.is_empty(), "a mix of something");
        Weights { up_to }
    }

    /// The number of a request's kind, the same whenever it is asked for.
    pub fn kind(&self, ask: &Ask) -> usize {
        let sum = self.up_to[self.up_to.len() - 1];
        let drawn = derive(u64::from(ask.planned.random), &[ask.id, KIND]) % sum;
        self.up_to.partition_point(|up_to| *up_to <= drawn)
    }
}

impl Mix {
    /// Kinds with their weights, as many of the one as of the other.
    pub fn new(weights: Weights, kinds: Vec<Box<dyn Protocol>>) -> Mix {
        Mix { weights, kinds }
    }

    fn kind(&mut self, ask: &Ask) -> &mut dyn Protocol {
        &mut *self.kinds[self.weights.kind(ask)]
    }
}

impl Protocol for Mix {
    fn greeting(&self) -> Option<Box<dyn Greeting>> {
        self.kinds[0].greeting()
    }

    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        self.kind(ask).encode(ask, out);
    }

    fn decode(&mut self, ask: &Ask, received: &ReceivedBytes) -> Verdict {
        self.kind(ask).decode(ask, received)
    }
}
