//! The readers, each with inputs to begin with.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use base64::Engine as _;
use cluster::{Cluster, Measured};
use experiment::{Plan, Source};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use machine::cell;
use measure::Target;
use measure::protocol::http::HttpOptions;
use model::{Arm, Events, Failure, Nanos, PolicySpec, Scenario, Silent, units};
use recorder::{Endpoint, Signal};
use trace::{Header, Making};

/// A reader.
pub struct Reader {
    /// What it reads.
    pub name: &'static str,
    /// Whether an input was understood.
    pub read: fn(&[u8]) -> bool,
    /// Inputs to begin with.
    pub corpus: Vec<Vec<u8>>,
}

/// All of them.
pub fn all() -> Vec<Reader> {
    let texts = |all: &[&str]| all.iter().map(|text| text.as_bytes().to_vec()).collect();
    let of = |name, read, corpus| Reader { name, read, corpus };
    vec![
        of("scenario", scenario, files("scenarios")),
        of("cluster", cluster, files("clusters")),
        of("plan", plan, texts(&[GRID])),
        of("trace", trace_file, vec![recorded()]),
        of("histogram", histogram, vec![payload(3), payload(5)]),
        of("measured", measured, texts(&[TABLE, CURVE])),
        of("outliers", outliers, texts(&[LINES, SAMPLES])),
        of("policy", policy, texts(&["cts:requeue=tail,slice=1ms", "rearguard", "./mine.c:a=1"])),
        of("target", target, texts(&TARGETS)),
        of("mix", mix, texts(&["3 GET /a\n1 POST /b x", "# a\n2 SELECT {id}", "1 {random:5}"])),
        of("http", http, texts(&["X-A: b", "POST", "2xx,404", "Host:\tx"])),
        of("receiver", receiver, texts(&["http://127.0.0.1:4318/v1/traces", "https://[::1]:1/x/"])),
        of("units", quantity, texts(&["10ms", "1.6k/s", "10M", "0.5us"])),
    ]
}

const TARGETS: [&str; 6] = [
    "redis://127.0.0.1:1?reads=0.5",
    "http://127.0.0.1/x",
    "http+unix:///run/x.sock:/y?z=:/a",
    "redis+unix://%2Frun%2fx.sock?keys=5",
    "redis+unix://me:p%40w@/run/x.sock?db=3&pipeline=16",
    "postgresql+unix://me@/run/x?db=a&query=select {random:5}@/%26",
];
const GRID: &str = "scenario = \"web.toml\"\npolicies = [\"cts\", \"lcfs\"]\nseeds = [1, 2]\n\
                    [values]\n\"machine.cpus\" = [1, 2]\n";
const TABLE: &str = "  Value   Percentile   TotalCount 1/(1-Percentile)\n\n 0.5 0.0 1 1.00\n 1.5 0.9 90 10.00\n\
                     4.0 1.0 100 inf\n#[Mean = 1.1]\n";
const CURVE: &str = "{\"schema\":\"rearguard.measure/1\",\"name\":\"x\"}";
const LINES: &str = "{\"name\":\"a\",\"outlier_proportion\":0.5}\n";
const SAMPLES: &str = "rearguard_outlier_proportion{cell=\"web\",le=\"100us\"} 0.002\n";

