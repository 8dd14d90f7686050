//! The table and the JSON, held against files; `RG_BLESS=1` writes these anew.

mod fixture;

use std::path::Path;

fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("RG_BLESS").is_some() {
        std::fs::write(&path, text).expect("a writable source tree");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{name} differs (RG_BLESS=1 accepts it):\n{text}");
}

fn plain(text: &str) -> String {
    let mut left = String::new();
    let mut parts = text.split('\u{1b}');
    left.push_str(parts.next().unwrap_or_default());
    parts.for_each(|part| left.push_str(part.split_once('m').expect("a colour").1));
    left
}

#[test]
fn the_table_equals_the_golden_file() {
    let document = fixture::comparison();
    golden("table-120.txt", &plain(&report::table(&document, 120)));
    golden("table-80.txt", &plain(&report::table(&document, 80)));
    golden("comparison.md", &report::markdown(&document));
}

#[test]
fn an_answer_by_pairs_says_so() {
    let mut document = fixture::comparison();
    let words = "one or two runs hold a tail";
    assert!(!report::markdown(&document).contains(words));
    let tail = document.verdicts.iter_mut().find(|one| one.a == "eevdf").expect("a verdict");
    tail.by_pairs = true;
    let text = report::markdown(&document);
    assert!(text.contains(&format!("* eevdf: {words}, so the answer is")), "{text}");
    let back: report::Document = serde_json::from_str(&report::json(&document)).expect("our JSON");
    assert_eq!(back, document);
}

#[test]
fn the_json_equals_the_golden_file_and_reads_back() {
    let document = fixture::small();
    let text = report::json(&document);
    golden("compare.json", &text);
    assert_eq!(serde_json::from_str::<report::Document>(&text).expect("our own JSON"), document);
}

#[test]
fn a_cluster_that_was_full_once_is_not_called_unstable() {
    let mut run = fixture::cluster(&[0.9]);
    let case = &mut run.cases[0];
    (case.stable, case.utilisation) = (true, Some(1.0));
    let table = plain(&report::cluster_table(&run, 200));
    assert!(table.contains("90.0% full") && table.contains("Full, so that"), "{table}");
    // The control: the other case has a load that is surely too much.
    assert!(table.contains("90.0% unstable") && table.contains("Unstable, so that"), "{table}");
    run.cases.iter_mut().for_each(|case| (case.stable, case.utilisation) = (true, Some(0.9)));
    let table = plain(&report::cluster_table(&run, 200)).to_lowercase();
    assert!(!table.contains("full") && !table.contains("stable"), "{table}");
}

#[test]
fn a_proof_says_what_is_told_apart_what_is_not_and_what_is_missing() {
    let proof = fixture::proof();
    golden("proof.md", &report::markdown(&proof));
    let table = plain(&report::proof_table(&proof, 200));
    let told = "Tails under mine against the default class: 1 shorter, 0 longer, 1 not told apart, of 3 rows.";
    assert!(table.starts_with(told), "{table}");
    for words in
        ["Not measured: four: five CPUs", "This is a virtual machine.", "told apart in 0 of 3 rows"]
    {
        assert!(table.contains(words), "no `{words}` in:\n{table}");
    }
    let html = report::proof_html(&proof);
    assert!(html.contains("Eight &lt;8 GHz&gt;") && html.contains("better 0.50x"), "{html}");
    let text = report::json(&proof);
    assert_eq!(serde_json::from_str::<report::proof::Proof>(&text).expect("our own JSON"), proof);
    assert!(!report::proof_html(&report::proof::Proof::default()).contains("NaN"));
}

#[test]
fn one_ideal_has_its_figures_at_the_top() {
    let curve = report::Curve { ccdf: Vec::new(), ..fixture::figure().curves.remove(0) };
    let ideal =
        report::Ideal { schema: report::IDEAL_SCHEMA.into(), curve, ..report::Ideal::default() };
    let read: serde_json::Value = serde_json::from_str(&report::json(&ideal)).expect("JSON");
    assert_eq!(read["schema"], "rearguard.ideal/1");
    assert!(read["latency_ns"]["p99_9"]["low"].is_f64() && read["exact_ns"]["mean"].is_f64());
    assert_eq!(read["requests"], 10_000_000);
}

