//! A storm of softirqs in a guest of the lab, which has nothing else to do: what is foretold of its end is
//! what is measured.

#[path = "../support/mod.rs"]
mod support;

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Deserializer, Value};
use support::run;

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
