//! What watchers get for two samples, to the byte: scripts and dashboards read it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use loader::{Owners, Report, open_metrics};

use super::names::Names;
use super::report::report;
use super::rows::{Active, GroupRow, Keeping, ProcessRow, Tally, Throttling};
use super::sample::{Due, Sample};

/// An id that no process has.
const NOBODY: u32 = u32::MAX;

fn tally(ran_ms: u64, slices: u64, migrations: u64) -> Tally {
    Tally { ran_ns: ran_ms * 1_000_000, slices, migrations }
}

/// A process in a group below the root: what both have received, and what was due to them.
fn sample(at: Instant, tally: Tally, due_s: f64) -> Sample {
    let thread = Active { process: 3, group: 1, clock: 0, vruntime: 0, weight: 100.0, batch: true };
    let throttling = Throttling { held: 3, periods: tally.slices, throttled: tally.migrations };
    let keeping = Keeping {
        within_ns: 10_000_000,
        share: 1_000_000,
        used_ns: tally.ran_ns,
        wakes: tally.slices,
        late: tally.migrations,
    };
    let group =
        |id, parent, weight, tally| GroupRow { id, parent, weight, throttling, keeping, tally };
    Sample {
        scheduler: "rearguard".into(),
        at,
        knows_due: true,
        cpus: 2,
        lags: vec![2e6, -5e5],
        active: vec![thread.clone(), Active { batch: false, ..thread }],
        processes: [(3, ProcessRow { id: NOBODY, group: 1, threads: 4, tally })].into(),
        groups: [(0, group(0, 0, 0, Tally::default())), (1, group(u64::MAX, 0, 300, tally))].into(),
        queues: [(0, (5, 77))].into(),
        targets: vec![(2, 0, 1_500_000_000)],
        pulls: tally.slices,
        inversions_avoided: tally.migrations,
        due: Due {
            processes: BTreeMap::from([(3, due_s)]),
            groups: BTreeMap::from([(1, due_s)]),
            seconds: 4.0 * due_s,
        },
    }
}

fn two_seconds() -> Report {
    let begin = Instant::now();
    let before = sample(begin, tally(100, 10, 1), 1.0);
    let after = sample(begin + Duration::from_secs(2), tally(1_100, 30, 5), 2.0);
    report(&before, &after, &mut Names::default())
}

#[test]
fn a_report_is_this_json() {
    let json = serde_json::to_string(&two_seconds()).expect("numbers and names");
    assert_eq!(json, include_str!("tests/report.json").trim());
}

#[test]
fn a_report_is_this_open_metrics() {
    // Series of one metric come in any order.
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines.sort();
        lines
    };
    assert_eq!(
        sorted(&open_metrics(&two_seconds(), &Owners::default())),
        sorted(include_str!("tests/report.txt"))
    );
}

#[test]
fn every_field_is_described_with_its_type() {
    let text = super::describe();
    let line =
        |words: &[&str]| text.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(line(&["[Report", "a policy at work"]), "{text}");
    assert!(line(&[" processes ", "({u64:Process})", "processes, by id"]), "{text}");
    assert!(line(&[" share ", "(float)", "received share of all CPUs"]), "{text}");
    assert!(!line(&["no such field"]));
}
