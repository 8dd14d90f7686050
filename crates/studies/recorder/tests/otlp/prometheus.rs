//! A Prometheus that takes OTLP: what it makes of what is sent. It says so where there is none.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use model::Nanos;
use recorder::{Data, Histogram, Metric, Signal, Unit, exemplar, metrics};
use serde_json::Value;

use crate::content::traced;
use crate::receiver::{free_port, until};
use crate::{QUICK, lines, sender};

/// The program; a Debian one is built without OTLP.
const PROGRAM: &str = "RG_PROMETHEUS";

/// It ends with the test.
struct Prometheus(Child, String);

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Prometheus {
    fn start(program: &str, folder: &Path) -> Prometheus {
        let address = format!("127.0.0.1:{}", free_port());
        let configuration = folder.join("prometheus.yml");
        std::fs::write(&configuration, "global: {}\n").expect("a file");
        let mut command = Command::new(program);
        command.arg(format!("--config.file={}", configuration.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
        command.arg(format!("--web.listen-address={address}"));
        command.args(["--web.enable-otlp-receiver", "--enable-feature=exemplar-storage"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let own = Prometheus(child.expect("it runs"), format!("http://{address}"));
        until(|| ureq::get(format!("{}/-/ready", own.1)).call().is_ok());
        own
    }

    /// The answer to a query.
    fn ask(&self, what: &str, query: &str) -> Vec<Value> {
        let url = format!("{}/api/v1/{what}", self.1);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
        let asked = ureq::get(url).query("query", query);
        let asked = asked.query("start", "0").query("end", (now.as_secs() + 1).to_string());
        let text = asked.call().expect("an answer").body_mut().read_to_string().expect("UTF-8");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        let data = &answer["data"];
        data.as_array().or(data["result"].as_array()).expect("a list").clone()
    }
}

fn sample(one: &Value) -> &str {
    one["value"][1].as_str().expect("a value")
}

#[test]
fn prometheus_has_the_names_and_labels_of_a_scrape_and_knows_the_trace() {
    let Ok(program) = std::env::var(PROGRAM) else {
        return eprintln!("skipped: {PROGRAM} names no Prometheus of version 3");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let prometheus = Prometheus::start(&program, folder.path());
    let url = format!("{}/api/v1/otlp/v1/metrics", prometheus.1);
    let mut one = traced();
    // One of last year would be too old.
    one.kept.ended =
        DateTime::<Utc>::from(SystemTime::now()).format("%Y-%m-%d %H:%M:%S%.3f UTC").to_string();
    let mut latency = Histogram::default();
    [60_000, 42_000_000].iter().for_each(|ns| latency.observe(Nanos(*ns)));
    latency.name(exemplar(&one, None).expect("it has an end"));
    let port = vec![("port", "80".to_string())];
    let metric = |name, unit, data| Metric { name, help: "What it is", unit, data };
    let all = [
        metric("requests", Unit::Number, Data::Counter(vec![(port.clone(), 7)])),
        metric("ring", Unit::Bytes, Data::Gauge(vec![(Vec::new(), 5.0)])),
        metric("threshold", Unit::Seconds, Data::Gauge(vec![(port.clone(), 0.005)])),
        metric("latency", Unit::Seconds, Data::Histogram(BTreeMap::from([(port, latency)]).into())),
    ];
    let (sender, said) = sender(&url, Signal::Metrics, QUICK);
    sender.offer(metrics(&all, SystemTime::now(), "host-1", "0.2.0"));
    until(|| sender.counts().sent == 1 || !lines(&said).is_empty());
    assert_eq!(lines(&said), Vec::<String>::new());
    let of_port = "{job=\"rearguard-watch\",instance=\"host-1\",port=\"80\"}";
    for (name, value) in [
        (format!("rearguard_watch_requests_total{of_port}"), "7"),
        (format!("rearguard_watch_threshold_seconds{of_port}"), "0.005"),
        (format!("rearguard_watch_latency_seconds_count{of_port}"), "2"),
        ("rearguard_watch_latency_seconds_bucket{le=\"0.0001\"}".to_string(), "1"),
        ("rearguard_watch_ring_bytes".to_string(), "5"),
    ] {
        until(|| !prometheus.ask("query", &name).is_empty());
        assert_eq!(sample(&prometheus.ask("query", &name)[0]), value, "{name}");
    }
    let buckets = "rearguard_watch_latency_seconds_bucket";
    let named = prometheus.ask("query_exemplars", buckets);
    let own = &named[0]["exemplars"][0];
    let trace = exemplar(&one, None).expect("it has an end").trace_id;
    let trace: String = trace.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(own["labels"]["trace_id"].as_str(), Some(&*trace), "{named:?}");
    assert_eq!(prometheus.ask("query", "rearguard_watch_latency_bucket"), Vec::<Value>::new());
    sender.finish(Duration::from_secs(5));
}
