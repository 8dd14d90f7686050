//! What the flight recorder sends to a receiver of OTLP, and that it needs none.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{Metric, metric, number_data_point};
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData};
use prost::Message;

use crate::receiver::{Came, TestReceiver, free_port, status};
use crate::recorder::serve;
use crate::{ALONE, rearguard};

const REQUESTS: usize = 40;

/// What a recorder said and kept.
struct Watched {
    stdout: String,
    stderr: String,
    listed: String,
}

/// A recorder to which every request is slow, with receivers at these URLs; `None` where this machine cannot.
fn watched(urls: &[&str], folder: &Path) -> Option<Watched> {
    let (port, keep) = (free_port(), folder.display().to_string());
    let of_port = port.to_string();
    let words = ["watch", "--port", &of_port, "--slower-than", "1ns", "--keep", &keep];
    let more = ["--for", "4s", "--otlp-every", "500ms"];
    let to: Vec<&str> = urls.iter().flat_map(|url| ["--otlp", url]).collect();
    let mut watch = rearguard(&[&words[..], &more, &to].concat());
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut said = BufReader::new(watch.stderr.take().expect("a pipe"));
    let mut first = String::new();
    // It waits for the service: its hooks are in.
    while !first.contains("no process listens") {
        if said.read_line(&mut first).expect("UTF-8") == 0 {
            eprintln!("skipped: {first}");
            watch.wait().expect("it has ended");
            return None;
        }
    }
    serve(port, REQUESTS);
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("UTF-8");
    let output = watch.wait_with_output().expect("it has ended");
    assert!(output.status.success(), "{first}{rest}");
    let listed = rearguard(&["watch", "list", &keep]).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (stdout, listed) = (text(output.stdout), text(listed.stdout));
    Some(Watched { stdout, stderr: first + &rest, listed })
}

fn spans(came: &[Came]) -> Vec<Vec<Span>> {
    let traces = came.iter().filter(|one| one.head.starts_with("POST /v1/traces "));
    let decoded = traces.map(|one| TracesData::decode(&one.body[..]).expect("OTLP"));
    decoded.map(|all| all.resource_spans[0].scope_spans[0].spans.clone()).collect()
}

/// Metrics of the last message.
fn last_metrics(came: &[Came]) -> Vec<Metric> {
    let last = came.iter().rfind(|one| one.head.starts_with("POST /v1/metrics "));
    let body = &last.expect("metrics came").body[..];
    let all = ExportMetricsServiceRequest::decode(body).expect("OTLP");
    all.resource_metrics[0].scope_metrics[0].metrics.clone()
}

/// The id that `watch list` knows it by.
fn id(request: &Span) -> String {
    let own = request.attributes.iter().find(|one| one.key == "rearguard.id");
    format!("{:?}", own.expect("an id").value).split('"').nth(1).expect("a text").to_string()
}

#[test]
fn what_is_kept_and_counted_is_sent() {
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().expect("a folder");
    let receiver = TestReceiver::start(0, |_| status(200, "", ""));
    let Some(watched) = watched(&[&receiver.url()], &folder.path().join("kept")) else { return };
    let came = receiver.came();
    let traces = spans(&came);
    let sent: BTreeSet<String> = traces.iter().map(|all| id(&all[0])).collect();
    let kept = watched.listed.lines().filter_map(|line| line.split_whitespace().next());
    // Those that slower ones replaced were sent, too.
    let kept: Vec<&str> = kept.collect();
    assert!(!kept.is_empty() && kept.iter().all(|one| sent.contains(*one)), "{kept:?} {sent:?}");
    let told = format!("otlp traces: {} messages sent, 0 not", traces.len());
    assert!(watched.stdout.contains(&told), "{told} in {}", watched.stdout);
    assert!(!watched.stderr.contains("rearguard:"), "no trouble: {}", watched.stderr);
    let metrics = last_metrics(&came);
    let data = |name: &str| metrics.iter().find(|one| one.name == name)?.data.clone();
    let Some(metric::Data::Sum(requests)) = data("rearguard.watch.requests") else { panic!() };
    let counted = number_data_point::Value::AsInt(REQUESTS as i64);
    assert_eq!(requests.data_points[0].value, Some(counted));
    let Some(metric::Data::Histogram(latency)) = data("rearguard.watch.latency") else { panic!() };
    let point = &latency.data_points[0];
    assert_eq!(point.count, REQUESTS as u64);
    let known = |exemplar: &[u8]| traces.iter().any(|all| all[0].trace_id == exemplar);
    assert!(!point.exemplars.is_empty() && point.exemplars.iter().all(|one| known(&one.trace_id)));
    let of_metrics = came.iter().filter(|one| one.head.starts_with("POST /v1/metrics "));
    let times: Vec<Instant> = of_metrics.map(|one| one.at).collect();
    assert!(times.len() >= 3 && times[2] - times[1] > Duration::from_millis(300), "{times:?}");
}

