//! A second copy to another server where the first has not answered within a short delay, for example the
//! 95th percentile: hedged requests (Dean and Barroso 2013; 10-ms computing section V.B, "reissue"). Costs a
//! few percent of requests more and cuts a tail that one slow server makes, as long as the other servers have
//! time to spare.

use hdrhistogram::Histogram;

use super::{Cancel, Rule, Wait};

/// Answers that a quantile must rest on before anything is reissued.
const ENOUGH: u64 = 1_000;

pub(super) struct Reissue {
    copies: u32,
    cancel: Cancel,
    delay_ns: Option<u64>,
    learner: Option<Learner>,
}

/// The quantile of all answers so far. It is that of a service without reissue too: a second copy changes
/// only latencies beyond the delay.
struct Learner {
    quantile: f64,
    answers: Histogram<u64>,
    /// The delay is worked out anew whenever there are a tenth more answers.
    next: u64,
}

impl Reissue {
    pub fn new(wait: Wait, copies: u32, cancel: Cancel) -> Reissue {
        let (delay_ns, learner) = match wait {
            Wait::Delay(delay) => (Some(delay.0), None),
            Wait::Quantile(quantile) => {
                let answers = Histogram::new(3).expect("three digits are allowed");
                (None, Some(Learner { quantile, answers, next: ENOUGH }))
            }
        };
        Reissue { copies, cancel, delay_ns, learner }
    }
}

impl Rule for Reissue {
    fn another_after(&mut self, sent: u32) -> Option<u64> {
        self.delay_ns.filter(|_| sent < self.copies)
    }

    fn answer_cancels(&self) -> Cancel {
        self.cancel
    }

    fn learn(&mut self, latency_ns: u64) {
        let Some(learner) = &mut self.learner else { return };
        learner.answers.record(latency_ns).expect("it grows with what it holds");
        if learner.answers.len() >= learner.next {
            learner.next += learner.next / 10;
            self.delay_ns = Some(learner.answers.value_at_quantile(learner.quantile));
        }
    }
}
