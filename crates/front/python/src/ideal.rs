//! Ideal queues.

use ::compare::ideals;
use model::scenario::Arrivals;
use model::{Failure, Nanos, units};
use pyo3::prelude::*;
use queue::{Discipline, Ideal};
use report::Curve;

use crate::failure::{exception, wrong};
use crate::results::Results;
use crate::samples::Samples;
use crate::work::work;

/// A number, or a text with a unit.
#[derive(FromPyObject)]
pub enum Quantity<T> {
    #[pyo3(transparent)]
    Number(T),
    #[pyo3(transparent)]
    Text(String),
}

impl<T: ToString> Quantity<T> {
    fn read(self, read: fn(&str) -> Result<T, String>) -> PyResult<T> {
        match self {
            Quantity::Number(number) => Ok(number),
            Quantity::Text(text) => read(&text).map_err(wrong),
        }
    }

    fn word(&self) -> String {
        match self {
            Quantity::Number(number) => number.to_string(),
            Quantity::Text(text) => text.clone(),
        }
    }
}

/// Simulates an ideal queue.
#[pyfunction]
#[pyo3(signature = (*, arrivals, rate, utilisation, service, service_time, workers, discipline, requests, seed, progress))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the command")]
pub fn ideal(
    py: Python,
    arrivals: &str,
    rate: Option<Quantity<f64>>,
    utilisation: f64,
    service: &str,
    service_time: &str,
    workers: u32,
    discipline: &str,
    requests: Quantity<u64>,
    seed: u64,
    progress: Option<&Bound<PyAny>>,
) -> PyResult<Results> {
    let mut words: Vec<String> = ["rearguard", "ideal"].map(str::to_string).to_vec();
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    option("arrivals", arrivals.to_string());
    match &rate {
        // A number alone is a rate a second here, and a command wants the unit.
        Some(Quantity::Number(rate)) => option("rate", format!("{rate}/s")),
        Some(Quantity::Text(rate)) => option("rate", rate.clone()),
        None => option("utilisation", utilisation.to_string()),
    }
    option("service", service.to_string());
    option("service-time", service_time.to_string());
    option("workers", workers.to_string());
    option("discipline", discipline.to_string());
    option("requests", requests.word());
    option("seed", seed.to_string());
    words.push("--json".to_string());
    let rate = rate.map(|rate| rate.read(units::rate_per_s)).transpose()?;
    let queue = Ideal {
        arrivals: arrivals.parse().map_err(exception)?,
        load: rate.map_or(Arrivals::Utilisation(utilisation), Arrivals::Rate),
        services: service.parse().map_err(exception)?,
        service_time: units::duration(service_time).map_err(wrong)?,
        workers,
        discipline: self::discipline(discipline)?,
        requests: requests.read(units::count)?,
        seed,
    };
    let curve = work(py, progress, |watch| ideals::drawn(&queue, watch))?;
    Ok(document(words, Some(seed), curve))
}

/// Replays requests, each an arrival and a service, in an ideal queue.
#[pyfunction]
#[pyo3(signature = (arrivals_ns, services_ns, *, workers, discipline, seed))]
pub fn replay(
    py: Python,
    arrivals_ns: Samples,
    services_ns: Samples,
    workers: u32,
    discipline: &str,
    seed: u64,
) -> PyResult<Results> {
    let (arrivals, services) = (arrivals_ns.0, services_ns.0);
    if arrivals.len() != services.len() {
        let (a, s) = (arrivals.len(), services.len());
        return Err(wrong(format!("{a} arrivals and {s} services: expected as many of each")));
    }
    let requests: Vec<(Nanos, Nanos)> = arrivals.into_iter().zip(services).collect();
    let discipline = self::discipline(discipline)?;
    let curve = work(py, None, |_| ideals::traced(&requests, workers, discipline, seed))?;
    Ok(document(Vec::new(), None, curve))
}

fn discipline(word: &str) -> PyResult<Discipline> {
    word.parse().map_err(|failure: Failure| exception(failure))
}

fn document(command: Vec<String>, seed: Option<u64>, curve: Curve) -> Results {
    let schema = report::IDEAL_SCHEMA.to_string();
    let version = env!("CARGO_PKG_VERSION").to_string();
    Results::of(report::Ideal { schema, command, version, seed, curve, measured: None })
}
