//! `rearguard ideal --csv` and `--hdr` as a user sees them. The files are in the formats that the tools'
//! sources and manuals state; none was written by the tools themselves.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// A folder with one file.
struct Given {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn given(text: &str) -> Given {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("latencies");
    std::fs::write(&path, text).expect("room");
    Given { path, _folder: folder }
}

fn ideal(option: &str, file: &Given, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(["ideal", option]).arg(&file.path).args(args).output().expect("the command runs")
}

fn json(option: &str, file: &Given, args: &[&str]) -> Value {
    let output = ideal(option, file, &[args, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Arrivals and latencies of a first come, first served queue with services of 100 us, in us: Lindley's
/// recursion, each latency times a factor.
fn served(factor: u64) -> Vec<(u64, u64)> {
    let (mut at, mut free) = (0u64, 0u64);
    (0..20_000u64)
        .map(|number| {
            // Gaps between 0 and 255 us without order: 128 on average.
            at += ((number * 2_654_435_761) >> 7) % 256;
            free = free.max(at) + 100;
            (at, (free - at) * factor)
        })
        .collect()
}

fn oha(factor: u64) -> Given {
    let mut text =
        "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n".to_string();
    for (at, latency) in served(factor) {
        let seconds = |us: u64| us as f64 / 1e6;
        writeln!(text, "{},0,0,0,{},2,200", seconds(at), seconds(latency)).expect("memory");
    }
    given(&text)
}

#[test]
fn a_server_that_is_ideal_is_the_ideal_of_its_own_arrivals() {
    let ratio = |document: &Value, key: &str| document["measured"][key]["value"].as_f64().unwrap();
    let keys = ["ratio_p50", "ratio_p99", "ratio_p99_9"];
    let args = ["--service-time", "100us"];
    let document = json("--csv", &oha(1), &args);
    keys.iter().for_each(|key| assert_eq!(ratio(&document, key), 1.0, "{key}"));
    assert_eq!(document["measured"]["requests"], 20_000);
    // The control: a server that is three times slower.
    let document = json("--csv", &oha(3), &args);
    keys.iter().for_each(|key| assert_eq!(ratio(&document, key), 3.0, "{key}"));
    // Requests of a law of their own are others.
    let document = json("--csv", &oha(1), &[&args[..], &["--rate", "7.8k/s"]].concat());
    assert!(ratio(&document, "ratio_p99") < 0.9, "{document}");
}

#[test]
fn a_service_time_that_cannot_be_is_said() {
    // Also of a time that overloads the ideal, whose interval then says nothing.
    for time in ["125us", "150us"] {
        let slow = ideal("--csv", &oha(1), &["--service-time", time]);
        let said = String::from_utf8_lossy(&slow.stdout).into_owned();
        assert!(said.contains("longer than requests take"), "{time}: {said}");
    }
    let right = ideal("--csv", &oha(1), &["--service-time", "100us"]);
    let said = String::from_utf8_lossy(&right.stdout).into_owned();
    assert!(
        said.contains("p99.9")
            && said.contains("1.00x")
            && !said.contains("longer than requests take"),
        "{said}"
    );
}

/// As wrk2 prints it, in milliseconds.
const SPECTRUM: &str = "Running 30s test @ http://127.0.0.1:80/index.html
  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.100     0.000000            1         1.00
       0.250     0.500000        50000         2.00
       1.000     0.990000        99000       100.00
       2.000     0.999000        99900      1000.00
       4.000     1.000000       100000          inf
#[Mean    =        0.300, StdDeviation   =        0.2]
";

#[test]
fn a_table_of_percentiles_stands_beside_a_queue_at_its_rate() {
    let table = given(SPECTRUM);
    let args = ["--unit", "ms", "--service-time", "100us", "--rate", "8k/s", "--requests", "200k"];
    let document = json("--hdr", &table, &args);
    let measured = &document["measured"];
    let p99 = measured["latency_ns"]["p99"]["value"].as_f64().unwrap();
    assert!((p99 / 1e6 - 1.0).abs() < 1e-6, "{p99}");
    assert_eq!(measured["requests"], 100_000);
    let (ratio, ideal) =
        (&measured["ratio_p99"], document["latency_ns"]["p99"]["value"].as_f64().unwrap());
    assert_eq!(ratio["value"].as_f64().unwrap(), p99 / ideal);
    assert!(ratio["low"].is_null(), "a table has forgotten what came after what");
}

#[test]
fn what_is_missing_has_a_remedy() {
    let table = given(SPECTRUM);
    let said = |option: &str, file: &Given, args: &[&str]| {
        let output = ideal(option, file, args);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said("--hdr", &table, &["--unit", "ms"]).contains("--service-time"));
    assert!(said("--hdr", &table, &["--service-time", "1us"]).contains("--unit"));
    let no_rate = ["--unit", "ms", "--service-time", "1us"];
    let no_rate = said("--hdr", &table, &no_rate);
    assert!(no_rate.contains("expected --rate") && no_rate.contains("latencies: "), "{no_rate}");
    for time in ["0", "99ns"] {
        let said = said("--csv", &oha(1), &["--service-time", time]);
        assert!(said.contains("expected at least 100 ns"), "{time}: {said}");
    }
    assert!(
        said("--csv", &given("a,b\n1,2\n"), &["--service-time", "1us"])
            .contains("oha, hey, k6 or vegeta")
    );
    let overload = ["--unit", "ms", "--service-time", "1ms", "--rate", "8k/s"];
    assert!(said("--hdr", &table, &overload).contains("add workers"));
}
