//! Closed forms, where there are any.
//!
//! The service time is the unit of time throughout; [`of`] scales to nanoseconds.

mod crommelin;
mod erlang;

use model::law::Law;

use crate::{Discipline, Ideal};
pub use crommelin::MDc;
pub use erlang::{MMc, erlang_c};

/// A latency distribution in closed form, nanoseconds; `None` for a figure that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exact {
    /// The mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// Nine of ten are faster.
    pub p90: Option<f64>,
    /// All but one in a hundred are faster.
    pub p99: Option<f64>,
    /// All but one in a thousand are faster.
    pub p99_9: Option<f64>,
}

/// What is known in closed form of a queue; `None` where that is nothing.
pub fn of(ideal: &Ideal) -> Option<Exact> {
    // Every closed form takes services to be independent of each other.
    if matches!(ideal.services, Law::Mmpp { .. } | Law::Replay(_)) {
        return None;
    }
    let queue = Queue {
        services: &ideal.services,
        workers: ideal.workers,
        utilisation: ideal.utilisation(),
    };
    let unit = match (&ideal.arrivals, ideal.discipline) {
        // Evenly spaced requests of equal length never overlap, unless chance sends two to one worker.
        (Law::Fixed, discipline) => {
            let meets = discipline == Discipline::RandomWorker && ideal.workers > 1;
            (*queue.services == Law::Fixed && !meets).then(|| Exact::of_quantiles(1.0, |_| 1.0))
        }
        (Law::Exponential, discipline) => queue.under(discipline),
        _ => None,
    };
    unit.map(|exact| exact.scaled(ideal.service_time.0 as f64))
}

/// Mean latency of M/G/1, first come, first served (Pollaczek and Khinchine): services of mean 1.
///
/// `None` where the squared coefficient of variation of services is: the mean is infinite then.
pub fn pollaczek_khinchine(services: &Law, utilisation: f64) -> Option<f64> {
    let squared_cv = services.squared_cv()?;
    Some(1.0 + utilisation * (1.0 + squared_cv) / (2.0 * (1.0 - utilisation)))
}

/// A queue with Poisson arrivals.
struct Queue<'a> {
    services: &'a Law,
    workers: u32,
    utilisation: f64,
}

impl Queue<'_> {
    fn under(self, discipline: Discipline) -> Option<Exact> {
        let alone = self.workers == 1;
        match discipline {
            Discipline::Fifo => self.fifo(),
            Discipline::RoundRobin if alone => self.fifo(),
            // The arrivals of each worker are Poisson again.
            Discipline::RandomWorker => Queue { workers: 1, ..self }.fifo(),
            // Which of the waiting is served says nothing of its service time, so the sum of waits stays.
            Discipline::Lifo | Discipline::RandomRequest => {
                Some(Exact { mean: self.fifo()?.mean, ..Exact::default() })
            }
            // Insensitive: as with exponential services, of which only the mean counts (Kelly 1979, section
            // 3.3).
            Discipline::ProcessorSharing => {
                let mean = MMc::new(self.workers, self.utilisation)?.mean();
                Some(Exact { mean: Some(mean), ..Exact::default() })
            }
            Discipline::RoundRobin => None,
        }
    }

    fn fifo(&self) -> Option<Exact> {
        match self.services {
            Law::Fixed => {
                let queue = MDc::new(self.workers, self.utilisation)?;
                Some(Exact::of_quantiles(queue.mean(), |p| queue.quantile(p)))
            }
            Law::Exponential => {
                let queue = MMc::new(self.workers, self.utilisation)?;
                Some(Exact::of_quantiles(queue.mean(), |p| queue.quantile(p)))
            }
            services if self.workers == 1 => {
                let mean = pollaczek_khinchine(services, self.utilisation)?;
                Some(Exact { mean: Some(mean), ..Exact::default() })
            }
            _ => None,
        }
    }
}

impl Exact {
    fn of_quantiles(mean: f64, quantile: impl Fn(f64) -> f64) -> Exact {
        Exact {
            mean: Some(mean),
            p50: Some(quantile(0.5)),
            p90: Some(quantile(0.9)),
            p99: Some(quantile(0.99)),
            p99_9: Some(quantile(0.999)),
        }
    }

    fn scaled(self, unit: f64) -> Exact {
        let scale = |figure: Option<f64>| figure.map(|x| x * unit);
        Exact {
            mean: scale(self.mean),
            p50: scale(self.p50),
            p90: scale(self.p90),
            p99: scale(self.p99),
            p99_9: scale(self.p99_9),
        }
    }
}

/// The least x from `from` on at which a function that falls to 0 is at most `target`, to the last bits.
fn falls_to(target: f64, from: f64, beyond: impl Fn(f64) -> f64) -> f64 {
    if beyond(from) <= target {
        return from;
    }
    let mut high = from + 1.0;
    while beyond(high) > target {
        high = from + 2.0 * (high - from);
    }
    let mut low = from;
    while high - low > 4.0 * f64::EPSILON * high {
        let middle = low.midpoint(high);
        if beyond(middle) > target { low = middle } else { high = middle }
    }
    high
}
