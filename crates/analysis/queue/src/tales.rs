//! Figures 1 to 4 of "Tales of the Tail" (section 2), simulated.

use model::law::Law;
use model::scenario::Arrivals;
use model::{Failure, Nanos, Watch};

use crate::{Discipline, Ideal, IdealResult};

/// A figure: ideal queues beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The queues in the order of the legend, each with the name that tells it from the others.
    pub queues: Vec<(String, Ideal)>,
}

/// One of the figures, to be simulated with `requests` a curve.
///
/// [`Failure::Input`] for a number other than 1 to 4.
pub fn figure(number: u32, requests: u64, seed: u64) -> Result<Figure, Failure> {
    let base = Ideal {
        arrivals: Law::Exponential,
        load: Arrivals::Utilisation(0.7),
        services: Law::Fixed,
        service_time: Nanos::from_micros(50),
        workers: 1,
        discipline: Discipline::Fifo,
        requests,
        seed,
    };
    match number {
        1 => Ok(arrival_laws(&base)),
        2 => Ok(utilisations(&base)),
        3 => Ok(workers(&base)),
        4 => Ok(disciplines(&base)),
        _ => Err(Failure::Input(format!(
            "figure {number}: Tales has ideal queues in figures 1 to 4"
        ))),
    }
}

impl Figure {
    /// Simulates its queues one after the other.
    pub fn run(&self, watch: &dyn Watch) -> Result<Vec<IdealResult>, Failure> {
        let count = self.queues.len() as f64;
        let results = self.queues.iter().enumerate().map(|(i, (_, ideal))| {
            ideal.run(&Part { whole: watch, from: i as f64 / count, share: 1.0 / count })
        });
        results.collect()
    }
}

/// The progress of one run as part of the figure's.
pub struct Part<'a> {
    /// The observer of all parts.
    pub whole: &'a dyn Watch,
    /// What was done before, 0 to 1.
    pub from: f64,
    /// How much of the whole this is.
    pub share: f64,
}

impl Watch for Part<'_> {
    fn progress(&self, done: f64) {
        self.whole.progress(self.from + self.share * done);
    }

    fn cancelled(&self) -> bool {
        self.whole.cancelled()
    }
}

/// Tales section 2.1: one worker at 70%. Its Wikipedia trace is not published, nor are the parameters of its
/// laws: these are ours.
fn arrival_laws(base: &Ideal) -> Figure {
    let laws = [
        Law::Fixed,
        Law::Exponential,
        Law::Lognormal { cv: 2.0 },
        Law::Weibull { shape: 0.5 },
        Law::Pareto { shape: 1.5 },
        Law::Mmpp { ratio: 4.0, share: 0.2, length: 20.0 },
    ];
    let queue = |law: Law| {
        let name = if law == Law::Exponential { "poisson".to_string() } else { law.to_string() };
        (name, Ideal { arrivals: law, ..base.clone() })
    };
    Figure { queues: laws.map(queue).into() }
}

/// Tales section 2.2: one worker.
fn utilisations(base: &Ideal) -> Figure {
    let queue = |percent: u32| {
        let load = Arrivals::Utilisation(f64::from(percent) / 100.0);
        (format!("{percent}%"), Ideal { load, ..base.clone() })
    };
    Figure { queues: [50, 60, 70, 80, 90, 95].map(queue).into() }
}

/// Tales section 2.3: at 70%.
fn workers(base: &Ideal) -> Figure {
    let queue = |workers: u32| {
        let plural = if workers == 1 { "" } else { "s" };
        (format!("{workers} worker{plural}"), Ideal { workers, ..base.clone() })
    };
    Figure { queues: [1, 2, 4, 8, 16].map(queue).into() }
}

/// Tales section 2.4: four workers at 80%.
fn disciplines(base: &Ideal) -> Figure {
    let queue = |discipline: Discipline| {
        let load = Arrivals::Utilisation(0.8);
        (discipline.to_string(), Ideal { discipline, load, workers: 4, ..base.clone() })
    };
    let order =
        [Discipline::Fifo, Discipline::Lifo, Discipline::RandomRequest, Discipline::RandomWorker];
    Figure { queues: order.map(queue).into() }
}
