//! Several kinds of requests in one load: which one it is, each request draws by the kinds' weights.

use generator::{Ask, Greeting, Protocol, ReceivedBytes, Verdict};
use model::seed::derive;

/// What the draw is of, beside the request's number: templates draw from the same random number.
const KIND: u64 = 1;

/// Kinds of requests of one protocol.
pub struct Mix {
    /// The sum of the weights up to each, in rising order, and how it is asked.
    kinds: Vec<(u64, Box<dyn Protocol>)>,
}

impl Mix {
    /// Weights of 1 and more, and what has them. Panics without any.
    pub fn new(weighted: impl Iterator<Item = (u64, Box<dyn Protocol>)>) -> Mix {
        let mut sum = 0;
        let up_to = |(weight, kind)| {
            sum += weight;
            (sum, kind)
        };
        let kinds: Vec<_> = weighted.map(up_to).collect();
        assert!(!kinds.is_empty(), "a mix of something");
        Mix { kinds }
    }

    /// The kind of a request, the same whenever it is asked for.
    fn kind(&mut self, ask: &Ask) -> &mut dyn Protocol {
        let last = self.kinds.len() - 1;
        let drawn = derive(u64::from(ask.planned.random), &[ask.id, KIND]) % self.kinds[last].0;
        let at = self.kinds.partition_point(|(sum, _)| *sum <= drawn);
        &mut *self.kinds[at].1
    }
}

impl Protocol for Mix {
    fn greeting(&self) -> Option<Box<dyn Greeting>> {
        self.kinds[0].1.greeting()
    }

    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        self.kind(ask).encode(ask, out);
    }

    fn decode(&mut self, ask: &Ask, received: &ReceivedBytes) -> Verdict {
        self.kind(ask).decode(ask, received)
    }
}
