//! Servers as files describe them: leaves and roots, each of one of three kinds.

use model::scenario::Kind;
use model::scenario::reading::{Table, found, service_time, span_within, whole};
use model::{Failure, Nanos, PolicySpec, Scenario};
use toml::de::DeValue;

use super::{Find, LONGEST, between};
use crate::definition::{Leaf, Machine, Root, Slow, Tier, Work};
use crate::measured::Measured;

const MOST_SERVERS: i64 = 1_000_000;
/// Workers of a tier: each has an event.
const MOST_WORKERS: u64 = 4_000_000;
/// Threads and CPUs of all machines of a tier together: each takes some 500 bytes.
const MOST_PARTS: u64 = 4_000_000;
/// A simulated kernel by itself takes as much as so many of them.
const PARTS_OF_KERNEL: u64 = 20;

/// The leaves.
pub(super) fn leaf(top: &Table, find: &Find) -> Option<Leaf> {
    let table = top.table("leaf")?;
    // A measured latency is not work that copies could have in common.
    let measured = table.get("measured").is_some();
    let beside = if measured { &["replicas"][..] } else { &["replicas", "same_work"] };
    let tier = tier(&table, beside, find)?;
    let replicas = table.optional("replicas", whole(1, MOST_SERVERS)).unwrap_or(tier.servers);
    if !tier.servers.is_multiple_of(replicas) {
        let found = format!("found {replicas} of {} servers", tier.servers);
        table.wrong("replicas", format!("{found}; expected a number that divides them"));
    }
    let same_work = table.optional("same_work", flag).unwrap_or(false);
    Some(Leaf { tier, replicas, same_work })
}

/// The roots: `None` where something is wrong, `Some(None)` where there are none.
pub(super) fn root(top: &Table, find: &Find) -> Option<Option<Root>> {
    if top.get("root").is_none() {
        return Some(None);
    }
    let table = top.table("root")?;
    let tier = tier(&table, &["merge"], find);
    if table.get("merge").is_none() {
        return Some(Some(Root { tier: tier?, merge: None }));
    }
    // Answers are put together where the request was: by servers of the same kind.
    let (inner, measured) = (table.table("merge")?, table.get("measured").is_some());
    inner.expect_keys(&[if measured { "measured" } else { "service_time" }]);
    let merge = if measured { measurement(&inner, find) } else { law(&inner) };
    Some(Some(Root { tier: tier?, merge: Some(merge?) }))
}

/// Servers of the kind that the table's keys tell, with keys of its own beside.
fn tier(table: &Table, beside: &[&str], find: &Find) -> Option<Tier> {
    let is = |key: &str| table.get(key).is_some();
    let keys: &[&str] = match (is("measured"), is("machine")) {
        (true, _) => &["servers", "measured", "slow"],
        (_, true) => &["servers", "machine", "policy"],
        _ => &["servers", "workers", "service_time", "slow"],
    };
    table.expect_keys(&[keys, beside].concat());
    let servers = table.required("servers", whole(1, MOST_SERVERS));
    let slow = if is("slow") { Some(slow(&table.table("slow")?, is("measured"))?) } else { None };
    let (workers, work, machine) = match (is("measured"), is("machine")) {
        (true, _) => (1, measurement(table, find)?, None),
        (_, true) => modelled(table, find)?,
        _ => (table.optional("workers", whole(1, 4_096)).unwrap_or(1), law(table)?, None),
    };
    let tier = Tier { servers: servers?, workers, work, machine, slow };
    if u64::from(tier.servers) * u64::from(tier.workers) > MOST_WORKERS {
        table.wrong("servers", format!("more than {MOST_WORKERS} workers in all"));
    }
    if let Some(machine) = &tier.machine {
        check_machines(table, tier.servers, &machine.scenario);
    }
    Some(tier)
}

/// A few bytes name a scenario, and each server has all of its threads.
fn check_machines(table: &Table, servers: u32, scenario: &Scenario) {
    let threads = scenario.programs.iter().map(|program| u64::from(program.kind.threads()));
    let (threads, cpus) = (threads.sum::<u64>(), scenario.machine.cpus);
    let most = MOST_PARTS / (threads + u64::from(cpus) + PARTS_OF_KERNEL);
    if u64::from(servers) > most {
        table.wrong(
            "servers",
            format!(
                "{servers} machines of {threads} threads and {cpus} CPUs take too much memory; expected at most \
                 {most}: fewer servers, fewer threads in the scenario, or a service_time instead of a machine"
            ),
        );
    }
}

fn law(table: &Table) -> Option<Work> {
    service_time(table).map(|(law, mean)| Work::Law(law, mean))
}

/// The text of a file that a key names.
fn named<T>(
    table: &Table,
    key: &str,
    find: &Find,
    read: impl Fn(&str, &str) -> Result<T, Failure>,
) -> Option<T> {
    table.required(key, |value| match value.as_str() {
        Some(name) => {
            find(name).and_then(|text| read(&text, name)).map_err(|failure| failure.to_string())
        }
        None => Err(format!("found {}; expected a file's name in quotes", found(value))),
    })
}

/// The first distribution of a measurement, its values nanoseconds.
fn measurement(table: &Table, find: &Find) -> Option<Work> {
    named(table, "measured", find, |text, name| {
        let mut all = Measured::read(text, name, Some(Nanos(1)))?;
        Ok(Work::Measured(all.remove(0)))
    })
}

/// A machine under its policy: a worker a CPU, and what its first service takes.
fn modelled(table: &Table, find: &Find) -> Option<(u32, Work, Option<Machine>)> {
    let scenario = named(table, "machine", find, Scenario::read);
    let policy = table.required("policy", |value| match value.as_str() {
        Some(text) => PolicySpec::parse(text).map_err(|failure| failure.to_string()),
        None => Err(format!("found {}; expected a policy in quotes", found(value))),
    });
    let machine = Machine { scenario: scenario?, policy: policy? };
    let scenario = &machine.scenario;
    let service = scenario.programs.iter().find_map(|program| match &program.kind {
        Kind::Service(service) => Some(service),
        _ => None,
    });
    let Some(service) = service else {
        table.wrong("machine", "no service that could be asked; expected a scenario with one");
        return None;
    };
    let work = Work::Law(service.service_law.clone(), service.service_time);
    Some((scenario.machine.cpus, work, Some(machine)))
}

fn flag(value: &DeValue) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("found {}; expected true or false", found(value)))
}

/// Slow episodes. A measurement holds its own slowness: how much of it and how slow.
fn slow(table: &Table, measured: bool) -> Option<Slow> {
    let factor = if measured { &[][..] } else { &["factor"] };
    table.expect_keys(&[&["share", "length"], factor].concat());
    let share = table.required("share", between(0.0, 0.99));
    let length = table.required("length", span_within(Nanos::from_micros(1), LONGEST));
    let factor = if measured { Some(1.0) } else { table.required("factor", between(1.0, 1e6)) };
    Some(Slow { share: share?, length: length?, factor: factor? })
}
