//! What many tables have: rows with their owners; as columns, estimates with the two ends of their intervals,
//! latencies, a service's figures.

use columnar::Columns;

use crate::document::{CcdfPoint, Estimate, Latency, Outlier, ProgramResult, Sources};

/// A row for each part of each owner.
pub fn rows<O: Copy, T, I: IntoIterator<Item = T>>(
    owners: impl IntoIterator<Item = O>,
    parts: impl Fn(O) -> I,
) -> Vec<(O, T)> {
    let of = |owner| parts(owner).into_iter().map(move |part| (owner, part));
    owners.into_iter().flat_map(of).collect()
}

/// `NAME_UNIT`, `NAME_low_UNIT`, `NAME_high_UNIT`; no unit, no last word.
pub fn estimate<'a, T>(
    columns: Columns<'a, T>,
    name: &str,
    unit: &str,
    of: impl Fn(&T) -> Estimate,
) -> Columns<'a, T> {
    columns
        .float(&format!("{name}{unit}"), |row| of(row).value)
        .float(&format!("{name}_low{unit}"), |row| of(row).low)
        .float(&format!("{name}_high{unit}"), |row| of(row).high)
}

/// `NAME_mean_ns` to `NAME_p99_9_ns` with their intervals, and `NAME_max_ns`.
pub fn latency<'a, T>(
    columns: Columns<'a, T>,
    name: &str,
    of: impl Fn(&T) -> Option<Latency>,
) -> Columns<'a, T> {
    type Part = (&'static str, fn(&Latency) -> Estimate);
    const PARTS: [Part; 5] = [
        ("mean", |latency| latency.mean),
        ("p50", |latency| latency.p50),
        ("p90", |latency| latency.p90),
        ("p99", |latency| latency.p99),
        ("p99_9", |latency| latency.p99_9),
    ];
    let all = PARTS.iter().fold(columns, |columns, (part, read)| {
        let of = |row: &T| of(row).as_ref().map(read).unwrap_or_default();
        estimate(columns, &format!("{name}_{part}"), "_ns", of)
    });
    all.number(&format!("{name}_max_ns"), |row| of(row)?.max)
}

/// The threshold, the proportion with its interval, and the valid throughput.
pub fn outlier<'a, T>(
    columns: Columns<'a, T>,
    of: impl Fn(&T) -> Option<Outlier>,
) -> Columns<'a, T> {
    let columns = columns.number("outlier_threshold_ns", |row| Some(of(row)?.threshold_ns));
    let proportion = |row: &T| of(row).map(|outlier| outlier.proportion).unwrap_or_default();
    estimate(columns, "outlier_proportion", "", proportion)
        .float("valid_throughput_per_s", |row| of(row)?.valid_throughput_per_s)
}

/// Where slow requests waited, `source_NAME_ns`.
pub fn sources<'a, T>(
    columns: Columns<'a, T>,
    of: impl Fn(&T) -> Option<Sources>,
) -> Columns<'a, T> {
    columns
        .float("source_inherent_ns", |row| Some(of(row)?.inherent))
        .float("source_inversion_ns", |row| Some(of(row)?.inversion))
        .float("source_background_ns", |row| Some(of(row)?.background))
        .float("source_interrupt_ns", |row| Some(of(row)?.interrupt))
        .float("source_idle_elsewhere_ns", |row| Some(of(row)?.idle_elsewhere))
        .float("source_power_ns", |row| Some(of(row)?.power))
        .float("source_numa_ns", |row| Some(of(row)?.numa))
}

/// A point of a tail.
pub fn tail<'a, T>(columns: Columns<'a, T>, of: impl Fn(&T) -> &CcdfPoint) -> Columns<'a, T> {
    columns
        .number("latency_ns", |row| Some(of(row).latency_ns))
        .float("proportion", |row| Some(of(row).proportion))
        .float("proportion_low", |row| of(row).low)
        .float("proportion_high", |row| of(row).high)
}

/// What a program did, on any arm.
pub fn program<'a, T>(
    columns: Columns<'a, T>,
    of: impl Fn(&T) -> &ProgramResult,
) -> Columns<'a, T> {
    let columns = columns
        .number("requests", |row| Some(of(row).requests))
        .number("lost", |row| Some(of(row).lost))
        .float("rate_per_s", |row| of(row).rate_per_s)
        .float("utilisation", |row| of(row).utilisation);
    let columns = latency(columns, "latency", |row| of(row).latency_ns);
    let columns = latency(columns, "ideal", |row| of(row).ideal_ns)
        .float("excess_p99_9", |row| of(row).excess_p99_9)
        .float("inversions_per_request", |row| of(row).inversions_per_request)
        .float("completion_inversions_per_request", |row| {
            of(row).completion_inversions_per_request
        });
    sources(outlier(columns, |row| of(row).outlier), |row| of(row).sources_ns)
}
