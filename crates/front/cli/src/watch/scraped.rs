//! A real Prometheus scrapes what is shown, with native histograms and without. It says so where there is
//! none.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use model::Nanos;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use recorder::{Data, Histogram, Labels, Metric, Unit, families};
use serde_json::Value;

use super::open_metrics;
use super::samples::of_port;
use crate::exporter::Exporter;

/// The folder that tools/monitoring/fetch prints.
const FOLDER: &str = "RG_MONITORING";
const RULES: &str = include_str!("../../../../../packaging/prometheus/rearguard.rules.yml");
const DASHBOARD: &str = include_str!("../../../../../packaging/grafana/rearguard.json");
const RECORDED: &str = "instance_port:rearguard_watch_latency_seconds:p99_rate5m";
/// Buckets of schema 4 are 2^(1/16) wide.
const BUCKET: f64 = 0.0443;

fn free_address() -> String {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).expect("a port");
    free.to_string()
}

/// The program, and what it scrapes. Both end with the test.
struct Prometheus(Child, String);

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Prometheus {
    fn start(program: &Path, folder: &Path, target: &str, features: &[&str]) -> Prometheus {
        let at = |name: &str| folder.join(name).display().to_string();
        std::fs::create_dir(folder).expect("a folder");
        std::fs::write(at("rules.yml"), RULES).expect("a file");
        let (address, rules) = (free_address(), at("rules.yml"));
        let configuration = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{rules}']\n\
             scrape_configs: [{{job_name: rearguard-watch, static_configs: [{{targets: ['{target}']}}]}}]\n"
        );
        std::fs::write(at("prometheus.yml"), configuration).expect("a file");
        let mut command = Command::new(program);
        command.arg(format!("--config.file={}", at("prometheus.yml"))).args(features);
        command.arg(format!("--storage.tsdb.path={}", at("data")));
        command.arg(format!("--web.listen-address={address}"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Prometheus(child.expect("it runs"), address)
    }

    /// The numbers that answer a query, none before it is ready.
    fn ask(&self, query: &str) -> Vec<f64> {
        let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let mut answer = String::new();
        let asked = format!("GET /api/v1/query?query={escaped} HTTP/1.0\r\nHost: a\r\n\r\n");
        let read = TcpStream::connect(&self.1).and_then(|mut stream| {
            stream.write_all(asked.as_bytes())?;
            stream.read_to_string(&mut answer)
        });
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        // Before it is ready it says so in plain text.
        let Some(body) = read.ok().and_then(|_| serde_json::from_str::<Value>(body).ok()) else {
            return Vec::new();
        };
        let result = body["data"]["result"].as_array().unwrap_or_else(|| panic!("{query}: {body}"));
        let number = |one: &Value| one["value"][1].as_str().and_then(|text| text.parse().ok());
        result.iter().map(|one| number(one).unwrap_or(f64::NAN)).collect()
    }
}

/// Port 80 has drawn requests with a heavy tail, 79 none, 82 some of all lengths.
struct Shown {
    exporter: Exporter,
    latencies: BTreeMap<Labels, Histogram>,
    drawn_ns: Vec<u64>,
    /// Of how many powers of two port 82 has a value in each bucket. Without any nothing grows.
    powers: u32,
}

impl Shown {
    fn start(address: &str) -> Shown {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(26);
        let mut tail = || (2e5 * random.random_range(1e-4..1.0_f64).powf(-0.8)) as u64;
        let mut drawn_ns: Vec<u64> = (0..10_000).map(|_| tail()).collect();
        drawn_ns.sort_unstable();
        let latencies = [79, 80, 82].map(|port| (of_port(port), Histogram::default()));
        let exporter = Exporter::open(address).expect("it listens");
        Shown { exporter, latencies: latencies.into(), drawn_ns, powers: 40 }
    }

    fn exact_s(&self, quantile: f64) -> f64 {
        self.drawn_ns[(quantile * self.drawn_ns.len() as f64) as usize - 1] as f64 / 1e9
    }

    /// The same requests once more: quantiles stay, and counters grow.
    fn grow(&mut self) {
        let of_80 = self.latencies.entry(of_port(80)).or_default();
        self.drawn_ns.iter().for_each(|ns| of_80.observe(Nanos(*ns)));
        let of_82 = self.latencies.entry(of_port(82)).or_default();
        (0..self.powers * 16)
            .for_each(|at| of_82.observe(Nanos((f64::from(at) / 16.0).exp2() as u64)));
        let stages = self.latencies.iter().map(|(labels, own)| {
            ([labels.clone(), vec![("stage", "t2_t3".to_string())]].concat(), own.clone())
        });
        let of_80 = self.latencies[&of_port(80)].count();
        let all = [
            histogram("latency", self.latencies.clone()),
            histogram("stage", stages.collect()),
            metric("requests", Unit::Number, Data::Counter(vec![(of_port(80), of_80)])),
            metric("ring", Unit::Bytes, Data::Gauge(vec![(Labels::new(), 1.0)])),
        ];
        self.exporter.show_both(open_metrics::text(&all), || families(&all)).expect("shown");
    }

    /// Grows until a query has an answer that is wanted.
    fn until(&mut self, of: &Prometheus, query: &str, is: impl Fn(&[f64]) -> bool) -> Vec<f64> {
        let begin = Instant::now();
        loop {
            let found = of.ask(query);
            if is(&found) {
                return found;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{query}: {found:?}");
            if self.powers > 0 {
                self.grow();
            }
            thread::sleep(Duration::from_millis(300));
        }
    }
}

fn histogram(name: &'static str, all: BTreeMap<Labels, Histogram>) -> Metric {
    metric(name, Unit::Seconds, Data::Histogram(Arc::new(all)))
}

fn metric(name: &'static str, unit: Unit, data: Data) -> Metric {
    Metric { name, help: "What it is", unit, data }
}

/// Queries of the dashboard that ask for histograms, as Grafana would send them.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let all = targets.filter_map(|target| target["expr"].as_str());
    let of_histograms = all.filter(|query| {
        ["latency_seconds", "stage_seconds"].iter().any(|name| query.contains(name))
    });
    let plain = |query: &str| {
        let names = query.replace("$instance", ".*").replace("$port", "80");
        names.replace("$__rate_interval", "1m")
    };
    of_histograms.map(plain).collect()
}

fn program() -> Option<PathBuf> {
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty())?;
    Some(PathBuf::from(folder).join("prometheus/usr/bin/prometheus"))
}

