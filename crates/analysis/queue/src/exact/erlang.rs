//! M/M/c: Poisson arrivals, exponential services of mean 1.

use super::falls_to;

/// The probability that a request has to wait in M/M/c (Erlang 1917): `workers` at least 1, utilisation 0 to
/// below 1.
pub fn erlang_c(workers: u32, utilisation: f64) -> f64 {
    let load = f64::from(workers) * utilisation;
    // The loss formula by its recursion, which neither overflows nor cancels for any number of workers.
    let loss = (1..=workers).fold(1.0, |loss, c| load * loss / (f64::from(c) + load * loss));
    loss / (1.0 - utilisation * (1.0 - loss))
}

/// An M/M/c queue, first come, first served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MMc {
    wait_probability: f64,
    /// Completions that are to spare in a service time while all workers are busy.
    spare: f64,
}

impl MMc {
    /// `None` unless there are workers and the utilisation is from 0 to below 1.
    pub fn new(workers: u32, utilisation: f64) -> Option<MMc> {
        let stable = workers > 0 && (0.0..1.0).contains(&utilisation);
        stable.then(|| MMc {
            wait_probability: erlang_c(workers, utilisation),
            spare: f64::from(workers) * (1.0 - utilisation),
        })
    }

    /// The mean latency.
    pub fn mean(&self) -> f64 {
        1.0 + self.wait_probability / self.spare
    }

    /// The proportion of latencies above `t`: e^-t + C (e^-t - e^-kt) / (k - 1), k = c (1 - rho).
    ///
    /// The slower of the two exponentials stands before the difference. Near full load e^-t is below every
    /// number long before the tail is.
    pub fn beyond(&self, t: f64) -> f64 {
        let apart = (self.spare - 1.0).abs();
        let wait = if apart == 0.0 { t } else { -(-apart * t).exp_m1() / apart };
        (-t).exp() + self.wait_probability * (-self.spare.min(1.0) * t).exp() * wait
    }

    /// The latency that a proportion `p`, 0 to below 1, does not exceed.
    pub fn quantile(&self, p: f64) -> f64 {
        falls_to(1.0 - p, 0.0, |t| self.beyond(t))
    }
}