fn files(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = fs::read_dir(folder).expect("shipped").map(|entry| entry.expect("read").path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files.iter().map(|path| fs::read(path).expect("shipped")).collect()
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn scenario(bytes: &[u8]) -> bool {
    let read = Scenario::read(&text(bytes), "x.toml");
    read.is_ok_and(|scenario| !scenario.describe().is_empty())
}

fn nothing(name: &str) -> Failure {
    Failure::Input(format!("{name}: not here"))
}

fn cluster(bytes: &[u8]) -> bool {
    let read = Cluster::read(&text(bytes), "x.toml", &|name| Err(nothing(name)));
    read.is_ok_and(|cluster| cluster.check().is_ok())
}

fn plan(bytes: &[u8]) -> bool {
    let text_of = "# A.\nduration = \"1s\"\n[machine]\ncpus = 1\n[[program]]\nname = \"b\"\nkind = \"batch\"\n";
    let source = |file: &str| {
        Ok(Source { file: file.to_string(), text: text_of.to_string(), edits: Vec::new() })
    };
    Plan::read(&text(bytes), "x.toml", source).is_ok_and(|plan| plan.check_shipped().is_ok())
}

/// What is understood is an address still, when a signal's path is added.
fn receiver(bytes: &[u8]) -> bool {
    let read = Endpoint::parse(&text(bytes));
    read.is_ok_and(|to| {
        let url = to.url(Signal::Metrics);
        Endpoint::parse(&url).expect("an address").url(Signal::Metrics) == url
    })
}

fn policy(bytes: &[u8]) -> bool {
    PolicySpec::parse(&text(bytes)).is_ok()
}

fn target(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let host = text.split("://").nth(1).and_then(|rest| rest.split(['/', '?', ':']).next());
    // Names would be looked up in the network.
    let is_address = host.is_some_and(|host| host.parse::<Ipv4Addr>().is_ok());
    let is_unix = text.split("://").next().is_some_and(|scheme| scheme.ends_with("unix"));
    (is_address || is_unix) && Target::parse(&text, None).is_ok()
}

fn mix(bytes: &[u8]) -> bool {
    let targets = ["http://127.0.0.1:1", "postgresql://me@127.0.0.1:1"];
    let targets = targets.map(|target| Target::parse(target, None).expect("well formed"));
    let no_file = |_: &str| Err("no file".to_string());
    targets.into_iter().any(|target| target.with_mix("x", &text(bytes), &no_file).is_ok())
}

/// Whatever is understood makes a request with one end of its head, and that before the body.
fn http(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let (method, header) = (text.parse().ok(), text.parse().ok());
    let expected = text.parse().ok();
    let is_any = method.is_some() || header.is_some() || expected.is_some();
    let headers = header.into_iter().collect();
    let options =
        HttpOptions { method, headers, body: Some(b"body".to_vec()), expected, streams: None };
    let request = options.request("host", "/path");
    let ends = request.windows(4).filter(|four| four == b"\r\n\r\n").count();
    assert!(ends == 1 && request.ends_with(b"\r\n\r\nbody"), "{request:?}");
    is_any
}

fn quantity(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let (duration, rate) = (units::duration(&text).is_ok(), units::rate_per_s(&text).is_ok());
    duration || rate || units::count(&text).is_ok()
}

fn outliers(bytes: &[u8]) -> bool {
    let sources = ["http://127.0.0.1:1/metrics", "x.jsonl"];
    let sources = sources.map(|source| cell::Source::from_user(source).expect("well formed"));
    sources.iter().any(|source| source.parse(&text(bytes)).is_ok_and(|found| !found.is_empty()))
}

fn measured(bytes: &[u8]) -> bool {
    Measured::read(&text(bytes), "x", Some(Nanos(1_000))).is_ok_and(|all| all.iter().all(asked))
}

fn asked(one: &Measured) -> bool {
    let at = one.proportion(Nanos::from_millis(1)).value;
    one.latency_ns(0.001) >= 0.0 || at >= 0.0
}

/// The bytes are what an interval log has in base64, so that changes reach it.
fn histogram(bytes: &[u8]) -> bool {
    let packed = base64::engine::general_purpose::STANDARD.encode(bytes);
    let log: String = (0..3).map(|at| format!("Tag=t,{at}.0,1.0,7.0,{packed}\n")).collect();
    measured(log.as_bytes())
}

fn payload(digits: u8) -> Vec<u8> {
    let mut histogram = Histogram::<u64>::new(digits).expect("1 to 5 digits");
    (1..400_u64).for_each(|value| histogram.record(value * value).expect("it grows"));
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).expect("it fits");
    bytes
}

/// The checksums are made right again, so that changes reach what is behind them.
fn trace_file(bytes: &[u8]) -> bool {
    let mut bytes = bytes.to_vec();
    let mut at = trace::SCHEMA.len() + 1;
    while let Some(prefix) = bytes.get(at..at + 9) {
        let length = u32::from_le_bytes(prefix[1..5].try_into().expect("four")) as usize;
        let Some(content) = bytes.get(at + 9..at + 9 + length) else { break };
        let summed = crc32fast::hash(&[&prefix[..1], content].concat());
        bytes[at + 5..at + 9].copy_from_slice(&summed.to_le_bytes());
        at += 9 + length;
    }
    let Ok(recorded) = trace::read(&bytes, "x.trace") else { return false };
    // What is read is also shown.
    !trace::perfetto::encode(&recorded).is_empty()
}

/// A short run with events.
fn recorded() -> Vec<u8> {
    let text = "# A.\nduration = \"2ms\"\nwarm_up = \"1ms\"\n[machine]\ncpus = 2\n[[group]]\nname = \"g\"\n\
                [[program]]\nname = \"s\"\nkind = \"service\"\ngroup = \"g\"\nconnections = 2\n\
                service_time = \"50us\"\narrivals = { utilisation = 0.5 }\n\
                [[program]]\nname = \"b\"\nkind = \"batch\"\nthreads = 2\n";
    let scenario = Scenario::read(text, "x.toml").expect("valid");
    let policy = PolicySpec::plain("cts");
    let run = sim::SimArm.run(&scenario, &policy, 1, Events::Recorded, &Silent).expect("it runs");
    let making = Making {
        scenario: &scenario,
        scenario_text: text,
        arm: "sim",
        machine: "simulated",
        replay: String::new(),
        version: "0",
    };
    let mut bytes = Vec::new();
    trace::write(&Header::new(&making, &run), &run, &mut bytes).expect("it fits");
    bytes
}
