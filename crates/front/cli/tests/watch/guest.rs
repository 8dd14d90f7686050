//! Guests of the lab, which have nothing else to do. What is foretold of a storm's end is what is measured.
//! Kernels without today's tracepoints tell the same.

#[path = "../support/mod.rs"]
mod support;

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Deserializer, Value};
use support::{lab, output, rearguard, run};

use crate::storm::{Storm, Weather};
use crate::{findings, number, part, summary, took_ms};

/// Says to this test in the guest on which CPU to blow.
const CPU: &str = "RG_STORM_CPU";

/// The generator has CPU 0. The service has CPU 1, first come, first served, or some requests were slow by
/// inversions. A storm is sent from CPU 2, to the service's CPU, to CPU 2 itself, or not at all.
const PLAY: &str = r#"
chrt -f 10 rearguard serve null-rpc --cpus 1 --target null-rpc://127.0.0.1:7000 >&2 &
sleep 3
for cpu in 1 2 none; do
  RG_STORM_CPU=$cpu "$0" --ignored --exact guest::storm >&2 & storm=$!
  sleep 2
  rearguard measure --target 'null-rpc://127.0.0.1:7000?service=500us' --cpus 0 --connections 16 --rate 600/s \
    --duration 15s --stages --trace run.trace >&2 || exit 1
  kill -9 $storm
  rearguard explain run.trace --json || exit 1
done
"#;

/// The guest's part.
#[test]
#[ignore = "blows where it is told to: its caller boots a machine"]
fn storm() {
    let Ok(cpu) = std::env::var(CPU) else { return };
    let _storm = cpu.parse().ok().map(|received| {
        // An instruction takes a nanosecond there, and a copy for a socket some thousand.
        Storm::start(Weather { received, sent: 2, burst: 3 }).expect("a storm")
    });
    loop {
        sleep(Duration::from_secs(60));
    }
}

fn p99_9(explained: &Value) -> f64 {
    number(&explained["services"][0]["latency_ns"]["p99_9"]["value"])
}

#[test]
#[ignore = "boots machines: make lab-test"]
fn without_a_storm_on_its_cpu_the_tail_is_as_predicted() {
    let own = std::env::current_exe().expect("a test");
    let own = own.to_str().expect("UTF-8");
    let guest = ["newest", "--cpus", "3", "--turns", "10us", "--timeout", "20min"];
    let put = ["sleep", "chrt", "ip", "unshare", "mount"].map(|name| ["--put", name]).concat();
    let command = ["--put", own, "--", "sh", "-c", PLAY, own];
    let (code, said, stderr) = run(&[&guest[..], &put, &command].concat());
    assert_eq!(code, 0, "{said}\n{stderr}");
    let documents = Deserializer::from_str(&said).into_iter::<Value>();
    let documents: Vec<Value> = documents.map(|document| document.expect("JSON")).collect();
    let [spread, dedicated, calm] = &documents[..] else { panic!("{said}") };
    let first = findings(spread).next().expect("a finding");
    assert_eq!(first["source"], "interrupt", "{}", summary(spread));
    assert!(part(spread, "softirq net_rx") > 0.5, "{}", summary(spread));
    let slow = spread["services"][0]["slow"].as_array().expect("slow requests");
    let named = slow.iter().filter(|one| one["culprit"] == "softirq net_rx").count();
    assert!(named as f64 >= 0.95 * slow.len() as f64, "{named} of {}", slow.len());
    let foretold = number(&first["p99_9_without_ns"]);
    for (name, cured) in [("elsewhere", dedicated), ("gone", calm)] {
        let ratio = foretold / p99_9(cured);
        eprintln!("storm {name}: p99.9 {} foretold {foretold}, {}", p99_9(spread), p99_9(cured));
        assert!((0.7..=1.3).contains(&ratio), "storm {name}: {foretold}, {}", p99_9(cured));
        let taken = 1e6 * took_ms(cured, "interrupt");
        assert!(taken < 0.1 * p99_9(cured), "the control: {}", summary(cured));
    }
}

/// A service on CPU 1, asked by CPU 0, alone and then beside a loop that it preempts seldom.
const OF_OLD: &str = r#"
nice -n 19 rearguard serve null-rpc --cpus 1 --target null-rpc://127.0.0.1:7000 >&2 &
sleep 3
rearguard measure --target 'null-rpc://127.0.0.1:7000?service=500us' --cpus 0 --connections 8 --rate 300/s \
  --duration 16s >&2 &
sleep 2
rearguard stages --port 7000 --duration 3s --json || exit 1
rearguard explain --port 7000 --duration 3s --json || exit 1
taskset -c 1 sh -c 'while :; do :; done' & spins=$!
rearguard explain --port 7000 --duration 3s --json || exit 1
kill -9 $spins
"#;

/// In a container threads have other numbers than the kernel's, which its structures of old tell otherwise.
fn of_old(kernel: &str, container: &[&str]) {
    let (code, _, stderr) = output(&mut rearguard(lab(), &["fetch", kernel]));
    assert_eq!(code, 0, "{stderr}");
    let put = ["sleep", "taskset", "nice", "unshare", "sh"].map(|name| ["--put", name]).concat();
    let guest = [kernel, "--cpus", "2", "--timeout", "8min"];
    let command = [&["--"], container, &["sh", "-c", OF_OLD]].concat();
    let (code, said, stderr) = run(&[&guest[..], &put, &command].concat());
    assert_eq!(code, 0, "{kernel}: {said}\n{stderr}");
    let documents = Deserializer::from_str(&said).into_iter::<Value>();
    let documents: Vec<Value> = documents.map(|document| document.expect("JSON")).collect();
    let [stages, alone, beside] = &documents[..] else { panic!("{said}") };
    let [seen, complete] = ["requests", "complete"].map(|key| number(&stages[key]));
    assert!(seen > 500.0 && complete == seen, "{kernel}: {complete} of {seen}");
    let [without, with] = [alone, beside].map(|told| took_ms(told, "background"));
    eprintln!("{kernel}: background {without} ms without the loop, {with} ms beside it");
    assert!(part(beside, "sh[") > 0.5 && part(alone, "sh[") == 0.0, "{}", summary(beside));
    assert!(with > 1.0 && with > 3.0 * without, "{kernel}: {}", summary(beside));
}

#[test]
#[ignore = "boots machines: make lab-test"]
fn kernels_without_todays_tracepoints_tell_stages_and_culprits() {
    of_old("6.1", &["unshare", "--pid", "--fork", "--mount-proc"]);
    of_old("6.12", &[]);
}
