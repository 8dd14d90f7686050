//! Services: how requests reach threads, how often they come and what each of them costs.

use super::law::law;
use super::program::MOST_THREADS;
use super::table::Table;
use super::value::{rate_per_s, span, utilisation, whole, word};
use super::{Architecture, Arrivals, Service};
use crate::Nanos;
use crate::law::Law;
use toml::de::DeValue;

pub(super) const SERVICE_KEYS: [&str; 8] = [
    "architecture",
    "workers",
    "connections",
    "request_bytes",
    "response_bytes",
    "service_time",
    "arrivals",
    "behind",
];

const ARCHITECTURES: [&str; 3] = ["thread-per-connection", "shared-queue", "partitioned"];
/// A request and a response of the null RPC server (Tales section 3.1.1).
const NULL_RPC_BYTES: u32 = 128;
const CONNECTIONS: u32 = 64;
/// `before` is the service that this one is behind, `cpus` the machine's. `None` only where a problem was
/// reported.
pub(super) fn service(table: &Table, before: Option<&Service>, cpus: u32) -> Option<Service> {
    let connections = connections(table, before);
    let bytes = |key| table.optional(key, whole(64, 1 << 20)).unwrap_or(NULL_RPC_BYTES);
    let (request_bytes, response_bytes) = (bytes("request_bytes"), bytes("response_bytes"));
    let architecture = architecture(table, connections);
    let service_time = service_time(table);
    let arrivals = match before {
        Some(before) => passed_on(table, before, cpus),
        None => arrivals(table),
    };
    let (service_law, service_time) = service_time?;
    let (arrival_law, arrivals) = arrivals?;
    Some(Service {
        architecture: architecture?,
        connections,
        request_bytes,
        response_bytes,
        service_law,
        service_time,
        arrival_law,
        arrivals,
    })
}

/// A service keeps a connection to the one behind it for each that clients have to it.
fn connections(table: &Table, before: Option<&Service>) -> u32 {
    let said = table.optional("connections", whole(1, MOST_THREADS));
    let least = before.map_or(1, |before| before.connections);
    if let Some(few) = said.filter(|said| *said < least) {
        table.wrong(
            "connections",
            format!("found {few} behind a service with {least}; expected at least as many"),
        );
    }
    said.unwrap_or(before.map_or(CONNECTIONS, |_| least))
}

fn architecture(table: &Table, connections: u32) -> Option<Architecture> {
    let kind = match table.get("architecture") {
        Some(_) => table.optional("architecture", word(&ARCHITECTURES))?,
        None => 0,
    };
    if kind == 0 {
        if table.get("workers").is_some() {
            table.wrong("workers", "a thread-per-connection service has one thread a connection; expected no workers, or another architecture");
        }
        return Some(Architecture::ThreadPerConnection);
    }
    let workers = table.required("workers", whole(1, MOST_THREADS))?;
    if workers > connections {
        table.wrong("workers", format!("found {workers} for {connections} connections; expected at most as many: the rest would never serve"));
    }
    Some(match kind {
        1 => Architecture::SharedQueue { workers },
        _ => Architecture::Partitioned { workers },
    })
}

/// `"500us"`, or a table with the mean and a law.
pub fn service_time(table: &Table) -> Option<(Law, Nanos)> {
    const KEY: &str = "service_time";
    let value = table.get(KEY);
    let Some(value) = value.filter(|value| matches!(value.get_ref(), DeValue::Table(_))) else {
        return Some((Law::Fixed, table.required(KEY, span)?));
    };
    let inner = Table::of(KEY, value, table.problems)?;
    let (law, measured) = law(&inner, "fixed", &["mean"])?;
    match measured {
        Some(mean) if inner.get("mean").is_none() => Some((law, mean)),
        _ => Some((law, inner.required("mean", span)?)),
    }
}

/// A table with the rate or the utilisation, and a law.
fn arrivals(table: &Table) -> Option<(Law, Arrivals)> {
    const KEY: &str = "arrivals";
    let inner = table.table(KEY)?;
    let (law, measured) = law(&inner, "poisson", &["rate", "utilisation"])?;
    let rate = inner.optional("rate", rate_per_s).map(Arrivals::Rate);
    let share = inner.optional("utilisation", utilisation);
    let share = share.map(Arrivals::Utilisation);
    match (inner.get("rate").is_some(), inner.get("utilisation").is_some(), measured) {
        (true, true, _) => {
            inner.wrong("utilisation", "found beside rate; expected one of the two");
            None
        }
        (false, false, Some(gap)) => Some((law, Arrivals::Rate(1.0 / gap.as_secs_f64()))),
        (false, false, None) => {
            inner.missing(&["rate", "utilisation"]);
            None
        }
        _ => Some((law, rate.or(share)?)),
    }
}

/// Requests come as often as to the service before.
fn passed_on(table: &Table, before: &Service, cpus: u32) -> Option<(Law, Arrivals)> {
    if table.get("arrivals").is_some() {
        table.wrong(
            "arrivals",
            "found beside `behind`; expected one of the two: requests come from the service before",
        );
    }
    Some((before.arrival_law.clone(), Arrivals::Rate(before.rate_per_s(cpus))))
}
