//! A mix of requests, as a user of `rearguard measure` sees it: each kind has figures of its own.

#[path = "support/loopback.rs"]
mod loopback;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// How long the slow page takes, at least.
const SLOW: Duration = Duration::from_millis(20);
const SLOW_NS: f64 = 20e6;

/// Answers requests of a connection, `GET /slow` later than others.
fn answer(mut stream: TcpStream) {
    let mut bytes = [0; 1024];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        if bytes[..count].starts_with(b"GET /slow") {
            thread::sleep(SLOW);
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
}

/// What is printed of 300 requests a second for a second with these options; nothing where this machine's
/// noise delays the generator.
fn measured(args: &[&str]) -> Option<String> {
    let load = ["--rate", "300/s", "--duration", "1s", "--warm-up", "100ms"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let output = command.arg("measure").args(args).args(load).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && said.contains("could not keep its schedule") {
        eprintln!("skipped, as this machine cannot: {said}");
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

fn document(args: &[&str]) -> Option<Value> {
    measured(&[args, &["--json"]].concat()).map(|text| serde_json::from_str(&text).expect("JSON"))
}

#[test]
fn each_kind_of_a_mix_has_its_own_figures() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mix.txt");
    std::fs::write(&file, "9 GET /fast\n1 GET /slow secret\n").expect("a file");
    let target = format!("http://{}", loopback::serve(answer));
    let file = file.display().to_string();
    let mix = ["--target", &target, "--requests", &file];
    let (Some(found), Some(text)) = (document(&mix), measured(&mix)) else { return };
    let kinds = found["kinds"].as_array().expect("kinds");
    let names: Vec<&str> = kinds.iter().filter_map(|kind| kind["name"].as_str()).collect();
    assert_eq!(names, ["GET /fast", "GET /slow"], "and no body");
    let p50 = |kind: &Value| kind["latency_ns"]["p50"]["value"].as_f64().expect("a median");
    assert!(p50(&kinds[0]) < SLOW_NS && p50(&kinds[1]) >= SLOW_NS, "{kinds:?}");
    let count = |kind: &Value| kind["requests"].as_u64().expect("a count");
    assert_eq!(Some(count(&kinds[0]) + count(&kinds[1])), found["requests"].as_u64());
    assert!(kinds[0]["latency_ns"]["p99"]["value"].is_f64());
    assert!(kinds[1]["latency_ns"]["p99_9"]["value"].is_null(), "of 30 requests");
    let row = text.lines().find(|line| line.starts_with("GET /slow")).expect("a row");
    assert!(row.contains("ms") && row.contains("cannot tell"), "{text}");
    // The control: where all requests are alike there are no kinds.
    let Some(alone) = document(&["--target", &target]) else { return };
    assert!(alone["kinds"].is_null(), "{alone}");
}
