//! From a file's text to a cluster.

use model::law::Law;
use model::scenario::reading::{
    Problems, Table, found, law, name, number, rate_per_s, service_time, shows, span, span_within,
    stem, utilisation, whole,
};
use model::scenario::{Arrivals, Kind};
use model::{Failure, Nanos, PolicySpec, Scenario};
use toml::de::{DeTable, DeValue};

use crate::definition::{Cluster, Leaf, Machine, Partial, Root, Slow, Tier};
use crate::measured::Measured;
use crate::{Dispatch, Redundancy};

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
/// Sub-requests of one run, so that a slip in a unit ends in a message and not in hours.
const MOST_SUB_REQUESTS: f64 = 4e9;
const MOST_SERVERS: i64 = 1_000_000;
/// Workers of a tier: each has an event.
const MOST_WORKERS: u64 = 4_000_000;

/// How the text of a file is found that a cluster names: by its name, relative to the cluster's file.
pub type Find<'a> = dyn Fn(&str) -> Result<String, Failure> + 'a;

impl Cluster {
    /// Reads a cluster from the text of a TOML file. `file` is the name for messages, and its stem the cluster's name unless the text gives one;
    /// `find` reads the measurements that it names. `docs/cluster.md` lists every key.
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
    let root = root(top);
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
    let rates = several(&table, "rate", |value| rate_per_s(value).map(Arrivals::Rate));
    let shares =
        several(&table, "utilisation", |value| utilisation(value).map(Arrivals::Utilisation));
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
    read: impl Fn(&DeValue) -> Result<T, String>,
) -> Option<Vec<T>> {
    match table.get(key)?.get_ref() {
        DeValue::Array(_) => {
            Some(table.list(key, read)?.into_iter().map(|(value, _)| value).collect())
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
    several(top, key, read)
}

fn tier(table: &Table, beside: &[&str]) -> Option<Tier> {
    table.expect_keys(&[&["servers", "workers", "service_time"], beside].concat());
    let servers = table.required("servers", whole(1, MOST_SERVERS));
    let workers = table.optional("workers", whole(1, 4_096)).unwrap_or(1);
    let (services, service_time) = service_time(table)?;
    let tier = Tier { servers: servers?, workers, services, service_time };
    if u64::from(tier.servers) * u64::from(tier.workers) > MOST_WORKERS {
        table.wrong("workers", format!("more than {MOST_WORKERS} workers in all"));
    }
    Some(tier)
}

/// `None` where it is wrong, `Some(None)` where there is none.
fn root(top: &Table) -> Option<Option<Root>> {
    if top.get("root").is_none() {
        return Some(None);
    }
    let table = top.table("root")?;
    let tier = tier(&table, &["merge"]);
    let merge = if table.get("merge").is_some() {
        let inner = table.table("merge")?;
        inner.expect_keys(&["service_time"]);
        Some(service_time(&inner)?)
    } else {
        None
    };
    let tier = tier?;
    let merge = merge.map(|(services, time)| Tier::of(tier.servers, tier.workers, services, time));
    Some(Some(Root { tier, merge }))
}

fn leaf(top: &Table, find: &Find) -> Option<Leaf> {
    let table = top.table("leaf")?;
    let is = |key: &str| table.get(key).is_some();
    let slow = is("slow").then(|| table.table("slow")).flatten();
    let slow = slow.map(|table| slow_episodes(&table, is("measured")));
    let slow = slow.map_or(Some(None), |slow| slow.map(Some));
    let (mut measured, mut machine) = (None, None);
    let tier = if is("measured") {
        measured = Some(measurement(&table, find)?);
        table.expect_keys(&["servers", "measured", "replicas", "slow"]);
        servers(&table).map(|servers| Tier::of(servers, 1, Law::Fixed, Nanos(1)))
    } else if is("machine") {
        let found = modelled(&table, find)?;
        table.expect_keys(&["servers", "machine", "policy", "replicas", "same_work"]);
        let tier = servers(&table).and_then(|servers| serving(&table, &found, servers));
        machine = Some(found);
        tier
    } else {
        tier(&table, &["replicas", "same_work", "slow"])
    }?;
    let replicas = table.optional("replicas", whole(1, MOST_SERVERS)).unwrap_or(tier.servers);
    if !tier.servers.is_multiple_of(replicas) {
        let found = format!("found {replicas} of {} servers", tier.servers);
        table.wrong("replicas", format!("{found}; expected a number that divides them"));
    }
    let same_work = table.optional("same_work", flag).unwrap_or(false);
    Some(Leaf { tier, replicas, same_work, slow: slow?, measured, machine })
}

fn servers(table: &Table) -> Option<u32> {
    table.required("servers", whole(1, MOST_SERVERS))
}

/// The text of a file that a key names.
fn named<T>(
    table: &Table,
    key: &str,
    find: &Find,
    read: impl Fn(&str, &str) -> Result<T, Failure>,
) -> Option<T> {
    table.optional(key, |value| match value.as_str() {
        Some(name) => {
            find(name).and_then(|text| read(&text, name)).map_err(|failure| failure.to_string())
        }
        None => Err(format!("found {}; expected a file's name in quotes", found(value))),
    })
}

/// The first distribution of a measurement, its values nanoseconds.
fn measurement(table: &Table, find: &Find) -> Option<Measured> {
    named(table, "measured", find, |text, name| {
        let mut all = Measured::read(text, name, Nanos(1))?;
        Ok(all.remove(0))
    })
}

/// A machine and its policy.
fn modelled(table: &Table, find: &Find) -> Option<Machine> {
    let scenario = named(table, "machine", find, Scenario::read);
    let policy = table.required("policy", |value| match value.as_str() {
        Some(text) => PolicySpec::parse(text).map_err(|failure| failure.to_string()),
        None => Err(format!("found {}; expected a policy in quotes", found(value))),
    });
    Some(Machine { scenario: scenario?, policy: policy? })
}

/// The tier that so many machines are: a worker a CPU, the services of their first service.
fn serving(table: &Table, machine: &Machine, servers: u32) -> Option<Tier> {
    let scenario = &machine.scenario;
    let service = scenario.programs.iter().find_map(|program| match &program.kind {
        Kind::Service(service) => Some(service),
        _ => None,
    });
    let Some(service) = service else {
        table.wrong("machine", "no service that could be asked; expected a scenario with one");
        return None;
    };
    let cpus = scenario.machine.cpus;
    Some(Tier::of(servers, cpus, service.service_law.clone(), service.service_time))
}

fn flag(value: &DeValue) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("found {}; expected true or false", found(value)))
}

