//! The tables of every document: written, read back, and each column on its page.

mod fixture;

use std::fs::File;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use columnar::{Format, Options, Table};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use report::document::{Estimate, Latency};
use report::explain::{CpuSpans, Culprit, Explained, ExplainedService, Finding, SlowRequest, Span};
use report::overhead::{Overhead, OverheadRow};
use report::stages::{Stage, StagesDocument};
use report::{
    Agreement, Ideal, KindResult, MeasureService, Measured, PaperFigure, PaperValue, Saturated,
    Series, SeriesChart, Tables,
};

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| word.to_string()).collect()
}

fn measured() -> Measured {
    let service = fixture::small().results.remove(0).programs.remove(0);
    Measured {
        target: "redis://a".into(),
        seed: u64::MAX,
        service,
        losses: [("silent".to_string(), 2)].into(),
        complaints: [("miss".to_string(), 3)].into(),
        service_time: Some(capacity()),
        kinds: Some(vec![KindResult::default(); 4]),
        stages: Some(stages().stages),
        ..Measured::default()
    }
}

fn capacity() -> MeasureService {
    MeasureService {
        generator_limited: Some(true),
        steps: vec![(1, 10.5), (2, 20.0)],
        ..MeasureService::default()
    }
}

fn explained() -> Explained {
    let span = |to_ns: u64| Span { to_ns, kind: "idle".into(), ..Span::default() };
    let cpu = |cpu: u32| CpuSpans { cpu, spans: vec![span(5), span(9)] };
    let slow = SlowRequest { request: 7, cpus: vec![cpu(0), cpu(3)], ..SlowRequest::default() };
    let blamed = |name: &str| Culprit { name: name.into(), group: None, owner: None, share: 0.5 };
    let finding = Finding { culprits: vec![blamed("hog"), blamed("cron")], ..Finding::default() };
    let mut service = ExplainedService {
        name: "web".into(),
        findings: vec![finding],
        slow: vec![slow],
        ..ExplainedService::default()
    };
    service.slow_ns.sources.numa = 12.5;
    Explained { services: vec![service], ..Explained::default() }
}

fn stages() -> StagesDocument {
    let span_ns = Latency { p99: Estimate::new(3.0, 2.0, 4.0), ..Latency::default() };
    let stage = Stage { stage: "t1_t2".into(), what: "all".into(), span_ns };
    StagesDocument { stages: vec![stage], port: 80, ..StagesDocument::default() }
}

fn overhead() -> Overhead {
    let cpu_overhead = Estimate::new(0.02, 0.01, 0.03);
    let row = OverheadRow { watched: "stages".into(), cpu_overhead, ..OverheadRow::default() };
    Overhead { rounds: 11, rows: vec![row], ..Overhead::default() }
}

fn figures() -> Vec<PaperFigure> {
    let value = PaperValue {
        what: "p99".into(),
        ours: Some(1.5),
        paper: None,
        to: None,
        from: "Figure 1".into(),
        ratio: None,
        agreement: Agreement::NotGiven,
        why: String::new(),
    };
    let line = Series { name: "a".into(), points: vec![(1.0, 2.0), (3.0, 4.0)] };
    let figure = PaperFigure {
        paper: "gvts".into(),
        figure: "8".into(),
        assumptions: words(&["this"]),
        missing: words(&["that", "more"]),
        values: vec![value],
        curves: fixture::figure().curves,
        chart: Some(SeriesChart { series: vec![line], ..SeriesChart::default() }),
        ..PaperFigure::default()
    };
    vec![figure.clone(), figure]
}

fn ideal() -> Ideal {
    Ideal { curve: fixture::figure().curves.remove(0), ..Ideal::default() }
}

/// One document of every kind, with the heading of its tables on the page.
fn documents() -> Vec<(&'static str, Vec<Table>)> {
    let found = Saturated { service_time: capacity(), ..Saturated::default() };
    vec![
        ("table of a comparison", fixture::small().tables()),
        ("table of an ideal", ideal().tables()),
        ("table of a cluster", fixture::cluster(&[0.5]).tables()),
        ("table of a fan-out", fixture::fan_out().tables()),
        ("table of a measurement", measured().tables()),
        ("table of a measurement", found.tables()),
        ("table of an explanation", explained().tables()),
        ("table of stages", stages().tables()),
        ("table of stages", overhead().tables()),
        ("table of figures", figures().tables()),
    ]
}

fn find(tables: Vec<Table>, name: &str) -> RecordBatch {
    let found = tables.into_iter().find(|table| table.name == name);
    found.unwrap_or_else(|| panic!("no table {name}")).batch
}

fn read(table: &Table, format: Format) -> RecordBatch {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(table.name);
    let batches = std::iter::once(table.batch.clone());
    columnar::write(&path, format, Options::default(), table.batch.schema(), batches)
        .expect("a written file");
    let file = File::open(&path).expect("the file");
    let batches: Vec<RecordBatch> = match format {
        Format::Arrow => arrow_ipc::reader::FileReader::try_new(file, None)
            .expect("an Arrow file")
            .map(|batch| batch.expect("a batch"))
            .collect(),
        Format::Parquet => ParquetRecordBatchReaderBuilder::try_new(file)
            .expect("a Parquet file")
            .build()
            .expect("its reader")
            .map(|batch| batch.expect("a batch"))
            .collect(),
        Format::Csv => panic!("the tests of columns read it"),
    };
    columnar::stack(&batches).unwrap_or_else(|| table.batch.slice(0, 0))
}

