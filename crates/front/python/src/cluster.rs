//! Clusters of servers.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use ::cluster::Cluster;
use model::scenario::Arrivals;
use model::{Failure, PolicySpec};
use pyo3::prelude::*;

use crate::compare::span;
use crate::failure::{exception, wrong};
use crate::results::Results;
use crate::work::work;

/// Simulates the cases of a cluster file; what is given stands for what the file says.
#[pyfunction]
#[pyo3(signature = (path, *, utilisation, dispatch, redundancy, policy, duration, seed, jobs, progress))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the command")]
pub fn cluster(
    py: Python,
    path: PathBuf,
    utilisation: Vec<f64>,
    dispatch: Vec<String>,
    redundancy: Vec<String>,
    policy: Option<&str>,
    duration: Option<&str>,
    seed: Option<u64>,
    jobs: Option<NonZero<usize>>,
    progress: Option<&Bound<PyAny>>,
) -> PyResult<Results> {
    let text = read(&path).map_err(exception)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let find = |name: &str| read(&folder.join(name));
    let mut cluster =
        Cluster::read(&text, &path.display().to_string(), &find).map_err(exception)?;
    cluster.check_shipped().map_err(exception)?;
    if !utilisation.is_empty() {
        cluster.loads = utilisation.iter().map(|share| Arrivals::Utilisation(*share)).collect();
    }
    if !dispatch.is_empty() {
        cluster.dispatch = parsed(&dispatch)?;
    }
    if !redundancy.is_empty() {
        cluster.redundancy = parsed(&redundancy)?;
    }
    if let Some(policy) = policy {
        let policy = PolicySpec::parse(policy).map_err(exception)?;
        cluster.set_policy(&policy).map_err(exception)?;
    }
    cluster.duration = duration.map(span).transpose()?.unwrap_or(cluster.duration);
    cluster.seed = seed.unwrap_or(cluster.seed);
    cluster.check().map_err(exception)?;
    let shares: Vec<String> = utilisation.iter().map(f64::to_string).collect();
    let options = [
        ("utilisation", shares.join(",")),
        ("dispatch", dispatch.join(",")),
        ("redundancy", redundancy.join(",")),
        ("policy", policy.unwrap_or_default().to_string()),
        ("duration", duration.unwrap_or_default().to_string()),
        ("seed", seed.map_or(String::new(), |seed| seed.to_string())),
    ];
    let jobs = jobs.or_else(|| available_parallelism().ok()).map_or(1, NonZero::get);
    let mut run = work(py, progress, |watch| cluster.run_all(jobs, watch))?;
    run.version = env!("CARGO_PKG_VERSION").to_string();
    run.command = words(&path, options);
    run.cluster_text = text;
    Ok(Results::of(run))
}

fn read(path: &Path) -> Result<String, Failure> {
    fileio::text(path, fileio::LONGEST_TEXT)
        .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

fn parsed<T: std::str::FromStr<Err: ToString>>(words: &[String]) -> PyResult<Vec<T>> {
    words
        .iter()
        .map(|word| word.parse().map_err(|error: T::Err| wrong(error.to_string())))
        .collect()
}

/// The command that prints the same document.
fn words(path: &Path, options: [(&str, String); 6]) -> Vec<String> {
    let given = options.into_iter().filter(|(_, value)| !value.is_empty());
    let given = given.flat_map(|(name, value)| [format!("--{name}"), value]);
    let head = ["rearguard", "cluster"].map(str::to_string).into_iter();
    let head = head.chain([path.display().to_string()]);
    head.chain(given).chain(["--json".to_string()]).collect()
}