#[test]
fn traces_and_metrics_go_to_receivers_of_their_own() {
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = [0; 2].map(|_| TestReceiver::start(0, |_| status(200, "", "")));
    let urls = [first.url() + "/v1/traces", second.url() + "/otlp/v1/metrics"];
    let urls = urls.each_ref().map(String::as_str);
    let Some(watched) = watched(&urls, &folder.path().join("kept")) else { return };
    let all = |receiver: &TestReceiver, path: &str| {
        let begin = format!("POST {path} ");
        receiver.wait(1).iter().all(|one| one.head.starts_with(&begin))
    };
    assert!(all(&first, "/v1/traces") && all(&second, "/otlp/v1/metrics"), "{}", watched.stderr);
}

#[test]
fn without_its_receiver_the_recorder_does_the_same_and_says_what_was_not_sent() {
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("http://127.0.0.1:{}", free_port());
    let Some(watched) = watched(&[&url], &folder.path().join("kept")) else { return };
    let counted = format!(": {REQUESTS} requests, {REQUESTS} slow; ");
    assert!(watched.stdout.contains(&counted), "{}", watched.stdout);
    assert!(watched.listed.lines().count() > 0, "{}", watched.listed);
    assert!(watched.stdout.contains("otlp traces: 0 messages sent, "), "{}", watched.stdout);
    assert!(!watched.stdout.contains("sent, 0 not"), "{}", watched.stdout);
    for signal in ["traces", "metrics"] {
        let line = format!("rearguard: {url}/v1/{signal}: ");
        assert_eq!(watched.stderr.matches(&line).count(), 1, "once: {}", watched.stderr);
    }
}

#[test]
fn what_is_no_url_is_refused_before_anything_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let keep = folder.path().join("kept");
    let path = keep.display().to_string();
    let ends = |more: &[&str], code: i32| {
        let words = ["watch", "--port", "1", "--keep", &path, "--for", "1s"];
        let mut command = rearguard(&[&words[..], more].concat());
        let command = command.env("SSL_CERT_FILE", "/dev/null").env_remove("SSL_CERT_DIR");
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{more:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let watch = |more: &[&str]| ends(more, 2);
    let said = watch(&["--otlp", "127.0.0.1:4318"]);
    assert!(said.contains("expected http://HOST:PORT or https://HOST:PORT"), "{said}");
    assert!(watch(&["--otlp-every", "1s"]).contains("--otlp <URL>"));
    let said = watch(&["--otlp", "http://127.0.0.1:1", "--otlp", "http://127.0.0.1:2/v1/traces"]);
    assert!(said.contains("--otlp: traces go to one receiver"), "{said}");
    let said = watch(&["--otlp", "http://127.0.0.1:1", "--otlp-every", "0"]);
    assert!(said.contains("--otlp-every: 100 ms at least"), "{said}");
    let said = ends(&["--otlp", "https://127.0.0.1:1"], 3);
    assert!(said.contains("trusts no certificate"), "{said}");
    assert!(!keep.exists());
}
