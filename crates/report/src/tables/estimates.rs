//! Estimates and latencies as columns: a value and the two ends of its interval.

use columnar::Columns;

use crate::document::{Estimate, Latency, Outlier, Sources};

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
