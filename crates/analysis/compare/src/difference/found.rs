//! What result documents say that can be held against another: services with figures, and the facts of their
//! making.

use std::collections::BTreeMap;

use model::{Failure, Nanos, printable};
use report::capacity::{CAPACITY_SCHEMA, CapacityRun, Carried};
use report::difference::{COMPLAINED, LOST};
use report::document::{COMPARE_SCHEMA, Document, Estimate, Latency, Outlier, ProgramResult};
use report::{Curve, IDEAL_SCHEMA, Ideal, MEASURE_SCHEMA, Measured, ROUND};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The fact that a capacity hangs on.
pub(super) const OBJECTIVE: &str = "objective";

/// A result document, as far as it can be held against another.
#[derive(Debug)]
pub struct Found {
    pub(super) file: String,
    pub(super) text: String,
    pub(super) schema: String,
    /// Runs behind each figure.
    pub(super) runs: usize,
    /// What else may make a difference.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) subjects: Vec<Subject>,
}

/// Whose figures they are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Subject {
    /// The policy, where documents hold several.
    pub policy: Option<String>,
    /// The service.
    pub service: String,
    pub figures: Vec<Figure>,
}

/// A figure by its key in the document.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    pub key: String,
    /// Figures of other limits are other figures.
    pub given: Option<String>,
    pub value: Estimate,
    /// Surely beyond any number: so many requests are lost.
    pub is_never: bool,
}

impl Subject {
    pub fn name(&self) -> String {
        let policy = self.policy.iter().map(String::as_str);
        let words = policy.chain([&self.service[..]]).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    }

    fn printable(self) -> Subject {
        let policy = self.policy.map(|policy| printable(&policy));
        Subject { policy, service: printable(&self.service), ..self }
    }
}

/// Lines that a terminal shows and does not obey: a file may say anything.
fn shown(text: &str) -> String {
    let lines = text.lines().map(|line| printable(&line.replace('\t', " ")));
    lines.collect::<Vec<_>>().join("\n")
}

#[derive(Deserialize)]
struct Schema {
    schema: String,
}

impl Found {
    /// The format that a text says it has, if it is a result document at all.
    pub fn schema_of(text: &str) -> Option<String> {
        serde_json::from_str::<Schema>(text).ok().map(|one| one.schema)
    }

    /// Reads the document of a comparison, a measurement, an ideal or a capacity; `file` is its name for
    /// people. [`Failure::Input`] for anything else.
    pub fn read(text: &str, file: &str) -> Result<Found, Failure> {
        let schema = Found::schema_of(text).unwrap_or_default();
        let refused = |why: String| Failure::Input(format!("{file}: {}", printable(&why)));
        let read = match &schema[..] {
            COMPARE_SCHEMA => parsed(text).map(of_comparison),
            MEASURE_SCHEMA => parsed(text).map(of_measurement),
            IDEAL_SCHEMA => parsed(text).map(of_ideal),
            CAPACITY_SCHEMA => parsed(text).map(of_capacity),
            "" => Err("neither a trace nor a result document (--json writes one)".to_string()),
            other => Err(format!(
                "{other} cannot be held against another; results of compare, measure, ideal, capacity and \
                 gate record can"
            )),
        };
        let (runs, facts, subjects) = read.map_err(refused)?;
        let facts = facts.into_iter().map(|(what, value)| (what, shown(&value))).collect();
        let subjects = subjects.into_iter().map(Subject::printable).collect();
        let (file, text) = (file.to_string(), text.to_string());
        Ok(Found { file, text, schema, runs, facts, subjects })
    }
}

fn parsed<D: DeserializeOwned>(text: &str) -> Result<D, String> {
    serde_json::from_str(text).map_err(|error| format!("a result of another version ({error})"))
}

type Parts = (usize, Vec<(&'static str, String)>, Vec<Subject>);

fn of_comparison(document: Document) -> Parts {
    let shown = document.shown();
    let services = shown.iter().flat_map(|result| {
        let has_figures = |one: &&ProgramResult| one.latency_ns.is_some() || one.round_ns.is_some();
        result.programs.iter().filter(has_figures).map(|program| {
            let mut found = service(Some(result.policy.clone()), &program.name, program);
            found.figures.extend(program.round_ns.map(|value| figure(ROUND, value)));
            found.figures.extend(lost(&runs_of(&document, &result.policy, program)));
            found
        })
    });
    let kernels: Vec<&str> = shown.iter().filter_map(|result| result.kernel.as_deref()).collect();
    let facts = vec![
        ("scenario", document.scenario.clone()),
        ("scenario file", document.scenario_text.clone()),
        ("arm", document.arm.clone()),
        ("machine", document.machine.description.clone()),
        ("kernels", kernels.join(", ")),
        ("seeds", numbers(&document.seeds)),
        ("version", document.version.clone()),
    ];
    (document.seeds.len(), facts, services.collect())
}

/// The seeds' own results, where the document has them: losses of one seed say little of the next.
fn runs_of<'a>(
    document: &'a Document,
    policy: &str,
    pooled: &'a ProgramResult,
) -> Vec<&'a ProgramResult> {
    let own = document.results.iter().filter(|one| one.policy == policy && one.seed.is_some());
    let programs = own.flat_map(|one| &one.programs);
    let runs: Vec<_> = programs.filter(|program| program.name == pooled.name).collect();
    if runs.is_empty() { vec![pooled] } else { runs }
}

