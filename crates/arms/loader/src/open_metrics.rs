//! A report in OpenMetrics' text, for Prometheus and its like.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;

use model::printable;

use crate::owners::Owners;
use crate::report::{Figures, Group, Report};

type Labels = Vec<(&'static str, String)>;
type Value = Gauge<f64, AtomicU64>;

/// One number of a row, with its name and what it means.
type Column<T> = (&'static str, &'static str, fn(&T) -> f64);

/// A label's value as OpenMetrics writes it. The library writes values as they are: a process that is called
/// `x"} 1` would forge samples.
pub fn label(value: &str) -> String {
    printable(value).replace('\\', "\\\\").replace('"', "\\\"")
}

/// The whole report, shares as ratios and times in seconds, as OpenMetrics wants units.
pub fn open_metrics(report: &Report, owners: &Owners) -> String {
    let mut registry = Registry::with_prefix("rearguard");
    totals(&mut registry, report);
    let groups = report.groups.iter().map(|(path, row)| (vec![("group", label(path))], row));
    figures(&mut registry, "group", groups.clone().map(|(labels, row)| (labels, row.into())));
    rows(&mut registry, groups.clone(), &THROTTLING);
    if !owners.is_empty() {
        named(&mut registry, owners);
    }
    rows(&mut registry, groups.filter(|(_, row)| row.promised_ns > 0), &PROMISES);
    let processes = report.processes.iter().filter(|(_, row)| row.share > 0.0 || row.active > 0);
    let processes = processes.map(|(id, row)| {
        (
            vec![("pid", id.to_string()), ("name", label(&row.name)), ("group", label(&row.group))],
            row,
        )
    });
    figures(&mut registry, "process", processes.clone().map(|(labels, row)| (labels, row.into())));
    rows(
        &mut registry,
        processes,
        &[("process_batch_threads", "Active threads with a pool of their own", |row| {
            f64::from(row.batch)
        })],
    );
    let queues = report.queues.iter().map(|(at, row)| (vec![("queue", at.to_string())], row));
    rows(
        &mut registry,
        queues,
        &[("queue_threads", "Threads that run from it or wait in it", |row| {
            f64::from(row.threads)
        })],
    );
    let targets = report.targets.iter().map(|(domain, at)| (vec![("domain", label(domain))], at));
    rows(
        &mut registry,
        targets,
        &[("target_seconds", "Target of virtual time", |at| *at as f64 / 1e9)],
    );
    let mut text = String::new();
    encode(&mut text, &registry).expect("a String takes any text");
    text
}

fn totals(registry: &mut Registry, report: &Report) {
    let scheduler = vec![("scheduler", label(&report.scheduler))];
    rows(
        registry,
        [(scheduler, report)].into_iter(),
        &[
            ("cpus", "CPUs online", |report| f64::from(report.cpus)),
            ("slices_per_second", "Slices begun", |report| report.slices_per_s),
            (
                "migrations_per_second",
                "Slices begun on another CPU than the one before",
                |report| report.migrations_per_s,
            ),
            ("pulls_per_second", "Threads moved from one queue to another", |report| {
                report.pulls_per_s
            }),
            (
                "inversions_avoided_per_second",
                "Threads that ran before a later one of lesser virtual time",
                |report| report.inversions_avoided_per_s,
            ),
        ],
    );
}

/// The columns that groups and processes share.
const FIGURES: [Column<Figures>; 4] = [
    ("share_ratio", "Received share of all CPUs", |row| row.share),
    ("due_share_ratio", "Due share of all CPUs", |row| row.due_share),
    ("lag_seconds", "CPU time owed to its active threads", |row| row.lag_ns / 1e9),
    ("active_threads", "Threads that run or wait", |row| f64::from(row.active)),
];

/// What quotas do to groups.
const THROTTLING: [Column<Group>; 3] = [
    ("group_held_threads", "Threads that its cpu.max holds", |row| f64::from(row.held)),
    ("group_periods_per_second", "Periods of its cpu.max that ended", |row| row.periods_per_s),
    ("group_throttled_periods_per_second", "Of these, with threads held at the end", |row| {
        row.throttled_per_s
    }),
];

/// How promises to groups are kept.
const PROMISES: [Column<Group>; 5] = [
    (
        "group_promised_seconds",
        "Within how long of a wake-up its threads are promised to be served",
        |row| row.promised_ns as f64 / 1e9,
    ),
    ("group_served_per_second", "Wake-ups served where there is a promise", |row| row.served_per_s),
    ("group_late_per_second", "Of these, later than promised", |row| row.late_per_s),
    ("group_budget_ratio", "Share of all CPUs that its promise allows", |row| row.at_most),
    ("group_budget_used_ratio", "Of that, the share used while others waited", |row| {
        row.budget_used
    }),
];

/// What groups are, always 1: to be joined by `group`, so that the other samples keep their labels.
fn named(registry: &mut Registry, owners: &Owners) {
    let labels = |path: &str, parts: [(&'static str, String); 5]| {
        let parts = parts.into_iter().map(|(key, value)| (key, label(&value)));
        std::iter::once(("group", label(path))).chain(parts).collect()
    };
    let all: Vec<Labels> = owners.parts().map(|(path, parts)| labels(path, parts)).collect();
    let all = all.into_iter().map(|labels| (labels, &()));
    let what = "What the group is: a systemd unit, a container, a pod, a machine";
    rows(registry, all, &[("group_info", what, |()| 1.0)]);
}

fn figures(registry: &mut Registry, whose: &str, of: impl Iterator<Item = (Labels, Figures)>) {
    let of: Vec<(Labels, Figures)> = of.collect();
    let whose = registry.sub_registry_with_prefix(whose);
    rows(whose, of.iter().map(|(labels, row)| (labels.clone(), row)), &FIGURES);
}

fn rows<'a, T: 'a>(
    registry: &mut Registry,
    rows: impl Iterator<Item = (Labels, &'a T)>,
    columns: &[Column<T>],
) {
    let rows: Vec<(Labels, &T)> = rows.collect();
    for (name, help, value) in columns {
        let family = Family::<Labels, Value>::default();
        for (labels, row) in &rows {
            family.get_or_create(labels).set(value(row));
        }
        registry.register(*name, *help, family);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Process;

    #[test]
    fn a_name_forges_no_sample() {
        let name = "x\"} 1\nrearguard_forged 7\\".to_string();
        let hostile = Process { name, group: "/".into(), share: 0.5, ..Process::default() };
        let report = Report { processes: [(7, hostile)].into(), ..Report::default() };
        let text = open_metrics(&report, &crate::owners::tests::some());
        let line = r#"rearguard_process_share_ratio{pid="7",name="x\"} 1?rearguard_forged 7\\",group="/"} 0.5"#;
        assert!(text.contains(line), "{text}");
        let of_group = r#"rearguard_group_info{group="/kubepods/x",unit="",container="web\"",pod="shop-7f9c",namespace="prod",machine=""} 1"#;
        assert!(text.contains(of_group), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("rearguard_forged")), "{text}");
    }
}
