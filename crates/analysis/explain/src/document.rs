//! An explanation as the document says it, with names.

use std::collections::BTreeMap;

use model::event::NameId;
use model::{Nanos, Trace};
use report::document::{Latency, Sources};
use report::explain::{
    CpuSpans, Culprit as NamedCulprit, ExplainedService, Finding as NamedFinding, LongRequests,
    OffCpu, SlowRequest, Span as NamedSpan, Split, Verdict as NamedVerdict,
};
use stats::latency_estimates;

use crate::explanation::{Explanation, Service, explain};
use crate::finding::{Finding, culprits, p99_9};
use crate::setting::{Names, Program, Setting};
use crate::source::{Culprit, Holder, Source};
use crate::spans::Span;
use crate::split::Explained;
use crate::verdict::{Confidence, Lack};

/// So many of the slowest requests have timelines, each of at most so many moments: without bounds a growing
/// queue has timelines of all that happened for each of a thousandth of its requests.
const TIMELINES: usize = 100;
const MOMENTS: usize = 10_000;

impl Explanation<'_> {
    /// Every service as the document says it.
    pub fn documents(&self) -> Vec<ExplainedService> {
        let names = Names::new(self.setting, self.scene.trace);
        self.services.iter().map(|service| self.document(service, &names)).collect()
    }

    fn document(&self, service: &Service, names: &Names) -> ExplainedService {
        let all = service.requests.iter();
        let ideal = p99_9(all.clone().map(|request| request.ideal));
        let measured = p99_9(all.clone().map(|request| request.latency));
        let finding = |finding: &Finding| NamedFinding {
            slow_ns: finding.ns as f64 / service.slow.len() as f64,
            p99_9_ns: measured.0 as f64,
            p99_9_ideal_ns: Some(ideal.0 as f64),
            ..named(finding, service, names)
        };
        let told = ExplainedService {
            name: names.setting.programs[service.program].name.clone(),
            owner: names.setting.programs[service.program].owner.clone(),
            requests: service.requests.len() as u64,
            lost: service.lost,
            unknown: service.unknown,
            latency_ns: latency(all.clone().map(|request| request.latency)),
            ideal_ns: Some(latency(all.clone().map(|request| request.ideal))),
            mean_ns: mean(all),
            slow_requests: service.slow.len() as u64,
            slow_ns: mean(service.slowest()),
            verdict: verdict(service, names),
            findings: service.findings().iter().map(finding).collect(),
            slow: (0..).zip(service.slowest()).map(|one| self.slow(service, one, names)).collect(),
        };
        if service.has_ideal() { told } else { without_ideal(told) }
    }

    fn slow(
        &self,
        service: &Service,
        (rank, one): (usize, &Explained),
        names: &Names,
    ) -> SlowRequest {
        let program = service.program;
        let most = if rank < TIMELINES { MOMENTS } else { 0 };
        let stamps = self.scene.trace.programs[program].requests[one.request as usize];
        let served = self.scene.serving.of(program, one.request as usize);
        let worst = one.worst().filter(|(source, _)| one.of(*source) as i64 >= one.other);
        let cpus = self.spans(program, one.request, most).into_iter();
        let unknown = (one.other > 0).then_some("other");
        SlowRequest {
            request: one.request.into(),
            thread: served.map_or(String::new(), |served| names.thread(served.thread).to_string()),
            intended_ns: stamps.intended.0,
            sent_ns: stamps.sent.0,
            started_ns: stamps.started.0,
            completed_ns: stamps.completed.0,
            received_ns: stamps.received.0,
            split_ns: mean(std::iter::once(one)),
            source: worst.map(|(source, _)| source.key()).or(unknown).map(String::from),
            culprit: worst.map(|worst| named_culprit(worst, program, names).name),
            cpus: cpus
                .map(|(cpu, spans)| CpuSpans {
                    cpu: cpu as u32,
                    spans: spans.iter().map(|span| named_span(span, names)).collect(),
                })
                .collect(),
        }
    }
}

