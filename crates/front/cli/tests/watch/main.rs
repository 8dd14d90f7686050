//! Running services watched, as a user sees it: the culprit is named. Takes root, a kernel with BTF,
//! memcached and nginx; says so where it is skipped.
#![cfg(feature = "bpf")]

#[path = "../support/child_guard.rs"]
mod child_guard;
mod guest;
mod otlp;
#[path = "../../../../studies/recorder/tests/otlp/receiver.rs"]
mod receiver;
mod recorder;
mod server;
mod storm;

use std::cell::Cell;
use std::io::Seek;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

use child_guard::ChildGuard;
use serde_json::Value;
use server::{FIRST, LAST, Server, last_cpu, on_last_cpu};
use storm::{Storm, Weather};

/// Servers and culprits share a CPU.
static ALONE: Mutex<()> = Mutex::new(());

fn rearguard(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(words);
    command
}

/// The document of `rearguard explain` with these words while requests come; `None` where this machine
/// cannot.
fn explained(server: &Server, which: [&str; 2]) -> Option<Value> {
    let mut command = rearguard(&["explain", "--json", "--duration", "3s"]);
    // Into a file: a pipe is not read before the watch is over.
    let mut document = tempfile::tempfile().expect("a file");
    let copy = document.try_clone().expect("a second handle");
    command.args(which).stdout(copy).stderr(Stdio::piped());
    let mut watch = command.spawn().expect("it runs");
    server.ask_until(|| watch.try_wait().expect("a child").is_some());
    let output = watch.wait_with_output().expect("an end");
    if !output.status.success() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    document.rewind().expect("a file");
    Some(serde_json::from_reader(document).expect("JSON"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn findings(document: &Value) -> impl Iterator<Item = &Value> {
    document["services"][0]["findings"].as_array().into_iter().flatten()
}

/// The part of culprits of that name in what all sources took of the slow requests.
fn part(document: &Value, name: &str) -> f64 {
    let of = |finding: &Value| {
        let culprits = finding["culprits"].as_array().into_iter().flatten();
        let own = culprits.filter(|one| one["name"].as_str().is_some_and(|n| n.starts_with(name)));
        number(&finding["share"]) * own.map(|one| number(&one["share"])).sum::<f64>()
    };
    findings(document).map(of).sum()
}

/// What a source took of a slow request, in milliseconds.
fn took_ms(document: &Value, source: &str) -> f64 {
    let own = findings(document).find(|finding| finding["source"] == source);
    own.map_or(0.0, |finding| number(&finding["slow_ns"]) / 1e6)
}

/// The sources, what each took of a slow request in nanoseconds, and its greatest culprit.
fn summary(document: &Value) -> String {
    let told = |finding: &Value| {
        let [source, took] = ["source", "slow_ns"].map(|key| finding[key].to_string());
        format!("{source} {took} {}; ", finding["culprits"][0])
    };
    findings(document).map(told).collect()
}

/// Whether one of three watches says so: the slowest thousandth is a request or two, which something else of
/// this machine may have delayed. `None` where it cannot be watched.
fn says(server: &Server, which: [&str; 2], told: impl Fn(&Value) -> bool) -> Option<bool> {
    let look = |_| {
        let document = explained(server, which)?;
        let is_told = told(&document);
        eprintln!("{is_told}: {}", summary(&document));
        Some(is_told)
    };
    let mut looks = (0..3).map_while(look).peekable();
    looks.peek()?;
    Some(looks.any(|is_told| is_told))
}

/// Hogs beside a server, found by these words.
fn hogs_are_named(server: &Server, which: [&str; 2]) {
    // Of a name of its own: others may say yes on this machine.
    let folder = tempfile::tempdir().expect("a folder");
    let hog = folder.path().join("test-hog");
    std::fs::copy("/usr/bin/yes", &hog).expect("a copy");
    let hog = hog.display().to_string();
    let Some(alone) = explained(server, which) else { return };
    assert!(part(&alone, "test-hog") == 0.0, "the control: {}", summary(&alone));
    let hogs: Vec<ChildGuard> = (0..4).map(|_| on_last_cpu(&[&hog])).collect();
    let named = says(server, which, |beside| {
        beside["services"][0]["findings"][0]["source"] == "background"
            && part(beside, "test-hog") > 0.1
    });
    drop(hogs);
    assert!(named.unwrap_or(true), "the hogs are to blame");
}

#[test]
fn a_hog_beside_a_server_is_named_and_without_it_no_program_is() {
    let _alone = ALONE.lock();
    let Some(server) = Server::start(LAST, "memcached", "get nothing\r\n") else { return };
    hogs_are_named(&server, ["--port", &server.port()]);
}

#[test]
fn an_event_loop_is_found_by_its_process_and_its_hogs_are_named() {
    let _alone = ALONE.lock();
    let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let Some(server) = Server::start(LAST, "nginx", request) else { return };
    hogs_are_named(&server, ["--pid", &server.process]);
}

#[test]
fn a_storm_of_softirqs_is_named_and_takes_ten_times_what_they_take_without_it() {
    let _alone = ALONE.lock();
    let Some(server) = Server::start(FIRST, "memcached", "get nothing\r\n") else { return };
    let port = server.port();
    let least = Cell::new(f64::INFINITY);
    // They are the first finding without a storm, too, where nothing else disturbs: microseconds of the
    // server's own requests.
    let calm = says(&server, ["--port", &port], |alone| {
        least.set(least.get().min(took_ms(alone, "interrupt")));
        false
    });
    if calm.is_none() {
        return;
    }
    let weather = Weather { received: last_cpu(), sent: 0, burst: 100 };
    let Some(storm) = Storm::start(weather) else { return };
    sleep(Duration::from_millis(100));
    let told = says(&server, ["--port", &port], |document| {
        document["services"][0]["findings"][0]["source"] == "interrupt"
            && part(document, "softirq net_rx") > 0.5
            && took_ms(document, "interrupt") > 10.0 * least.get()
    });
    drop(storm);
    assert!(told.unwrap_or(true), "the storm is to blame for more than {} ms", least.get());
}

#[test]
fn a_process_that_does_not_listen_cannot_be_watched() {
    let sleeper = ChildGuard::start("sleep", &["60"]);
    let sleeper = sleeper.process();
    for (process, words) in [(&*sleeper, "listens at no port"), ("99999999", "/proc/99999999")] {
        let output = rearguard(&["explain", "--pid", process]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
