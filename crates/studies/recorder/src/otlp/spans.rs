//! A kept request as a trace: a span for it, and below that one for each stage. The verdict and the culprits
//! of each source are attributes.

use std::time::SystemTime;

use model::trace::Stages;
use model::{Failure, Nanos};
use prost::Message;
use report::explain::{Culprit, Finding};
use report::stages::SERVER_STAGES;

use super::proto::{
    AnyValue, Array, KeyValue, Resource, ResourceSpans, ScopeSpans, Span, Traces, Value, attribute,
    scope, text, whole,
};
use crate::kept::KeptRequest;
use crate::metric::Exemplar;

/// Kinds of spans, as OTLP numbers them.
const INTERNAL: i32 = 1;
const SERVER: i32 = 2;

/// A kept request with what its spans are made of.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The request.
    pub kept: KeptRequest,
    /// Its moments.
    pub stages: Stages,
    /// What took its time.
    pub findings: Vec<Finding>,
}

impl Traced {
    /// In one line, for a file. [`Failure::Input`] where it does not say when it ended.
    pub fn json(&self, version: &str) -> Result<String, Failure> {
        let traces = self.traces(None, version)?;
        Ok(serde_json::to_string(&traces).expect("texts and numbers") + "\n")
    }

    /// The body of a request to `/v1/traces`, of a recorder on this host.
    pub fn message(&self, host: &str, version: &str) -> Result<Vec<u8>, Failure> {
        Ok(self.traces(Some(host), version)?.encode_to_vec())
    }

    fn traces(&self, host: Option<&str>, version: &str) -> Result<Traces, Failure> {
        let scope_spans = vec![ScopeSpans { scope: Some(scope(version)), spans: self.spans()? }];
        let host = host.map(|host| text("host.name", host));
        let attributes = service(&self.kept.service).into_iter().chain(host).collect();
        let resource = Some(Resource { attributes });
        Ok(Traces { resource_spans: vec![ResourceSpans { resource, scope_spans }] })
    }

    fn spans(&self) -> Result<Vec<Span>, Failure> {
        let (kept, ended_ns) = (&self.kept, self.kept.ended_ns()?);
        let moments = self.stages.moments();
        // The wall clock's moment of one on the trace's clock.
        let wall = |at: usize| ended_ns.saturating_sub(moments[5].saturating_sub(moments[at]).0);
        let span = |number: usize, name: &str, kind: i32, from: usize, to: usize| Span {
            trace_id: trace_id(kept).to_vec(),
            span_id: span_id(kept, number).to_vec(),
            name: name.to_string(),
            kind,
            start_time_unix_nano: wall(from),
            end_time_unix_nano: wall(to),
            ..Span::default()
        };
        let attributes = attributes(kept, &self.findings);
        let request = Span { attributes, ..span(0, "request", SERVER, 0, 5) };
        let stage = |(at, (name, what)): (usize, &(&str, &str))| Span {
            parent_span_id: request.span_id.clone(),
            attributes: vec![text("rearguard.what", what)],
            ..span(at + 1, name, INTERNAL, at, at + 1)
        };
        let stages = SERVER_STAGES.iter().enumerate().map(stage).collect::<Vec<_>>();
        Ok([vec![request], stages].concat())
    }
}

/// A kept request in a histogram of latencies, or in that of a stage by its name; `None` where it has none
/// such.
pub fn exemplar(one: &Traced, stage: Option<&str>) -> Option<Exemplar> {
    let (number, span) = match stage {
        None => (0, one.stages.latency()),
        Some(stage) => {
            let at = SERVER_STAGES.iter().position(|(name, _)| *name == stage)?;
            (at + 1, one.stages.spans()[at])
        }
    };
    let at_ns = one.kept.ended_ns().ok()?;
    let (trace_id, span_id) = (trace_id(&one.kept), span_id(&one.kept, number));
    Some(Exemplar { value: Nanos::as_secs_f64(span), at_ns, trace_id, span_id })
}

/// Of the wall clock, in nanoseconds.
pub(super) fn since_1970(at: SystemTime) -> u64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// `memcached[10182]` by its name and its number.
fn service(service: &str) -> Vec<KeyValue> {
    let number = service.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    let number = number.and_then(|(name, pid)| Some((name, pid.parse::<u32>().ok()?)));
    match number {
        Some((name, pid)) => vec![text("service.name", name), whole("process.pid", pid.into())],
        None => vec![text("service.name", service)],
    }
}

fn attributes(kept: &KeptRequest, findings: &[Finding]) -> Vec<KeyValue> {
    let told = &kept.told;
    let known = [
        ("source", &told.source),
        ("culprit", &told.culprit),
        ("culprit.owner", &told.owner),
        ("owner", &kept.owner),
    ];
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
fn sources(finding: &Finding) -> [KeyValue; 2] {
    let key = |what: &str| format!("rearguard.{}.{what}", finding.source);
    let value = |one: &Culprit| AnyValue { value: Some(Value::Text(culprit(one))) };
    let values = finding.culprits.iter().map(value).collect();
    [
        attribute(&key("excess_ns"), Value::Double(finding.slow_ns)),
        attribute(&key("culprits"), Value::Array(Array { values })),
    ]
}

fn culprit(one: &Culprit) -> String {
    format!("{} ({:.0}%)", one.place(), 100.0 * one.share)
}

/// The same request has the same trace, however often it is exported. Its latency tells it from one of
/// another machine, where many send to one place.
fn trace_id(kept: &KeptRequest) -> [u8; 16] {
    let latency = kept.latency_ns.to_string();
    let half = |which: &str| hash(&[&kept.service, &kept.id, &latency, which]);
    (u128::from(half("high")) << 64 | u128::from(half("low"))).to_be_bytes()
}

/// The request's own has number 0, its stages' follow.
fn span_id(kept: &KeptRequest, number: usize) -> [u8; 8] {
    hash(&[&kept.id, &number.to_string()]).to_be_bytes()
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
    use serde_json::{Value, json};

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
        let culprit = Culprit {
            name: "rustc[7]".into(),
            group: Some("/batch".into()),
            owner: None,
            share: 0.9,
        };
        let source = "background".to_string();
        let culprits = vec![culprit];
        let finding = Finding { source, slow_ns: 40_000.0, culprits, ..Finding::default() };
        let one = Traced { kept: kept(id), stages: stages(), findings: vec![finding] };
        let text = one.json("0.2.0").expect("it has an end");
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
        let one = Traced { kept: unknown, stages: stages(), findings: Vec::new() };
        let refused = one.json("0.2.0");
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
