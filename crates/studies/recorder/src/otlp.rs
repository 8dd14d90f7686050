//! A kept request as a trace of OpenTelemetry, in OTLP's JSON, which collectors read from files.

use model::Failure;
use model::trace::Stages;
use report::explain::{Culprit, Finding};
use report::stages::SERVER_STAGES;
use serde_json::{Value, json};

use crate::kept::KeptRequest;

/// Kinds of spans, as OTLP numbers them.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;

/// A request in one line: a span for it, and below that one for each stage. The verdict and the culprits of
/// each source are attributes. [`Failure::Input`] where it does not say when it ended.
pub fn otlp(
    kept: &KeptRequest,
    stages: &Stages,
    findings: &[Finding],
    version: &str,
) -> Result<String, Failure> {
    let ended_ns = kept.ended_ns()?;
    let scope = json!({"name": "rearguard", "version": version});
    let scope_spans = json!([{"scope": scope, "spans": spans(kept, ended_ns, stages, findings)}]);
    let resource = json!({"attributes": service(&kept.service)});
    let all = json!({"resourceSpans": [{"resource": resource, "scopeSpans": scope_spans}]});
    Ok(format!("{all}\n"))
}

/// `memcached[10182]` by its name and its number.
fn service(service: &str) -> Vec<Value> {
    let number = service.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    let number = number.and_then(|(name, pid)| Some((name, pid.parse::<u32>().ok()?)));
    match number {
        Some((name, pid)) => vec![text("service.name", name), whole("process.pid", pid.into())],
        None => vec![text("service.name", service)],
    }
}

fn spans(kept: &KeptRequest, ended_ns: u64, stages: &Stages, findings: &[Finding]) -> Vec<Value> {
    let moments = stages.moments();
    // The wall clock's moment of one on the trace's clock.
    let wall = |at: usize| ended_ns.saturating_sub(moments[5].saturating_sub(moments[at]).0);
    let span = |number: usize, name: &str, kind: u8, from: usize, to: usize| {
        json!({
            "traceId": trace_id(kept),
            "spanId": format!("{:016x}", hash(&[&kept.id, &number.to_string()])),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": wall(from).to_string(),
            "endTimeUnixNano": wall(to).to_string(),
        })
    };
    let mut request = span(0, "request", SERVER, 0, 5);
    request["attributes"] = attributes(kept, findings).into();
    let root = request["spanId"].clone();
    let stage = |(at, (name, what)): (usize, &(&str, &str))| {
        let mut stage = span(at + 1, name, INTERNAL, at, at + 1);
        stage["parentSpanId"] = root.clone();
        stage["attributes"] = vec![text("rearguard.what", what)].into();
        stage
    };
    let stages = SERVER_STAGES.iter().enumerate().map(stage).collect::<Vec<_>>();
    [vec![request], stages].concat()
}

fn attributes(kept: &KeptRequest, findings: &[Finding]) -> Vec<Value> {
    let told = &kept.told;
    let known = [("source", &told.source), ("culprit", &told.culprit)];
    let known = known.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
    let words = [
        ("id", &kept.id),
        ("verdict", &told.line),
        ("class", &told.class),
        ("confidence", &told.confidence),
        ("threshold", &kept.threshold),
    ];
    let words = words.into_iter().chain(known);
    let words = words.map(|(key, value)| text(&format!("rearguard.{key}"), value));
    let numbers = [
        whole("server.port", kept.port.into()),
        whole("rearguard.threshold_ns", kept.threshold_ns),
    ];
    words.chain(numbers).chain(findings.iter().flat_map(sources)).collect()
}

/// What a source took, and its culprits.
fn sources(finding: &Finding) -> [Value; 2] {
    let key = |what: &str| format!("rearguard.{}.{what}", finding.source);
    let culprits: Vec<Value> =
        finding.culprits.iter().map(|one| json!({"stringValue": culprit(one)})).collect();
    [
        json!({"key": key("excess_ns"), "value": {"doubleValue": finding.slow_ns}}),
        json!({"key": key("culprits"), "value": {"arrayValue": {"values": culprits}}}),
    ]
}

