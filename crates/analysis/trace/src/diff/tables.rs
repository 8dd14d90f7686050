//! A difference as tables: what the traces are, and what became of the latencies.

use columnar::{Columns, RecordBatch, Table};
use model::Nanos;
use serde_json::json;

use super::{Difference, ProgramDifference, Setting};

/// What the notes of these tables begin with; it changes when a column changes its meaning.
pub const DIFF_SCHEMA: &str = "rearguard.diff/1";

/// The tables, those without rows too; `names` are the traces' files.
pub fn tables(difference: &Difference, names: [&str; 2]) -> Vec<Table> {
    let batches =
        [("settings", settings(&difference.settings)), ("latencies", latencies(difference))];
    let noted = |(name, batch)| {
        let note = json!({ "table": name, "a": names[0], "b": names[1] });
        Table { name, batch }.with_note(DIFF_SCHEMA, &note.to_string())
    };
    batches.into_iter().map(noted).collect()
}

fn settings(settings: &[Setting]) -> RecordBatch {
    Columns::of(settings)
        .text("setting", |row| Some(row.name))
        .text("a", |row| Some(&row.a))
        .text("b", |row| Some(&row.b))
        .batch()
}

/// A row a program and trace.
fn latencies(difference: &Difference) -> RecordBatch {
    let programs = difference.programs.iter();
    let rows: Vec<(&ProgramDifference, usize)> =
        programs.flat_map(|program| [(program, 0), (program, 1)]).collect();
    let mut columns = Columns::of(&rows)
        .text("program", |row| Some(&row.0.name))
        .text("trace", |row| Some(["a", "b"][row.1]))
        .number("requests", |row| Some(row.0.requests[row.1] as u64))
        .number("paired", |row| Some(row.0.paired as u64))
        .number("changed", |row| Some(row.0.changed as u64))
        .number("first_changed_ns", |row| row.0.first.map(|at| at.0));
    let names = ["latency_p50_ns", "latency_p99_ns", "latency_p99_9_ns", "latency_max_ns"];
    let quantile = |at: usize| {
        move |row: &(&ProgramDifference, usize)| {
            let latency = row.0.latency[at].1[row.1];
            (latency != Nanos::NEVER).then_some(latency.0)
        }
    };
    for (at, name) in names.iter().enumerate() {
        columns = columns.number(name, quantile(at));
    }
    columns.batch()
}

#[cfg(test)]
mod tests {
    use super::super::Parting;
    use super::*;

    #[test]
    fn a_program_is_a_row_a_trace_and_lost_requests_have_no_latency() {
        let latency = |b: u64| vec![("p50", [Nanos(1), Nanos(b)]); 4];
        let program = |name: &str, b: u64| ProgramDifference {
            name: name.to_string(),
            requests: [10, 9],
            paired: 9,
            changed: 3,
            first: Some(Nanos(5)),
            latency: latency(b),
        };
        let found = Difference {
            settings: vec![Setting { name: "policy", a: "fifo".into(), b: "cts".into() }],
            parting: Parting::Never,
            programs: vec![program("one", 2), program("lossy", Nanos::NEVER.0)],
            totals: false,
        };
        let [settings, latencies] = &tables(&found, ["a.trace", "b.trace"])[..] else {
            panic!("two tables");
        };
        assert_eq!((settings.name, settings.batch.num_rows()), ("settings", 1));
        assert_eq!((latencies.name, latencies.batch.num_rows()), ("latencies", 4));
        let nulls =
            |column: &str| latencies.batch.column_by_name(column).expect(column).null_count();
        assert_eq!((nulls("latency_p99_9_ns"), nulls("requests")), (1, 0));
        assert!(latencies.batch.schema().metadata()[DIFF_SCHEMA].contains("b.trace"));
    }
}
