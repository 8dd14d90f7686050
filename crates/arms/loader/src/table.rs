//! A report as a table.

use model::Nanos;

use crate::owners::Owners;
use crate::report::{Figures, Group, Process, Report};
use std::fmt::Write;

/// A head line, the groups, and so many of the processes, the busiest first; containers and pods by name.
pub fn table(report: &Report, owners: &Owners, rows: usize) -> String {
    let mut text = String::new();
    head(&mut text, report);
    let titles = "share    due    lag ms   active  slices/s   moves/s";
    let _ = writeln!(text, "{titles}  group (weight)");
    for (path, group) in &report.groups {
        let of = numbers(group.into(), report.knows_due != 0);
        let _ = writeln!(
            text,
            "{of}  {} ({}){}{}",
            owners.instead_of(path),
            group.weight,
            throttled(group),
            promised(group)
        );
    }
    let _ = writeln!(text, "{titles}  process (threads, of them batch)");
    for (id, process) in busiest(report, rows) {
        let Process { name, threads, batch, group, .. } = process;
        let of = numbers(process.into(), report.knows_due != 0);
        let _ = writeln!(text, "{of}  {id} {name} ({threads}, {batch}){}", owners.behind(group));
    }
    text
}

/// What its quota did to a group, if it has one.
fn throttled(group: &Group) -> String {
    let Group { held, periods_per_s, throttled_per_s, .. } = group;
    if *periods_per_s == 0.0 {
        return String::new();
    }
    format!(", throttled in {throttled_per_s:.1} of {periods_per_s:.1} periods/s, {held} held")
}

/// How its promise was kept, if it has one.
fn promised(group: &Group) -> String {
    let Group { promised_ns, served_per_s, late_per_s, at_most, budget_used, .. } = group;
    if *promised_ns == 0 {
        return String::new();
    }
    let (used, most) = (budget_used * 100.0, at_most * 100.0);
    let within = Nanos(*promised_ns);
    let late = if *served_per_s > 0.0 { late_per_s / served_per_s * 100.0 } else { 0.0 };
    format!(
        ", {late:.3}% of {served_per_s:.0} wake-ups/s later than {within}, {used:.1}% of {most:.1}% used"
    )
}

fn head(text: &mut String, report: &Report) {
    let Report { scheduler, cpus, slices_per_s, migrations_per_s, pulls_per_s, .. } = report;
    let avoided = report.inversions_avoided_per_s;
    let _ = writeln!(
        text,
        "{scheduler}  {cpus} CPUs  {slices_per_s:.0} slices/s  {migrations_per_s:.0} migrations/s  {pulls_per_s:.1} pulls/s  {avoided:.1} inversions avoided/s"
    );
    let queues = report.queues.iter().map(|(at, queue)| format!("{at}: {}", queue.threads));
    let _ = writeln!(text, "threads by queue  {}", join(queues));
    if let Some(first) = report.targets.values().min() {
        let ahead = |at: &u64| (at - first) as f64 / 1e6;
        let targets =
            report.targets.iter().map(|(domain, at)| format!("{domain}: {:.0}", ahead(at)));
        let _ = writeln!(text, "targets, ms ahead of the least  {}", join(targets));
    }
}

/// Parts side by side, as many as fit a line.
fn join(parts: impl Iterator<Item = String>) -> String {
    const MOST: usize = 12;
    let parts: Vec<String> = parts.collect();
    let more = if parts.len() > MOST {
        format!("  and {} more", parts.len() - MOST)
    } else {
        String::new()
    };
    parts[..parts.len().min(MOST)].join("  ") + &more
}

fn busiest(report: &Report, rows: usize) -> Vec<(&u32, &Process)> {
    let mut processes: Vec<(&u32, &Process)> = report
        .processes
        .iter()
        .filter(|(_, process)| process.share > 0.0 || process.active > 0)
        .collect();
    processes.sort_by(|(_, a), (_, b)| b.share.total_cmp(&a.share));
    processes.truncate(rows);
    processes
}

fn numbers(of: Figures, knows_due: bool) -> String {
    let Figures { share, due_share, active, slices_per_s, migrations_per_s, .. } = of;
    let lag_ms = of.lag_ns / 1e6;
    let standing = if knows_due {
        format!("{due_share:5.3}  {lag_ms:8.1}  {active:7}")
    } else {
        format!("{:>5}  {:>8}  {:>7}", "-", "-", "-")
    };
    format!("{share:5.3}  {standing}  {slices_per_s:8.0}  {migrations_per_s:8.0}")
}