fn of_measurement(measured: Measured) -> Parts {
    let least = measured.at_least();
    let mut subject = service(None, &measured.target, &least);
    subject.figures.extend(lost(&[&least]));
    let complaints = sum(measured.complaints.values().copied());
    subject.figures.extend(share(COMPLAINED, complaints, least.requests));
    let stages = measured.stages.iter().flatten();
    subject.figures.extend(stages.flat_map(|stage| {
        let spans = [("mean", stage.span_ns.mean), ("p99_9", stage.span_ns.p99_9)];
        spans.map(|(name, value)| figure(&format!("stages.{}_ns.{name}", stage.stage), value))
    }));
    let facts = vec![
        ("arrivals", measured.arrivals.clone()),
        ("requests due", format!("{}/s", measured.self_check.intended_rate_per_s.round())),
        ("connections", measured.connections.to_string()),
        ("duration", Nanos(measured.duration_ns).to_string()),
        ("lost by", names(&measured.losses)),
        ("answered otherwise than wanted", names(&measured.complaints)),
        ("machine", measured.machine.clone()),
        ("version", measured.version.clone()),
    ];
    (1, facts, vec![subject])
}

/// Simulated or computed: it is the same in every run.
fn of_ideal(ideal: Ideal) -> Parts {
    let subject = |curve: &Curve| Subject {
        policy: None,
        service: curve.name.clone(),
        figures: latencies("latency_ns", &curve.latency_ns),
    };
    let facts = vec![("version", ideal.version.clone())];
    let curves = ideal.measured.iter().map(|one| &one.curve).chain([&ideal.curve]);
    (model::Answer::ENOUGH_PAIRS, facts, curves.map(subject).collect())
}

fn of_capacity(run: CapacityRun) -> Parts {
    let objective = format!("{}% over {}", 100.0 * run.proportion, Nanos(run.threshold_ns));
    let subject = |one: &Carried| Subject {
        policy: Some(one.policy.clone()),
        service: run.service.clone(),
        figures: [("rate_per_s", one.rate_per_s), ("of_ideal", one.of_ideal)]
            .map(|(key, value)| Figure { given: Some(objective.clone()), ..figure(key, value) })
            .to_vec(),
    };
    let subjects = run.policies.iter().map(subject).collect();
    let facts = vec![
        ("scenario", run.scenario.clone()),
        ("scenario file", run.scenario_text.clone()),
        (OBJECTIVE, objective.clone()),
        ("arm", run.arm.clone()),
        ("machine", run.machine.description.clone()),
        ("seeds", numbers(&run.seeds)),
        ("duration", Nanos(run.duration_ns).to_string()),
        ("version", run.version.clone()),
    ];
    (run.seeds.len(), facts, subjects)
}

fn numbers(seeds: &[u64]) -> String {
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn names(counts: &BTreeMap<String, u64>) -> String {
    counts.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The share of requests without an answer: in all of the runs, and within what any of them allows for.
fn lost(runs: &[&ProgramResult]) -> Option<Figure> {
    let all = |of: fn(&ProgramResult) -> u64| sum(runs.iter().map(|one| of(one)));
    let pooled = share(LOST, all(|one| one.lost), all(|one| one.requests))?;
    let each = runs.iter().filter_map(|one| Some(share(LOST, one.lost, one.requests)?.value));
    let value = Estimate { value: pooled.value.value, ..hull(each) };
    Some(Figure { value, ..pooled })
}

/// A file may say any count.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn share(key: &str, hits: u64, requests: u64) -> Option<Figure> {
    Some(figure(key, figures::estimate(stats::share_of(hits, requests)?)))
}

/// The interval that holds all of several; no value.
pub(super) fn hull(all: impl Iterator<Item = Estimate>) -> Estimate {
    let both = |a: Option<f64>, b: Option<f64>, of: fn(f64, f64) -> f64| Some(of(a?, b?));
    let join = |a: Estimate, b: Estimate| Estimate {
        value: None,
        low: both(a.low, b.low, f64::min),
        high: both(a.high, b.high, f64::max),
    };
    all.reduce(join).unwrap_or_default()
}

fn service(policy: Option<String>, name: &str, program: &ProgramResult) -> Subject {
    let mut figures = latencies("latency_ns", &program.latency_ns.unwrap_or_default());
    for figure in &mut figures {
        figure.is_never = program.latency_ns.is_some() && program.is_never(&figure.value);
    }
    figures.extend(program.outlier.as_ref().map(outliers));
    let ideal = program.ideal_ns.map(|ideal| figure("ideal_ns.p99_9", ideal.p99_9));
    figures.extend(ideal);
    Subject { policy, service: name.to_string(), figures }
}

fn latencies(of: &str, latency: &Latency) -> Vec<Figure> {
    let Latency { mean, p50, p90, p99, p99_9, .. } = *latency;
    let all = [("p50", p50), ("p90", p90), ("p99", p99), ("p99_9", p99_9), ("mean", mean)];
    all.map(|(name, value)| figure(&format!("{of}.{name}"), value)).to_vec()
}

fn outliers(outlier: &Outlier) -> Figure {
    let given = Some(Nanos(outlier.threshold_ns).to_string());
    Figure { given, ..figure("outlier.proportion", outlier.proportion) }
}

fn figure(key: &str, value: Estimate) -> Figure {
    Figure { key: key.to_string(), given: None, value, is_never: false }
}