/// The same with none of the figures of an ideal.
fn without_ideal(told: ExplainedService) -> ExplainedService {
    let split = |one: Split| Split { ideal: None, saved: None, ..one };
    let finding = |one: NamedFinding| NamedFinding { p99_9_ideal_ns: None, ..one };
    let slow = |one: SlowRequest| SlowRequest { split_ns: split(one.split_ns), ..one };
    ExplainedService {
        ideal_ns: None,
        mean_ns: split(told.mean_ns),
        slow_ns: split(told.slow_ns),
        findings: told.findings.into_iter().map(finding).collect(),
        slow: told.slow.into_iter().map(slow).collect(),
        ..told
    }
}

impl Explained {
    /// The source that took most, and its worst culprit.
    pub fn worst(&self) -> Option<(Source, Culprit)> {
        let source = Source::ALL.into_iter().max_by_key(|source| self.of(*source))?;
        let (culprit, _) = *culprits(std::iter::once(self), source).first()?;
        Some((source, culprit))
    }
}

fn latency(of: impl Iterator<Item = Nanos>) -> Latency {
    let all: Vec<Nanos> = of.collect();
    latency_estimates(&[all]).as_ref().map(figures::latency).unwrap_or_default()
}

/// Where the time of one run's slow requests went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// How many they are.
    pub requests: u64,
    /// The mean of a request.
    pub sources: Sources,
}

/// Where the time of slow requests went, by program; empty where the trace has no events.
pub fn slow_sources(trace: &Trace, setting: &Setting) -> Vec<Option<Slow>> {
    let Ok(explanation) = explain(trace, setting) else { return Vec::new() };
    let mut slow = vec![None; trace.programs.len()];
    for service in &explanation.services {
        let requests = service.slow.len() as u64;
        slow[service.program] = Some(Slow { requests, sources: sources(service.slowest()) });
    }
    slow
}

/// The slow requests of several runs together; `None` without any.
pub fn pooled<'a>(runs: impl Iterator<Item = &'a Slow> + Clone) -> Option<Sources> {
    let whole: u64 = runs.clone().map(|run| run.requests).sum();
    let mean = |of: fn(&Sources) -> f64| {
        let sum = runs.clone().map(|run| run.requests as f64 * of(&run.sources)).sum::<f64>();
        sum / whole as f64
    };
    (whole > 0).then(|| Sources {
        inherent: mean(|sources| sources.inherent),
        inversion: mean(|sources| sources.inversion),
        background: mean(|sources| sources.background),
        interrupt: mean(|sources| sources.interrupt),
        idle_elsewhere: mean(|sources| sources.idle_elsewhere),
        power: mean(|sources| sources.power),
        numa: mean(|sources| sources.numa),
    })
}

/// The mean of requests' parts, as the document says them.
fn sources<'a>(requests: impl Iterator<Item = &'a Explained> + Clone) -> Sources {
    let mean_of = |part: &dyn Fn(&Explained) -> f64| {
        let count = requests.clone().count().max(1) as f64;
        requests.clone().map(part).sum::<f64>() / count
    };
    let of = |source: Source| mean_of(&|request| request.of(source) as f64);
    Sources {
        inherent: mean_of(&|request| request.inherent as f64),
        inversion: of(Source::Inversion),
        background: of(Source::Background),
        interrupt: of(Source::Interrupt),
        idle_elsewhere: of(Source::IdleElsewhere),
        power: of(Source::Power),
        numa: of(Source::Numa),
    }
}

/// What no scheduler mends, as the document says it.
fn kept<'a>(requests: impl Iterator<Item = &'a Explained> + Clone) -> OffCpu {
    let count = requests.clone().count().max(1) as f64;
    let of = |source: Source| {
        requests.clone().map(|request| request.of(source) as f64).sum::<f64>() / count
    };
    OffCpu {
        own_work: of(Source::Own),
        lock: of(Source::Lock),
        sleep: of(Source::Sleep),
        socket: of(Source::Socket),
        client: of(Source::Client),
        disk: of(Source::Disk),
        page_fault: of(Source::PageFault),
        stopped: of(Source::Stopped),
        throttled: of(Source::Throttled),
    }
}

