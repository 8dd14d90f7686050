//! `rearguard fanout` as a user sees it.

use std::process::{Command, Output};

use serde_json::Value;

fn fanout(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.arg("fanout").args(args).output().expect("the built command runs")
}

fn json(args: &[&str]) -> Value {
    let output = fanout(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap_or(f64::NAN);
    assert!((found / expected - 1.0).abs() < 1e-3, "{found}, expected {expected}");
}

#[test]
fn a_proportion_is_amplified_exactly() {
    let document = json(&["--proportion", "0.01", "--servers", "100"]);
    assert_eq!(document["schema"], "rearguard.fanout/1");
    close(&document["service_proportion"], 0.63397);
    assert!(document["required_proportion"].is_null() && document["reduction"].is_null());
    let document = json(&["--proportion", "0.0918", "--servers", "1k", "--target", "0.1"]);
    close(&document["required_proportion"], 1.05355e-4);
    close(&document["reduction"], 871.0);
    let containers = json(&["--proportion", "0.01", "--servers", "25", "--per-server", "4"]);
    close(&containers["service_proportion"], 0.63397);
}

/// M/M/1 at 50%: P(T > t) = e^(-t/2) for a mean service of 1.
#[test]
fn a_simulated_queue_has_its_exact_proportion() {
    let law = ["--service", "exponential", "--service-time", "1ms", "--utilisation", "0.5"];
    let document = json(&[&law[..], &["--threshold", "5ms,10ms", "--requests", "400k"]].concat());
    for (row, t) in document["rows"].as_array().expect("rows").iter().zip([5.0f64, 10.0]) {
        let (exact, found) = ((-t / 2.0).exp(), &row["proportion"]);
        let end = |key: &str| found[key].as_f64().expect("an end");
        assert!(end("low") < exact && exact < end("high"), "{found}, expected {exact}");
        close(&row["valid_throughput_per_s"], 500.0 * (1.0 - end("value")));
        let service = &row["service_proportion"];
        assert!(service["low"].as_f64() <= Some(1.0 - (1.0 - exact).powi(100)));
    }
}

/// Services that all take 1 ms: nothing is faster, and half of all requests, which wait, are slower.
#[test]
fn nothing_is_faster_than_a_fixed_service() {
    let law = ["--service", "fixed", "--service-time", "1ms", "--utilisation", "0.5"];
    let document = json(&[&law[..], &["--threshold", "500us,1ms"]].concat());
    let value = |row: usize| document["rows"][row]["proportion"]["value"].as_f64();
    assert_eq!(value(0), Some(1.0));
    let waits = value(1).expect("a value");
    assert!((waits - 0.5).abs() < 0.05, "the control: {waits}");
}

#[test]
fn a_result_document_is_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ideal.json");
    let ideal = Command::new(env!("CARGO_BIN_EXE_rearguard"))
        .args(["ideal", "--requests", "50k", "--json"])
        .output()
        .expect("the built command runs");
    std::fs::write(&file, ideal.stdout).expect("a written file");
    let file = file.to_str().expect("UTF-8");
    let p50 = json(&[file, "--threshold", "113797ns"]);
    let found = p50["rows"][0]["proportion"]["value"].as_f64().expect("a value");
    assert!((found - 0.5).abs() < 0.03, "the median of M/D/1 at 80%: {found}");
    let without = fanout(&[file]);
    assert_eq!(without.status.code(), Some(2), "an ideal has no threshold of its own");
    assert!(String::from_utf8_lossy(&without.stderr).contains("--threshold"));
}

/// A comparison brings its own threshold, and every policy's pooled distribution; the ideal's and those of
/// single seeds are not among them.
#[test]
fn a_comparison_is_read_policy_by_policy() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("compare.json");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/null-rpc.toml");
    let compared = Command::new(env!("CARGO_BIN_EXE_rearguard"))
        .args(["compare", scenario, "--policy", "cfs,eevdf", "--seeds", "2", "--duration", "1s"])
        .arg("--json")
        .output()
        .expect("the built command runs");
    std::fs::write(&file, &compared.stdout).expect("a written file");
    let compared: Value = serde_json::from_slice(&compared.stdout).expect("JSON");
    let file = file.to_str().expect("UTF-8");
    let document = json(&[file, "--servers", "2"]);
    let rows = document["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    let results = compared["results"].as_array().expect("results").iter();
    for (row, result) in rows.iter().zip(results.filter(|result| result["seed"].is_null())) {
        let program = &result["programs"][0];
        let own = &program["outlier"];
        let name = format!("{} service", result["policy"].as_str().expect("a name"));
        assert_eq!(row["source"].as_str(), Some(&*name));
        assert_eq!(row["threshold_ns"], own["threshold_ns"]);
        let value = |of: &Value| of["proportion"]["value"].as_f64().expect("a share");
        assert!((value(row) - value(own)).abs() < 0.002 + 0.1 * value(own), "{row} {own}");
        let service = row["service_proportion"]["value"].as_f64().expect("a share");
        assert!((service - (1.0 - (1.0 - value(row)).powi(2))).abs() < 1e-9, "{row}");
    }
}

/// The milliseconds of wrk2 were taken for nanoseconds, of which none is late.
#[test]
fn a_histogram_takes_its_unit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wrk2.hgrm");
    let table = "  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       1.000     0.900000        90000        10.00
       9.000     0.990000        99000       100.00
      12.000     1.000000       100000          inf
";
    std::fs::write(&path, table).expect("a written file");
    let args = [path.to_str().expect("UTF-8"), "--threshold", "5ms"];
    let output = fanout(&args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("wrk2.hgrm: ") && said.contains("expected --unit ns, us, ms"), "{said}");
    let late = |unit: &'static str| {
        let document = json(&[&args[..], &["--unit", unit]].concat());
        document["rows"][0]["proportion"]["value"].as_f64().expect("a share")
    };
    assert!(late("ms") >= 0.01, "the control: {}", late("ms"));
    assert_eq!(late("ns"), 0.0, "as it was read");
}

#[test]
fn bad_input_names_its_remedy() {
    for (args, words) in [
        (&[][..], "--proportion P, a FILE with results, or --service LAW"),
        (&["--proportion", "2"], "expected a proportion from 0 to 1"),
        (&["--proportion", "0.1", "--servers", "0"], "expected 1 to 1G"),
        (&["--proportion", "0.1", "--target", "1"], "above 0 and below 1"),
        (&["nowhere.json"], "nowhere.json"),
    ] {
        let output = fanout(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(words), "{args:?}: {said}");
    }
}
