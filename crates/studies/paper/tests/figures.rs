//! The table of figures is whole, and a cheap figure is what its paper says.

use std::collections::BTreeSet;
use std::path::Path;

use experiment::Store;
use model::Silent;
use paper::{Effort, Entry, FIGURES, check, definition, find};
use report::{Agreement, PaperFigure};

const EFFORT: Effort = Effort { requests: 20_000, seed: 1, seeds: 1 };

fn made(entry: &Entry, definition: &paper::Definition) -> PaperFigure {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let figure = paper::made(entry, definition, EFFORT, &store, &Silent).unwrap();
    let again = paper::made(entry, definition, EFFORT, &store, &Silent).unwrap();
    assert_eq!(figure, again, "out of the store");
    figure
}

fn produce(entry: &Entry) -> PaperFigure {
    made(entry, &definition(entry).unwrap())
}

#[test]
fn every_figure_fits_together_and_has_a_name_of_its_own() {
    let mut names = BTreeSet::new();
    for entry in FIGURES {
        check(entry).unwrap();
        assert!(names.insert((entry.paper, entry.figure)), "{entry:?} stands twice");
    }
    let files = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("figures")).unwrap();
    assert_eq!(files.count(), FIGURES.len(), "a file of figures/ is not in the table");
}

#[test]
fn a_wrong_name_says_what_there_is() {
    let words = |paper, figure| find(paper, figure).unwrap_err().to_string();
    assert!(words("gvts", Some("99")).contains("table-1"));
    assert!(words("bible", None).contains("gvts"));
    assert!(words("all", Some("8")).contains("no figure"));
    assert_eq!(find("all", None).unwrap().len(), FIGURES.len());
}

#[test]
fn gvts_figure_8_shows_what_the_paper_says_and_its_control_fails() {
    let entry = find("gvts", Some("8")).unwrap()[0];
    let closer = |balance: &str| {
        let mut figure = definition(&entry).unwrap();
        figure.runs[0].policies = vec!["cfs".to_string(), balance.to_string()];
        figure.claims.truncate(1);
        figure.values.clear();
        figure.claims[0].holds = format!("{balance} lag_s < 0.1 * cfs lag_s");
        made(&entry, &figure).claims.remove(0)
    };
    let (balanced, control) = (closer("gvts"), closer("gvts:balance=none"));
    assert_eq!(balanced.agreement, Agreement::Qualitative, "{balanced:?}");
    assert_eq!(control.agreement, Agreement::Not, "{control:?}");
}

#[test]
fn a_chart_draws_every_run() {
    let entry = find("tales", Some("8")).unwrap()[0];
    let figure = definition(&entry).unwrap();
    let drawn = made(&entry, &figure).chart.unwrap();
    let names = |all: &[report::Series]| all.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&drawn.series), ["4 cores", "3 cores", "spread", "dedicated"]);
    let mut one = figure.clone();
    one.runs.truncate(1);
    one.claims.clear();
    one.values.clear();
    let drawn = made(&entry, &one).chart.unwrap();
    assert_eq!(names(&drawn.series), ["fifo"], "a single run is named by its policies");
    let queues = find("tales", Some("1")).unwrap()[0];
    let drawn = produce(&queues).chart.unwrap();
    assert_eq!(names(&drawn.series)[..2], ["poisson", "lognormal:cv=2"], "queues without a run");
}

#[test]
fn only_tables_and_what_cannot_be_produced_have_no_picture() {
    let bare = FIGURES.iter().filter(|entry| definition(entry).unwrap().chart.is_none());
    let names: Vec<String> = bare.map(|one| format!("{} {}", one.paper, one.figure)).collect();
    let expected = ["tales table-1", "cts fan-out", "gvts 20", "gvts table-1", "10ms fan-out"];
    assert_eq!(names, expected);
}

#[test]
fn exact_tables_are_exact() {
    let entry = find("10ms", Some("fan-out")).unwrap()[0];
    let figure = produce(&entry);
    let ours: Vec<f64> = figure.values.iter().filter_map(|value| value.ours).collect();
    let known = [0.633968, 1.0, 1.05360e-5, 1.053553e-4, 5.12920e-5];
    for (ours, known) in ours.iter().zip(known) {
        assert!((ours / known - 1.0).abs() < 1e-4, "{ours} is not {known}");
    }
    assert_eq!(ours.len(), known.len());
    assert!(figure.values[2].agreement == Agreement::Within20Percent);
}