fn verdict(service: &Service, names: &Names) -> NamedVerdict {
    let verdict = service.verdict();
    let confidence = match verdict.confidence {
        Confidence::Sure => "sure",
        Confidence::Likely => "likely",
        Confidence::None => "cannot tell",
    };
    let named = |(source, culprit, ns): (Source, Culprit, u64)| {
        let named = named_culprit((source, culprit), service.program, names);
        (source, NamedCulprit { share: ns as f64, ..named })
    };
    let worst = greatest(verdict.parts.into_iter().map(named).collect());
    let (source, culprit) = worst.unzip();
    let (culprit, owner) = culprit.map(|one| (one.name, one.owner)).unzip();
    NamedVerdict {
        class: verdict.class.key().to_string(),
        share: verdict.share,
        confidence: confidence.to_string(),
        events: verdict.events as u64,
        source: source.map(|source: Source| source.key().to_string()),
        culprit,
        owner: owner.flatten(),
        long: verdict.long.map(|long| LongRequests {
            requests: long.requests as u64,
            longest: long.longest.into(),
            longest_ns: long.service.0,
            share: long.share,
        }),
        note: verdict.lack.map(|lack| lack.words().to_string()),
    }
}

/// The greatest culprit of any source, where processes of one program are one, as they are in the table.
fn greatest(all: Vec<(Source, NamedCulprit)>) -> Option<(Source, NamedCulprit)> {
    let mut by_source: BTreeMap<Source, Vec<NamedCulprit>> = BTreeMap::new();
    for (source, culprit) in all {
        by_source.entry(source).or_default().push(culprit);
    }
    let firsts = by_source
        .into_iter()
        .filter_map(|(source, culprits)| Some((source, together(culprits).into_iter().next()?)));
    firsts.max_by(|a, b| a.1.share.total_cmp(&b.1.share))
}

impl Lack {
    fn words(self) -> &'static str {
        match self {
            Lack::Ideal => {
                "without an ideal: its service time holds what the service's other threads do, and is longer than requests have"
            }
            Lack::Requests => "so few requests tell no more: watch for longer, or under load",
        }
    }
}

fn mean<'a>(requests: impl Iterator<Item = &'a Explained> + Clone) -> Split {
    let mean_of = |part: &dyn Fn(&Explained) -> f64| {
        let count = requests.clone().count().max(1) as f64;
        requests.clone().map(part).sum::<f64>() / count
    };
    Split {
        latency: mean_of(&|request| request.latency.0 as f64),
        ideal: Some(mean_of(&|request| request.ideal.0 as f64)),
        service: mean_of(&|request| request.service.0 as f64),
        sources: sources(requests.clone()),
        kept: kept(requests.clone()),
        other: mean_of(&|request| request.other as f64),
        saved: Some(mean_of(&|request| request.saved as f64)),
    }
}

fn named(finding: &Finding, service: &Service, names: &Names) -> NamedFinding {
    let is_own = 2 * service.own_part(finding) > finding.ns;
    let words = if is_own { finding.source.words_of_own() } else { finding.source.words() };
    let culprit = |(culprit, ns): &(Culprit, u64)| NamedCulprit {
        share: *ns as f64 / finding.ns as f64,
        ..named_culprit((finding.source, *culprit), service.program, names)
    };
    NamedFinding {
        source: words.key.to_string(),
        what: words.what.to_string(),
        share: finding.share,
        culprits: together(finding.culprits.iter().map(culprit).collect()),
        p99_9_without_ns: finding.p99_9_without.map(|at| at.0 as f64),
        mitigation: words.mitigation.to_string(),
        trade_off: words.trade_off.to_string(),
        from: words.from.to_string(),
        ..NamedFinding::default()
    }
}

/// Processes of one program and one group as one.
fn together(culprits: Vec<NamedCulprit>) -> Vec<NamedCulprit> {
    let program = |one: &NamedCulprit| {
        let name = one.name.strip_suffix(']').and_then(|name| name.rsplit_once('['));
        name.map_or(one.name.clone(), |(name, _)| name.to_string())
    };
    let mut all: Vec<(String, u32, NamedCulprit)> = Vec::new();
    for one in culprits {
        let name = program(&one);
        match all.iter_mut().find(|known| known.0 == name && known.2.group == one.group) {
            Some((_, count, whole)) => {
                (*count, whole.share) = (*count + 1, whole.share + one.share)
            }
            None => all.push((name, 1, one)),
        }
    }
    let merged = all.into_iter().map(|(name, count, one)| match count {
        1 => one,
        _ => NamedCulprit { name: format!("{name} ({count} processes)"), ..one },
    });
    let mut merged: Vec<NamedCulprit> = merged.collect();
    merged.sort_by(|a, b| b.share.total_cmp(&a.share));
    merged
}