fn is_finite(found: &[f64]) -> bool {
    !found.is_empty() && found.iter().all(|value| value.is_finite())
}

/// Quantiles are within a bucket of exact ones, and those of fixed buckets are not.
fn check_quantiles(shown: &mut Shown, native: &Prometheus, plain: &Prometheus) {
    for at in [0.5, 0.99, 0.999] {
        let exact = shown.exact_s(at);
        let of = |name: &str| format!("histogram_quantile({at}, {name}{{port=\"80\"}})");
        let own = shown.until(native, &of("rearguard_watch_latency_seconds"), is_finite)[0];
        assert!((own / exact - 1.0).abs() <= BUCKET, "p{at}: {own}, exactly {exact}");
        let fixed = shown.until(plain, &of("rearguard_watch_latency_seconds_bucket"), is_finite)[0];
        assert!(
            (fixed / exact - 1.0).abs() > BUCKET,
            "the control: p{at} {fixed}, exactly {exact}"
        );
    }
}

/// Also the one without requests is a native histogram, and there is no series of another kind.
fn check_names(native: &Prometheus, plain: &Prometheus) {
    for (query, shall) in [
        ("count(rearguard_watch_latency_seconds)", vec![3.0]),
        ("count({__name__=~\"rearguard_watch_latency_seconds_.+\"})", vec![]),
        ("histogram_count(rearguard_watch_latency_seconds{port=\"79\"})", vec![0.0]),
    ] {
        assert_eq!(native.ask(query), shall, "{query}");
    }
    assert_eq!(plain.ask("rearguard_watch_latency_seconds"), Vec::<f64>::new(), "the control");
    // What is no histogram is the same in both forms.
    for query in
        ["count(rearguard_watch_requests_total{port=\"80\"})", "rearguard_watch_ring_bytes"]
    {
        assert_eq!((native.ask(query), plain.ask(query)), (vec![1.0], vec![1.0]), "{query}");
    }
}

/// What the package's rules record, and what its dashboard asks for.
fn check_package(shown: &mut Shown, prometheus: &Prometheus) {
    shown.until(prometheus, RECORDED, is_finite);
    let all = queries();
    assert!(all.len() >= 6, "{all:?}");
    for query in all {
        let found = shown.until(prometheus, &query, |found| !found.is_empty());
        assert!(query.starts_with("sum by (le)") || is_finite(&found), "{query}: {found:?}");
    }
}

/// Where buckets become wider all is counted on.
fn check_wider(shown: &mut Shown, native: &Prometheus) {
    let of_82 = "rearguard_watch_latency_seconds{port=\"82\"}";
    let schema = |shown: &Shown| shown.latencies[&of_port(82)].exponential().schema();
    let before = schema(shown);
    shown.powers = 64;
    shown.grow();
    assert!(schema(shown) < before, "the control: they did");
    shown.powers = 0;
    let count = shown.latencies[&of_port(82)].count() as f64;
    shown.until(native, &format!("histogram_count({of_82})"), |found| found == [count]);
    let risen = format!("histogram_count(increase({of_82}[1m])) < {}", 2.0 * count);
    assert_eq!(native.ask(&risen).len(), 1, "no reset");
}

#[test]
fn prometheus_has_quantiles_of_native_histograms_within_a_bucket_of_exact_ones() {
    let Some(program) = program() else {
        return eprintln!("skipped: {FOLDER} is not the folder that tools/monitoring/fetch prints");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let target = free_address();
    let mut shown = Shown::start(&target);
    let start = |name: &str, features: &[&str]| {
        Prometheus::start(&program, &folder.path().join(name), &target, features)
    };
    let native = start("native", &["--enable-feature=native-histograms"]);
    let plain = start("plain", &[]);
    check_quantiles(&mut shown, &native, &plain);
    check_names(&native, &plain);
    check_package(&mut shown, &native);
    check_package(&mut shown, &plain);
    check_wider(&mut shown, &native);
}