/// A number between two, the lower one excluded.
fn between(low: f64, high: f64) -> impl Fn(&DeValue) -> Result<f64, String> {
    move |value| {
        let fits = |x: &f64| *x > low && *x <= high;
        let expected = format!("expected a number above {low} and at most {high}");
        number(value).ok().filter(fits).ok_or_else(|| format!("found {}; {expected}", found(value)))
    }
}

fn slow_episodes(table: &Table, measured: bool) -> Option<Slow> {
    // A measurement holds its own slowness: how much of it and how slow.
    let factor = if measured { &[][..] } else { &["factor"] };
    table.expect_keys(&[&["share", "length"], factor].concat());
    let share = table.required("share", between(0.0, 0.99));
    let length = table.required("length", span_within(Nanos::from_micros(1), LONGEST));
    let factor = if measured { Some(1.0) } else { table.required("factor", between(1.0, 1e6)) };
    Some(Slow { share: share?, length: length?, factor: factor? })
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
    for (key, problem) in faults(cluster) {
        top.wrong(key, problem);
    }
}

impl Cluster {
    /// [`Failure::Input`] where the parts do not fit each other: for a cluster whose parts were changed after it was read.
    pub fn check(&self) -> Result<(), Failure> {
        let faults = faults(self).into_iter().map(|(key, problem)| format!("{key}: {problem}"));
        let faults: Vec<String> = faults.collect();
        if faults.is_empty() { Ok(()) } else { Err(Failure::Input(faults.join("\n"))) }
    }
}

/// Keys whose values do not fit the others, and why.
fn faults(cluster: &Cluster) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    let mut claim =
        |holds: bool, key, problem: String| faults.extend((!holds).then_some((key, problem)));
    let run_s = (cluster.warm_up + cluster.duration).as_secs_f64();
    let bounded = cluster.deadline.is_some() || cluster.partial.after.is_some();
    for load in &cluster.loads {
        let sub_requests = cluster.rate_per_s(*load) * run_s * f64::from(cluster.fan_out);
        claim(
            sub_requests <= MOST_SUB_REQUESTS,
            "duration",
            format!(
                "the run would send {sub_requests:.0} sub-requests; expected at most {MOST_SUB_REQUESTS:.0}"
            ),
        );
        let full = cluster.utilisation(*load).unwrap_or(0.0);
        claim(
            bounded || full < 1.0,
            "arrivals",
            format!(
                "the leaves' utilisation is {full:.3}; expected below 1, or a deadline: queues would grow for ever"
            ),
        );
        let full = cluster.root_utilisation(*load);
        claim(
            bounded || full < 1.0,
            "root",
            format!("the roots' utilisation is {full:.3}; expected below 1, or a deadline"),
        );
        let known = cluster.leaf.measured.is_none() || matches!(load, Arrivals::Rate(_));
        claim(
            known,
            "arrivals",
            "measured leaves have no utilisation; expected a rate".to_string(),
        );
    }
    let late = |rule: &&Dispatch| matches!(rule, Dispatch::BatchSampling(_));
    let sampling = cluster.dispatch.iter().find(late);
    for rule in cluster.redundancy.iter().filter(|rule| **rule != Redundancy::None) {
        claim(
            rule.copies() <= cluster.leaf.replicas,
            "redundancy",
            format!("{rule}: expected at least as many replicas, each copy goes to another server"),
        );
        claim(
            sampling.is_none(),
            "redundancy",
            format!(
                "{rule} beside batch sampling, whose reservations are its redundancy; expected none"
            ),
        );
    }
    let binds_late = cluster.dispatch.iter().any(|rule| late(&rule) || *rule == Dispatch::Central);
    let what = "measured leaves and machines have no queue to bind late to; expected another rule";
    claim(cluster.leaf.is_queue() || !binds_late, "dispatch", what.to_string());
    faults
}
