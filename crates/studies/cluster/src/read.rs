//! From a file's text to a cluster.

mod faults;
mod servers;

use model::law::Law;
use model::scenario::Arrivals;
use model::scenario::reading::{
    Problems, Table, found, law, name, number, rate_per_s, shows, span, span_within, stem,
    utilisation, whole,
};
use model::{Failure, Nanos};
use toml::de::{DeTable, DeValue};

use crate::definition::{Cluster, Partial};
use crate::{Dispatch, Redundancy};
use servers::{leaf, root};

const KEYS: [&str; 14] = [
    "name",
    "duration",
    "warm_up",
    "seed",
    "outlier_threshold",
    "fan_out",
    "network",
    "deadline",
    "partial",
    "arrivals",
    "root",
    "leaf",
    "dispatch",
    "redundancy",
];

/// The longest run: a day.
const LONGEST: Nanos = Nanos::from_secs(86_400);

/// How the text of a file is found that a cluster names: by its name, relative to the cluster's file.
pub type Find<'a> = dyn Fn(&str) -> Result<String, Failure> + 'a;

impl Cluster {
    /// Reads a cluster from the text of a TOML file. `file` is the name for messages, and its stem the
    /// cluster's name unless the text gives one; `find` reads the measurements that it names.
    /// `docs/reference/cluster.md` lists every key.
    ///
    /// [`Failure::Input`] with every problem of the text, each with its line and a caret.
    pub fn read(text: &str, file: &str, find: &Find) -> Result<Cluster, Failure> {
        let problems = Problems::default();
        let cluster = match DeTable::parse(text) {
            Ok(document) => {
                let top = Table::document("cluster", document.get_ref(), &problems);
                cluster(text, file, &top, find)
            }
            Err(error) => {
                problems.add(error.span().unwrap_or(0..0), error.message());
                None
            }
        };
        match cluster {
            Some(cluster) if problems.is_empty() => Ok(cluster),
            _ => Err(problems.into_failure(text, file)),
        }
    }
}

/// `None` only where a problem was reported.
fn cluster(text: &str, file: &str, top: &Table, find: &Find) -> Option<Cluster> {
    top.expect_keys(&KEYS);
    let shows = shows(text, top);
    let duration = top.required("duration", span_within(Nanos(1), LONGEST));
    let warm_up = top.optional("warm_up", span_within(Nanos::ZERO, LONGEST));
    let arrivals = arrivals(top);
    let leaf = leaf(top, find);
    let root = root(top, find);
    let partial = partial(top);
    let dispatch = rules::<Dispatch>(top, "dispatch", "random");
    let redundancy = rules::<Redundancy>(top, "redundancy", "none");
    // All keys are read before any is missed, so that one look shows every problem.
    let name = top.optional("name", name).unwrap_or_else(|| stem(file));
    let seed = top.optional("seed", whole(0, i64::MAX)).unwrap_or(1);
    let threshold = top.optional("outlier_threshold", span).unwrap_or(Nanos::from_millis(10));
    let fan_out = top.optional("fan_out", whole(1, 10_000)).unwrap_or(1);
    let network = top.optional("network", span_within(Nanos::ZERO, LONGEST));
    let deadline = top.optional("deadline", span);
    let (arrivals, loads) = arrivals?;
    let cluster = Cluster {
        name,
        shows: shows?,
        duration: duration?,
        warm_up: warm_up.unwrap_or(Nanos::from_secs(1)),
        seed,
        outlier_threshold: threshold,
        fan_out,
        network: network.unwrap_or(Nanos::ZERO),
        deadline,
        partial: partial?,
        arrivals,
        loads,
        root: root?,
        leaf: leaf?,
        dispatch: dispatch?,
        redundancy: redundancy?,
    };
    check(&cluster, top);
    Some(cluster)
}

/// The law of gaps and the loads: one or a list of them.
fn arrivals(top: &Table) -> Option<(Law, Vec<Arrivals>)> {
    let table = top.table("arrivals")?;
    let (law, _) = law(&table, "poisson", &["rate", "utilisation"])?;
    let rates =
        several(&table, "rate", "[\"100/s\"]", |value| rate_per_s(value).map(Arrivals::Rate));
    let shares = several(&table, "utilisation", "[0.4, 0.8]", |value| {
        utilisation(value).map(Arrivals::Utilisation)
    });
    match (table.get("rate").is_some(), table.get("utilisation").is_some()) {
        (true, false) => Some((law, rates?)),
        (false, true) => Some((law, shares?)),
        (true, true) => {
            table.wrong("utilisation", "found beside rate; expected one of the two");
            None
        }
        (false, false) => {
            table.missing(&["rate", "utilisation"]);
            None
        }
    }
}

/// One value, or a list of at least one.
fn several<T>(
    table: &Table,
    key: &str,
    example: &str,
    read: impl Fn(&DeValue) -> Result<T, String>,
) -> Option<Vec<T>> {
    match table.get(key)?.get_ref() {
        DeValue::Array(_) => {
            Some(table.list(key, example, read)?.into_iter().map(|(value, _)| value).collect())
        }
        _ => Some(vec![table.optional(key, read)?]),
    }
}

/// One rule, or a list of them.
fn rules<T: std::str::FromStr<Err = Failure>>(
    top: &Table,
    key: &str,
    default: &str,
) -> Option<Vec<T>> {
    let read = |value: &DeValue| match value.as_str() {
        Some(text) => text.parse::<T>().map_err(|failure| failure.to_string()),
        None => Err(format!("found {}; expected a rule in quotes", found(value))),
    };
    if top.get(key).is_none() {
        return default.parse().ok().map(|rule| vec![rule]);
    }
    several(top, key, &format!("[\"{default}\"]"), read)
}

/// A number between two, the lower one excluded.
fn between(low: f64, high: f64) -> impl Fn(&DeValue) -> Result<f64, String> {
    move |value| {
        let fits = |x: &f64| *x > low && *x <= high;
        let expected = format!("expected a number above {low} and at most {high}");
        number(value).ok().filter(fits).ok_or_else(|| format!("found {}; {expected}", found(value)))
    }
}

fn partial(top: &Table) -> Option<Partial> {
    if top.get("partial").is_none() {
        return Some(Partial { enough: 1.0, after: None });
    }
    let table = top.table("partial")?;
    table.expect_keys(&["enough", "after"]);
    let enough = table.optional("enough", between(0.0, 1.0));
    Some(Partial { enough: enough.unwrap_or(1.0), after: table.optional("after", span) })
}

/// What only shows when all is read.
fn check(cluster: &Cluster, top: &Table) {
    for (key, problem) in faults::faults(cluster) {
        top.wrong(key, problem);
    }
}