#[test]
fn files_give_back_every_cell() {
    for (_, tables) in documents() {
        assert!(tables.iter().any(|table| table.batch.num_rows() > 0));
        for table in tables {
            for format in [Format::Parquet, Format::Arrow] {
                let found = read(&table, format);
                assert_eq!(found.columns(), table.batch.columns(), "{} {format:?}", table.name);
                let names = |batch: &RecordBatch| -> Vec<String> {
                    let schema = batch.schema();
                    schema.fields().iter().map(|field| field.name().clone()).collect()
                };
                assert_eq!(names(&found), names(&table.batch), "{} {format:?}", table.name);
            }
        }
    }
}

#[test]
fn rows_equal_the_documents() {
    let counts = |tables: Vec<Table>| -> Vec<usize> {
        tables.iter().map(|table| table.batch.num_rows()).collect()
    };
    let points = measured().service.ccdf.len() + measured().service.ideal_ccdf.len();
    assert_eq!(counts(measured().tables()), [1, 1, 1, 2, 2, 4, 1, points]);
    // One service; all and slow; a finding with two culprits; a slow request with two spans on each of two
    // CPUs.
    assert_eq!(counts(explained().tables()), [1, 2, 1, 2, 1, 4]);
    let of_one = counts(figures()[..1].to_vec().tables());
    assert_eq!(of_one[..3], [1, 0, 3]);
    assert_eq!(of_one[5], 2);
    let doubled: Vec<usize> = of_one.iter().map(|rows| 2 * rows).collect();
    assert_eq!(counts(figures().tables()), doubled, "figures stand below each other");
    assert!(Vec::<PaperFigure>::new().tables().is_empty());
}

#[test]
fn cells_stand_in_their_columns() {
    let cells = |batch: &RecordBatch, column: &str| -> Vec<Option<f64>> {
        let array = batch.column_by_name(column).unwrap_or_else(|| panic!("no {column}"));
        match array.as_primitive_opt::<Int64Type>() {
            Some(whole) => whole.iter().map(|cell| cell.map(|n| n as f64)).collect(),
            None => array.as_primitive::<Float64Type>().iter().collect(),
        }
    };
    let spans = find(explained().tables(), "spans");
    assert_eq!(cells(&spans, "cpu"), [0, 0, 3, 3].map(|cpu| Some(f64::from(cpu))));
    assert_eq!(cells(&spans, "to_ns"), [5, 9, 5, 9].map(|ns| Some(f64::from(ns))));
    let splits = find(explained().tables(), "splits");
    assert_eq!(cells(&splits, "source_numa_ns"), [Some(0.0), Some(12.5)]);
    let stage = find(stages().tables(), "stages");
    assert_eq!(cells(&stage, "span_p99_high_ns"), [Some(4.0)]);
    let watched = find(overhead().tables(), "overhead");
    assert_eq!(cells(&watched, "cpu_overhead_low"), [Some(0.01)]);
    assert_eq!(cells(&watched, "instructions"), [None], "not counted here");
    let values = find(figures().tables(), "values");
    assert_eq!(cells(&values, "ours"), [Some(1.5); 2]);
    assert_eq!(cells(&values, "papers"), [None; 2]);
    assert_eq!(
        values.column_by_name("agreement").unwrap().as_string::<i32>().value(1),
        "not-given"
    );
    let steps = find(measured().tables(), "steps");
    assert_eq!(cells(&steps, "throughput_per_s"), [Some(10.5), Some(20.0)]);
}

/// The rows of the page's table below a heading, by the name of the table that they describe.
fn described(page: &str, heading: &str) -> Vec<(String, String)> {
    let begin = format!("| {heading} | a row | columns |");
    let body = page.lines().skip_while(|line| !line.starts_with(&begin)).skip(2);
    let rows = body.take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let (_, row) = row.split_once("| ").expect("a cell");
        let (name, columns) = row.split_once(" | ").expect("two cells");
        (name.trim_matches('`').to_string(), columns.to_string())
    })
    .collect()
}

/// A column as the page lists it: one for a value and its interval, and for all latencies those of requests.
fn listed(column: &str) -> String {
    let stem = column.replace("_low", "").replace("_high", "");
    let prefixes = ["ideal_", "exact_", "sub_latency_", "span_"];
    let latency = prefixes.iter().find_map(|prefix| stem.strip_prefix(prefix));
    let latency = latency.map(|rest| format!("latency_{rest}"));
    latency.filter(|_| stem != "ideal_ns").unwrap_or(stem)
}

/// A row may say `as above` of what another lists: then all rows of the page count.
#[test]
fn every_column_is_on_the_page() {
    let page = include_str!("../../../../docs/reference/results.md");
    let all = &page[page.find("## As tables").expect("the section")..];
    for (heading, tables) in documents() {
        let rows = described(all, heading);
        for table in tables {
            let of_table = rows.iter().filter(|(name, _)| [table.name, "all"].contains(&&**name));
            assert!(
                of_table.clone().any(|(name, _)| name == table.name),
                "{heading}: {}",
                table.name
            );
            let above = of_table.clone().any(|(_, columns)| columns.contains("as above"));
            for field in table.batch.schema().fields() {
                let word = format!("`{}`", listed(field.name()));
                let found = of_table.clone().any(|(_, columns)| columns.contains(&word));
                assert!(found || above && all.contains(&word), "{heading}, {}: {word}", table.name);
            }
        }
    }
}