/// A culprit by its name, a program with its group and its owner.
fn named_culprit((source, culprit): (Source, Culprit), own: usize, names: &Names) -> NamedCulprit {
    let of_program = |program: &Program, name: String| {
        let (group, owner) = (program.group.clone(), program.owner.clone());
        NamedCulprit { name, group, owner, share: 0.0 }
    };
    let state = |state: NameId| format!("idle state {}", names.table(state));
    let alone = match culprit {
        Culprit::Program(index) => {
            let program = &names.setting.programs[index as usize];
            let name = match source {
                Source::Inversion => format!("later requests of {}", program.name),
                _ if index as usize == own => format!("{}'s other threads", program.name),
                _ => program.name.clone(),
            };
            return of_program(program, name);
        }
        Culprit::Interrupt(name) => names.table(name).to_string(),
        Culprit::IdleState(name) => name.map_or("a late wake-up".to_string(), state),
        Culprit::Worker => "its worker was busy".to_string(),
        Culprit::Placement => format!("placement by {}", names.trace.policy),
        Culprit::Remote => "remote memory".to_string(),
        Culprit::Itself if source == Source::Client => {
            "its client, or the network to it".to_string()
        }
        Culprit::Itself if source == Source::Socket => "what no event names".to_string(),
        Culprit::Itself => {
            let program = &names.setting.programs[own];
            return of_program(program, program.name.clone());
        }
    };
    NamedCulprit { name: alone, ..NamedCulprit::default() }
}

fn named_span(span: &Span, names: &Names) -> NamedSpan {
    let (name, program) = match span.holder {
        Holder::Thread(thread) => {
            let program = names.trace.threads[thread.index()].program;
            (names.thread(thread).to_string(), Some(&names.setting.programs[program]))
        }
        Holder::Interrupt(name, _) => (names.table(name).to_string(), None),
        Holder::Exit(state, _) => (format!("idle state {}", names.table(state)), None),
        Holder::Idle => ("idle".to_string(), None),
        Holder::Away => ("offline".to_string(), None),
    };
    let kind = span.kind.word().to_string();
    let group = program.and_then(|program| program.group.clone());
    let owner = program.and_then(|program| program.owner.clone());
    NamedSpan { from_ns: span.from.0, to_ns: span.to.0, kind, name, group, owner }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn culprit(name: &str, group: &str, share: f64) -> NamedCulprit {
        let group = Some(group.to_string());
        NamedCulprit { name: name.to_string(), group, owner: None, share }
    }

    fn all() -> Vec<NamedCulprit> {
        let hogs = [("hog[9]", "a", 0.25), ("hog[8]", "a", 0.25), ("hog[6]", "b", 0.2)];
        let all = [("build[7]", "a", 0.3)].into_iter().chain(hogs);
        all.map(|(name, group, share)| culprit(name, group, share)).collect()
    }

    #[test]
    fn processes_of_one_program_are_one_culprit() {
        let names: Vec<String> = together(all()).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["hog (2 processes)", "build[7]", "hog[6]"]);
    }

    #[test]
    fn a_verdict_names_them_as_one_too() {
        let of = |source| all().into_iter().map(move |one| (source, one));
        let lock = (Source::Lock, culprit("build[7]", "a", 0.4));
        let named = greatest(of(Source::Background).chain([lock.clone()]).collect());
        assert_eq!(named.map(|one| (one.0, one.1.name)), {
            Some((Source::Background, "hog (2 processes)".to_string()))
        });
        let apart = all().into_iter().skip(2).map(|one| (Source::Background, one));
        let named = greatest(apart.chain([lock]).collect());
        assert_eq!(named.map(|one| one.1.name), Some("build[7]".to_string()), "the control");
    }
}
