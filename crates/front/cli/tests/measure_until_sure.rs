//! `rearguard measure --until-sure` as a user sees it. Counts are asserted, never latencies.

#[path = "support/loopback.rs"]
mod loopback;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

fn rearguard(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.arg("measure").args(args).output().expect("the built command runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SERVER: [&str; 4] =
    ["--start", "null-rpc", "--target", "null-rpc://127.0.0.1:0?service=100us"];
const LOAD: [&str; 7] = ["--rate", "500/s", "--duration", "500ms", "--warm-up", "100ms", "--json"];

/// The result; nothing where this machine's noise delays the generator.
fn document(args: &[&str]) -> Option<(Value, String)> {
    let output = rearguard(&[&SERVER[..], &LOAD, args].concat());
    let said = said(&output);
    if !output.status.success() && said.contains("could not keep its schedule") {
        eprintln!("skipped, as this machine cannot: {said}");
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    Some((serde_json::from_slice(&output.stdout).expect("JSON"), said))
}

#[test]
fn looks_take_twice_as_long_until_none_is_left() {
    // No 1,000 requests tell p99.9 that well.
    let Some((found, said)) = document(&["--until-sure=1500ms", "--precision", "0.001%"]) else {
        return;
    };
    let looks = &found["looks"];
    assert_eq!((&looks["taken"], &looks["planned"]), (&2.into(), &2.into()));
    assert_eq!((&looks["is_sure"], &looks["measured_ns"]), (&false.into(), &1_500_000_000.into()));
    assert_eq!(found["duration_ns"], 1_000_000_000, "of the last look alone");
    assert_eq!(found["latency_ns"]["p99_9"], looks["p99_9_ns"]);
    assert!(said.contains("look 1 of 2") && said.contains("measuring anew for 1.00 s"), "{said}");
    // The control: without it there is one run of the time that was asked.
    let Some((once, said)) = document(&[]) else { return };
    assert!(once["looks"].is_null() && once["duration_ns"] == 500_000_000, "{once}");
    assert!(!said.contains("look 1 of"), "{said}");
}

/// The mean time of the server below, far above what a machine's own noise adds.
const MEAN_S: f64 = 0.01;

/// How long a request takes: exponential, and alike to no neighbour.
fn service(request: u64) -> Duration {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(request);
    let share = (hash >> 11) as f64 / (1u64 << 53) as f64;
    Duration::from_secs_f64(-MEAN_S * (1.0 - share).ln())
}

/// A server that works on each request by itself.
fn server() -> String {
    static REQUESTS: AtomicU64 = AtomicU64::new(0);
    let address = loopback::serve(|mut stream| {
        while stream.read(&mut [0; 16]).is_ok_and(|count| count > 0) {
            thread::sleep(service(REQUESTS.fetch_add(1, Ordering::Relaxed)));
            let _ = stream.write_all(b".");
        }
    });
    format!("tcp://{address}")
}

#[test]
fn it_ends_as_soon_as_it_is_sure() {
    let target = server();
    let asked = ["--target", &target, "--request", "x", "--response", "length:1", "--json"];
    let load = ["--rate", "4k/s", "--duration", "250ms", "--connections", "256"];
    let until = ["--until-sure=31s", "--precision", "90%"];
    let output = rearguard(&[&asked[..], &load, &until].concat());
    let said = said(&output);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    if !found["disturbance"].is_null() || said.contains("could not keep its schedule") {
        eprintln!("skipped, as this machine cannot: {said}");
        return;
    }
    let looks = &found["looks"];
    let count = |key: &str| looks[key].as_u64().expect("a count");
    assert!(looks["is_sure"] == true && count("taken") < count("planned"), "{looks} {said}");
    assert!(looks["reach"].as_f64().is_some_and(|reach| reach <= 0.9), "{looks}");
    // The control: 1,000 requests bound no p99.9, so there was more than one look.
    assert!(count("taken") > 1, "{looks}");
}

/// Ctrl-C when that many looks are over: the exit code, the result, and what was said until then.
fn interrupted(looks: usize) -> (Option<i32>, Vec<u8>, String) {
    let until = ["--until-sure=30s", "--precision", "0.001%"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.arg("measure").args(SERVER).args(LOAD).args(until);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = String::new();
    while looks > 0 && !said.contains(&format!("look {looks} of")) {
        if errors.read_line(&mut said).expect("UTF-8") == 0 {
            break;
        }
    }
    thread::sleep(Duration::from_millis(200));
    // It may have ended by itself, for this machine's noise.
    let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT);
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), output.stdout, said)
}

#[test]
fn an_interrupted_look_leaves_the_result_of_the_one_before() {
    let (code, found, said) = interrupted(1);
    if said.contains("could not keep its schedule") {
        eprintln!("skipped, as this machine cannot: {said}");
        return;
    }
    assert_eq!(code, Some(130), "{said}");
    let found: Value = serde_json::from_slice(&found).expect("JSON");
    assert_eq!((&found["looks"]["taken"], &found["looks"]["is_sure"]), (&1.into(), &false.into()));
    assert_eq!(found["duration_ns"], 500_000_000);
    // The control: before the first is over there is none to show.
    let (code, found, said) = interrupted(0);
    assert!(code == Some(130) && found.is_empty(), "{said}");
}

#[test]
fn limits_that_cannot_be_are_refused() {
    let cases: [(&[&str], &str); 4] = [
        (&["--rate", "1/s", "--until-sure=5s"], "less than the first look takes, 10.0 s"),
        (&["--rate", "1/s", "--until-sure=0s"], "more than 0"),
        (&["--rate", "90k/s", "--until-sure"], "a shorter --duration, --warm-up or --until-sure"),
        (&["--stamps", "s.txt", "--until-sure"], "cannot be used with"),
    ];
    for (args, why) in cases {
        let output = rearguard(&[&["--target", "memcached://127.0.0.1:9"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(why), "{args:?}: {}", said(&output));
    }
    let alone = rearguard(&["--target", "memcached://127.0.0.1:9", "--precision", "0.1"]);
    assert_eq!(alone.status.code(), Some(2), "of what? {}", said(&alone));
    // The control: nothing is wrong with a limit of a minute, only no server is there.
    let fits = ["--rate", "1/s", "--until-sure=1m", "--precision", "0.1"];
    let output = rearguard(&[&["--target", "memcached://127.0.0.1:9"], &fits[..]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}