#[test]
fn what_is_unknown_or_unbounded_is_null() {
    let estimate = report::document::Estimate::new(f64::INFINITY, 2.5, f64::NAN);
    let text = serde_json::to_string(&estimate).expect("JSON");
    assert_eq!(text, r#"{"value":null,"low":2.5,"high":null}"#);
}

#[test]
fn a_policy_that_loses_its_requests_is_worse_without_a_number() {
    let shown = |ratio: report::document::Estimate| {
        let mut document = fixture::comparison();
        let worse = report::document::Answer::Worse;
        for verdict in document.verdicts.iter_mut().filter(|one| one.a != one.b) {
            (verdict.answer, verdict.ratio) = (worse, ratio);
        }
        plain(&report::table(&document, 200))
    };
    let infinite = f64::INFINITY;
    let lost = shown(report::document::Estimate::new(infinite, infinite, infinite));
    assert!(lost.contains("worse, lost") && !lost.contains("worse -"), "{lost}");
    let number = shown(report::document::Estimate::new(3.0, 2.0, 4.0));
    assert!(number.contains("worse 3.00x") && !number.contains("lost"), "the control: {number}");
}

#[test]
fn an_ideal_that_cannot_be_has_no_ratio_in_any_row() {
    let of = |ms: f64| report::document::Estimate::new(ms * 1e6, ms * 9e5, ms * 1.1e6);
    let latency = |ms| report::document::Latency { p99_9: of(ms), ..Default::default() };
    let table = |excess_p99_9| {
        let at_least_ns = latency(8.0);
        let disturbance = Some(report::Disturbance { at_least_ns, ..Default::default() });
        let service = report::document::ProgramResult {
            latency_ns: Some(latency(10.0)),
            ideal_ns: Some(latency(2.0)),
            excess_p99_9,
            ..Default::default()
        };
        let measured = report::Measured { service, disturbance, ..Default::default() };
        plain(&report::measure_table(&measured, 200))
    };
    assert!(table(Some(5.0)).contains("4.00x"), "the control: {}", table(Some(5.0)));
    assert!(!table(None).contains("4.00x"), "{}", table(None));
}

#[test]
fn kinds_have_a_row_each_and_say_what_they_cannot_tell() {
    let kind = |name: &str, requests: u64, ms: f64| {
        let p99_9 = report::document::Estimate::exact(ms * 1e6);
        let latency_ns = Some(report::document::Latency { p99_9, ..Default::default() });
        report::KindResult {
            name: name.into(),
            kinds: 1,
            requests,
            latency_ns,
            ..Default::default()
        }
    };
    let others = report::KindResult { kinds: 480, ..kind(report::OTHERS, 20, 9.0) };
    let lost = report::KindResult { lost: 7, latency_ns: None, ..kind("GET /gone", 5_000, 0.0) };
    let table = |kinds| {
        plain(&report::measure_table(&report::Measured { kinds, ..Default::default() }, 120))
    };
    let found = table(Some(vec![kind("GET /a", 1_000, 3.0), lost, others]));
    let row = |begin: &str| found.lines().find(|line| line.starts_with(begin)).expect("a row");
    assert!(row("GET /a").ends_with("3.00 ms"), "{found}");
    assert!(row("GET /gone").contains(" 7 ") && row("GET /gone").ends_with("lost"), "{found}");
    assert!(row("480 others").ends_with("cannot tell"), "{found}");
    assert!(!table(None).contains("kinds of requests"), "the control");
}

#[test]
fn kinds_have_room_on_a_narrow_terminal() {
    let quantile = report::document::Estimate::new(123e6, 1e6, f64::INFINITY);
    let kind = report::KindResult {
        name: "n".repeat(36),
        kinds: 1,
        requests: 200,
        lost: 3,
        complaints: 4,
        latency_ns: Some(report::document::Latency { p99: quantile, ..Default::default() }),
        ..Default::default()
    };
    let measured = report::Measured { kinds: Some(vec![kind]), ..Default::default() };
    let rows = |width| {
        let text = plain(&report::measure_table(&measured, width));
        let from = text.find("kinds of requests").expect("the table");
        text[from..].lines().map(String::from).collect::<Vec<_>>()
    };
    assert!(rows(80).iter().all(|line| line.chars().count() <= 80), "{:?}", rows(80));
    assert!(
        rows(80)[2].contains("123 ms") && rows(80)[2].contains("cannot tell"),
        "{:?}",
        rows(80)
    );
    // The control: where there is room nothing is left out.
    assert!(rows(160)[1].contains("complaints") && rows(160)[2].contains("[1, inf]"));
}

#[test]
fn the_last_look_says_when_it_was_sure_and_its_interval_is_that_of_p99_9() {
    let of = |low: f64, high: f64| report::document::Estimate::new(3e6, low, high);
    let latency = report::document::Latency { p99_9: of(2.9e6, 3.1e6), ..Default::default() };
    let service =
        report::document::ProgramResult { latency_ns: Some(latency), ..Default::default() };
    let disturbance =
        Some(report::Disturbance { at_least_ns: latency, late_by_ns: 1, ..Default::default() });
    let one = report::Measured { service, disturbance, ..Default::default() };
    let looks = |is_sure, reach, high| report::MeasureLooks {
        taken: 2,
        planned: 5,
        is_sure,
        precision: 0.05,
        reach,
        p99_9_ns: of(2e6, high),
        measured_ns: 30_000_000_000,
    };
    let last = |looks| {
        let text = plain(&report::measure_table(&one.clone().with_looks(looks), 200));
        text.lines().last().expect("lines").to_string()
    };
    let begin = "p99.9 within 5.0% on either side, with 95% confidence over 5 looks; ";
    let sure = looks(true, Some(0.04), 4e6);
    assert_eq!(last(sure), format!("{begin}sure at look 2, after 30 s"));
    let unsure = last(looks(false, Some(0.4), 4e6));
    assert!(
        unsure.starts_with(&format!("{begin}not sure yet after 30 s: within 40.0%")),
        "{unsure}"
    );
    let unbounded = last(looks(false, None, f64::INFINITY));
    assert_eq!(unbounded, format!("{begin}not sure yet after 30 s: it has no bound"));
    let wider = one.clone().with_looks(sure).at_least().latency_ns.expect("a latency").p99_9;
    assert_eq!((wider.low, wider.high), (Some(2e6), Some(4e6)));
    let control = one.at_least().latency_ns.expect("a latency").p99_9;
    assert_eq!((control.low, control.high), (Some(2.9e6), Some(3.1e6)));
}

#[test]
fn no_table_is_wider_than_its_terminal_where_columns_can_go() {
    for width in [80, 100, 120, 160] {
        for line in plain(&report::table(&fixture::comparison(), width)).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn tones_are_escapes_and_nothing_else_is() {
    let text = report::table(&fixture::comparison(), 120);
    assert!(text.contains("\u{1b}[32m") && text.contains("\u{1b}[31m"), "green and red");
    let escapes = text.matches('\u{1b}').count();
    assert_eq!(escapes, text.matches("\u{1b}[").count());
}

#[test]
fn strange_results_are_rendered_without_a_panic() {
    let text = plain(&report::table(&fixture::strange(), 120));
    assert!(text.contains("> 4.00 ms") && text.contains("2,400"), "{text}");
    let empty = report::Document::default();
    assert!(!report::table(&empty, 0).contains("NaN") && !report::html(&empty).contains("NaN"));
    assert_eq!(report::picture(&empty), None);
}