fn culprit(one: &Culprit) -> String {
    let group = one.group.as_ref().map_or(String::new(), |group| format!(" in {group}"));
    format!("{}{group} ({:.0}%)", one.name, 100.0 * one.share)
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// OTLP writes whole numbers of 64 bits as text.
fn whole(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

/// The same request has the same trace, however often it is exported.
fn trace_id(kept: &KeptRequest) -> String {
    let half = |which: &str| hash(&[&kept.service, &kept.id, which]);
    format!("{:016x}{:016x}", half("high"), half("low"))
}

/// FNV-1a of 64 bits.
fn hash(words: &[&str]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use model::Nanos;

    use super::*;
    use crate::told::Told;

    const ENDED: u64 = 1_764_126_131_577_000_000;

    fn kept(id: &str) -> KeptRequest {
        let told = Told {
            line: "neighbours by background: rustc[7] (90% of its time)".to_string(),
            source: Some("background".to_string()),
            culprit: Some("rustc[7]".to_string()),
            ..Told::default()
        };
        let service = "memcached[10182]".to_string();
        let (id, ended) = (id.to_string(), "2025-11-26 03:02:11.577 UTC".to_string());
        KeptRequest { id, ended, service, port: 11_211, told, ..KeptRequest::default() }
    }

    fn stages() -> Stages {
        let [arrived, ready, running, read, sends, transmitted] =
            [100, 101, 141, 142, 150, 160].map(Nanos::from_micros);
        Stages { arrived, ready, running, read, sends, transmitted }
    }

    fn exported(id: &str) -> Value {
        let culprit = Culprit { name: "rustc[7]".into(), group: Some("/batch".into()), share: 0.9 };
        let source = "background".to_string();
        let culprits = vec![culprit];
        let finding = Finding { source, slow_ns: 40_000.0, culprits, ..Finding::default() };
        let text = otlp(&kept(id), &stages(), &[finding], "0.2.0").expect("it has an end");
        assert_eq!(text.matches('\n').count(), 1, "a request a line");
        serde_json::from_str(&text).expect("JSON")
    }

    fn spans(of: &Value) -> &Vec<Value> {
        of["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans")
    }

    fn at(span: &Value, key: &str) -> u64 {
        span[key].as_str().and_then(|text| text.parse().ok()).expect("a moment as text")
    }

    #[test]
    fn a_request_is_a_span_whose_stages_follow_each_other_in_it() {
        let document = exported("20261126T030211-577Z");
        let [request, stages @ ..] = &spans(&document)[..] else { panic!("no span") };
        assert_eq!(at(request, "endTimeUnixNano"), ENDED);
        assert_eq!(at(request, "startTimeUnixNano"), ENDED - 60_000);
        let names: Vec<&str> = stages.iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["t1_t2", "t2_t3", "t3_t4", "t4_t5", "t5_t6"]);
        let mut moment = ENDED - 60_000;
        for stage in stages {
            assert_eq!(stage["parentSpanId"], request["spanId"]);
            assert_eq!(at(stage, "startTimeUnixNano"), moment);
            moment = at(stage, "endTimeUnixNano");
        }
        assert_eq!(moment, ENDED);
    }

    #[test]
    fn the_verdict_and_the_culprits_are_attributes() {
        let document = exported("20261126T030211-577Z");
        let attributes = spans(&document)[0]["attributes"].as_array().expect("attributes");
        let value = |key: &str| {
            let one = attributes.iter().find(|one| one["key"] == key);
            one.map_or(Value::Null, |one| one["value"].clone())
        };
        assert_eq!(value("rearguard.culprit"), json!({"stringValue": "rustc[7]"}));
        assert_eq!(value("server.port"), json!({"intValue": "11211"}));
        let all = json!([{"stringValue": "rustc[7] in /batch (90%)"}]);
        assert_eq!(value("rearguard.background.culprits")["arrayValue"]["values"], all);
        assert_eq!(value("rearguard.background.excess_ns"), json!({"doubleValue": 40_000.0}));
        let of_process = &document["resourceSpans"][0]["resource"]["attributes"];
        let name = json!([
            {"key": "service.name", "value": {"stringValue": "memcached"}},
            {"key": "process.pid", "value": {"intValue": "10182"}},
        ]);
        assert_eq!(*of_process, name);
    }

    #[test]
    fn a_request_without_an_end_is_refused() {
        let unknown =
            KeptRequest { ended: "yesterday".to_string(), ..kept("20261126T030211-577Z") };
        let refused = otlp(&unknown, &stages(), &[], "0.2.0");
        assert!(matches!(refused, Err(Failure::Input(why)) if why.contains("yesterday")));
    }

    #[test]
    fn each_request_has_a_trace_of_its_own_and_always_the_same() {
        let ids = |id: &str| {
            let document = exported(id);
            let spans = spans(&document);
            let ids = spans.iter().filter_map(|one| one["spanId"].as_str().map(String::from));
            let trace = spans[0]["traceId"].as_str().expect("text").to_string();
            assert!(spans.iter().all(|one| one["traceId"] == *trace));
            (trace, ids.collect::<std::collections::BTreeSet<_>>())
        };
        let (trace, spans) = ids("20261126T030211-577Z");
        assert_eq!((trace.len(), spans.len()), (32, 6));
        assert!(spans.iter().all(|id| id.len() == 16));
        assert_eq!(ids("20261126T030211-577Z"), (trace.clone(), spans.clone()));
        let (other, others) = ids("20261126T030211-578Z");
        assert!(other != trace && others.is_disjoint(&spans));
    }
}
