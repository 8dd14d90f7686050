//! The tables, read back.

use std::fs::File;
use std::path::Path;

use crate::common::recorded;
use columnar::Format;
use model::Nanos;
use model::event::What;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use trace::{Recorded, tables::export};

/// A row as (column, value).
type Row = Vec<(String, Field)>;

fn rows(folder: &Path, table: &str) -> Vec<Row> {
    let file = File::open(folder.join(format!("{table}.parquet"))).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(metadata.iter().any(|entry| entry.key == trace::SCHEMA), "{metadata:?}");
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().into_columns()).collect()
}

fn cell<'a>(row: &'a Row, name: &str) -> &'a Field {
    &row.iter().find(|(column, _)| column == name).unwrap().1
}

fn number(row: &Row, name: &str) -> Option<u64> {
    match cell(row, name) {
        Field::Long(value) => Some(*value as u64),
        Field::Null => None,
        other => panic!("{other:?}"),
    }
}

fn exported(recorded: &Recorded) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    export(recorded, Format::Parquet, folder.path()).unwrap();
    folder
}

#[test]
fn tables_hold_what_the_trace_holds() {
    let mut recorded = recorded("four-cpus-and-batch", "gvts", 1, Nanos::from_millis(300));
    recorded.trace.programs[0].requests[5].received = Nanos::NEVER;
    let folder = exported(&recorded);

    let requests = rows(folder.path(), "requests");
    assert_eq!(requests.len(), recorded.trace.programs[0].requests.len());
    for (row, request) in requests.iter().zip(&recorded.trace.programs[0].requests) {
        assert_eq!(number(row, "started_ns"), Some(request.started.0));
        assert_eq!(number(row, "service_ns"), Some(request.service.0));
    }
    assert_eq!(number(&requests[5], "received_ns"), None, "what never came is null");
    assert_eq!(number(&requests[5], "latency_ns"), None);

    let events = rows(folder.path(), "events");
    let ours = recorded.trace.events.as_ref().unwrap();
    assert_eq!(events.len(), ours.len());
    for (row, event) in events.iter().zip(ours) {
        assert_eq!(number(row, "at_ns"), Some(event.at.0));
        if let What::Switch { cpu, from, to, .. } = event.what {
            assert_eq!(cell(row, "event"), &Field::Str("switch".to_string()));
            assert_eq!(number(row, "cpu"), Some(u64::from(cpu.0)));
            assert_eq!(number(row, "thread"), to.map(|thread| u64::from(thread.0)));
            assert_eq!(number(row, "from_thread"), from.map(|thread| u64::from(thread.0)));
        }
        if let What::Start { thread, request } = event.what {
            assert_eq!(number(&requests[request as usize], "thread"), Some(u64::from(thread.0)));
        }
    }

    let threads = rows(folder.path(), "threads");
    assert_eq!(cell(&threads[64], "name"), &Field::Str("batch/0".to_string()));
    let usage = rows(folder.path(), "usage");
    assert_eq!(usage.len(), recorded.trace.usage.len() * 72);
    let last = recorded.trace.usage.last().unwrap();
    assert_eq!(number(usage.last().unwrap(), "cpu_time_ns"), last.cpu_time.last().map(|t| t.0));
}

#[test]
fn a_trace_without_events_has_a_table_without_rows() {
    let mut bare = recorded("null-rpc", "eevdf", 1, Nanos::from_millis(50));
    bare.trace.events = None;
    let folder = exported(&bare);
    assert!(rows(folder.path(), "events").is_empty());
    assert!(rows(folder.path(), "requests").iter().all(|row| number(row, "thread").is_none()));
}
