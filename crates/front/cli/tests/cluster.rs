//! `rearguard cluster` as a user sees it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

fn rearguard(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(args).current_dir(ROOT).output().expect("the built command runs")
}

fn out(args: &[&str]) -> String {
    let output = rearguard(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A short run of a shipped cluster.
const SHORT: [&str; 7] = [
    "cluster",
    "clusters/redundancy-and-load.toml",
    "--duration",
    "4s",
    "--utilisation",
    "0.2,0.45",
    "--json",
];

#[test]
fn the_document_says_where_redundancy_turns() {
    let document: Value = serde_json::from_str(&out(&SHORT)).expect("JSON");
    assert_eq!(document["schema"], "rearguard.cluster/1");
    assert_eq!(document["cases"].as_array().expect("cases").len(), 12);
    let turn = &document["turns"][0];
    assert_eq!(turn["rule"], "random replicate:copies=2:cancel=nothing");
    assert_eq!(
        (turn["helps_up_to"].as_f64(), turn["harms_from"].as_f64()),
        (Some(0.2), Some(0.45))
    );
    // The control: tied copies harm at neither load.
    assert!(document["turns"][4]["harms_from"].is_null(), "{}", document["turns"][4]);
    let case = &document["cases"][0];
    let latency = &case["latency_ns"]["p99"];
    assert!(latency["low"].as_f64() < latency["value"].as_f64());
    assert_eq!(case["copies_per_sub_request"], 1.0);
}

#[test]
fn jobs_change_no_byte_and_seeds_do() {
    let with = |more: &[&str]| {
        let document: Value =
            serde_json::from_str(&out(&[&SHORT[..], more].concat())).expect("JSON");
        document["cases"].to_string()
    };
    let one = with(&["--jobs", "1"]);
    assert_eq!(one, with(&["--jobs", "4"]));
    assert_ne!(one, with(&["--jobs", "1", "--seed", "2"]));
}

#[test]
fn fanout_reads_a_clusters_document() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.json");
    std::fs::write(&file, out(&SHORT)).expect("a written file");
    let path = file.to_str().expect("UTF-8");
    let text = out(&["fanout", path, "--threshold", "5ms", "--servers", "10"]);
    assert!(text.contains("random at 20"), "{text}");
    // A measured leaf is the same distribution, without a queue.
    let cluster = "# A measured leaf.\nduration = \"4s\"\nfan_out = 10\narrivals.rate = \"5k/s\"\noutlier_threshold = \"5ms\"\n\
        leaf = { servers = 20, measured = \"cluster.json\" }\n";
    let toml = folder.path().join("measured.toml");
    std::fs::write(&toml, cluster).expect("a written file");
    let document: Value =
        serde_json::from_str(&out(&["cluster", toml.to_str().expect("UTF-8"), "--json"]))
            .expect("JSON");
    let source: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).expect("text")).expect("JSON");
    let of = |document: &Value, key: &str| {
        document["cases"][0][key]["p99"]["value"].as_f64().expect("a value")
    };
    let (leaf, whole) = (&document["cases"][0]["sub_requests"], of(&source, "latency_ns"));
    let again = leaf["latency_ns"]["p99"]["value"].as_f64().expect("a value");
    assert!((again / whole - 1.0).abs() < 0.03, "{again} {whole}");
}

#[test]
fn shipped_clusters_are_valid_and_reports_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    for file in std::fs::read_dir(Path::new(ROOT).join("clusters")).expect("clusters/") {
        let path = file.expect("a file").path();
        let report = folder.path().join("report.html");
        let path = path.to_str().expect("UTF-8");
        let args =
            ["cluster", path, "--duration", "20ms", "--dispatch", "random", "--utilisation", "0.3"];
        out(&[&args[..], &["--report", report.to_str().expect("UTF-8")]].concat());
        let page = std::fs::read_to_string(&report).expect("a page");
        assert!(page.contains("<svg") && page.contains("How this was made"), "{path}");
    }
}

#[test]
fn mistakes_end_with_a_remedy() {
    for (args, words) in [
        (&["cluster", "nowhere.toml"][..], "nowhere.toml"),
        (
            &["cluster", "clusters/dispatch.toml", "--utilisation", "1.2"],
            "queues would grow for ever",
        ),
        (&["cluster", "clusters/dispatch.toml", "--dispatch", "fastest"], "expected one of random"),
        (&["cluster", "clusters/dispatch.toml", "--duration", "0s"], "expected more than 0"),
        (&["cluster", "clusters/dispatch.toml", "--redundancy", "tied"], "batch sampling"),
    ] {
        let output = rearguard(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(words), "{args:?}: {said}");
    }
}
