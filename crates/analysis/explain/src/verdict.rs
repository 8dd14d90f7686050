//! What made a service slow, in one sentence.

use model::Nanos;

use crate::explanation::Service;
use crate::finding::p99_9;
use crate::source::{Culprit, Source};
use crate::split::Explained;

/// What kind of cause made requests slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The load itself: its ideal is as slow.
    Load,
    /// Others on the service's CPUs.
    Neighbours,
    /// What the service does: its own long work, its locks, its sleep.
    OwnCode,
    /// A server behind it.
    Behind,
    /// Its quota.
    Limits,
    /// Disks and memory that is on them.
    Disk,
    /// It was stopped.
    Stopped,
    /// The order and the places that the scheduler chose.
    Scheduler,
    /// How it deals requests out to its threads.
    Architecture,
    /// Idle states and remote memory.
    Machine,
    /// No event accounts for it.
    Unknown,
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// One class has most of the time.
    Sure,
    /// One class has more than any other.
    Likely,
    /// It is unknown.
    None,
}

/// What made the slowest requests slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The class with the most of their time.
    pub class: Class,
    /// Its part of their latency.
    pub share: f64,
    /// How sure that is.
    pub confidence: Confidence,
    /// In how many separate stretches of time they lie.
    pub events: usize,
    /// The source and the culprit with the most of the class.
    pub worst: Option<(Source, Culprit)>,
}

/// From this part of a latency on a class has most of the time.
pub const MOST_OF_TIME: f64 = 0.6;
/// From here on it may have more than all others.
const MANY: f64 = 0.4;
/// A tail that is no longer than this beside its ideal is the load's.
const NEAR_IDEAL: f64 = 1.25;

impl Class {
    fn of(source: Source, culprit: Culprit, service: &Service) -> Class {
        let is_own = culprit == Culprit::Program(service.program as u32);
        let is_kin = matches!(culprit, Culprit::Program(one) if service.kin.contains(&one));
        match source {
            Source::Background if is_own => Class::OwnCode,
            Source::Socket if is_kin => Class::OwnCode,
            Source::Background | Source::Interrupt => Class::Neighbours,
            Source::Own | Source::Lock | Source::Sleep => Class::OwnCode,
            Source::Socket => Class::Behind,
            Source::Throttled => Class::Limits,
            Source::Disk | Source::PageFault => Class::Disk,
            Source::Stopped => Class::Stopped,
            Source::IdleElsewhere if culprit == Culprit::Worker => Class::Architecture,
            Source::Inversion | Source::IdleElsewhere => Class::Scheduler,
            Source::Power | Source::Numa => Class::Machine,
            Source::Other => Class::Unknown,
        }
    }

    /// The key of results.
    pub fn key(self) -> &'static str {
        match self {
            Class::Load => "load",
            Class::Neighbours => "neighbours",
            Class::OwnCode => "own code",
            Class::Behind => "a server behind",
            Class::Limits => "limits",
            Class::Disk => "disk",
            Class::Stopped => "stopped",
            Class::Scheduler => "scheduler",
            Class::Architecture => "architecture",
            Class::Machine => "machine",
            Class::Unknown => "unknown",
        }
    }
}

impl Service {
    /// What made its slowest requests slow. What is told by a smaller part of their time is no verdict.
    pub fn verdict(&self) -> Verdict {
        let latency = self.slowest().map(|one| one.latency.0).sum::<u64>().max(1) as f64;
        let load = self.slowest().map(|one| one.ideal.min(one.latency).0).sum::<u64>() as f64;
        let (parts, unknown) = self.parts();
        let whole = parts.iter().map(|part| part.2).sum::<u64>() as f64 + unknown;
        let of_excess = |ns: f64| (latency - load) / latency * ns / whole.max(1.0);
        let mut classes = std::collections::BTreeMap::<Class, f64>::new();
        for (source, culprit, ns) in &parts {
            let class = Class::of(*source, *culprit, self);
            *classes.entry(class).or_default() += of_excess(*ns as f64);
        }
        classes.insert(Class::Unknown, of_excess(unknown));
        classes.insert(Class::Load, load / latency);
        let greatest = classes.iter().max_by(|a, b| a.1.total_cmp(b.1));
        let (class, share) =
            greatest.map_or((Class::Unknown, 1.0), |(class, share)| (*class, *share));
        let class = if self.is_near_ideal() { Class::Load } else { class };
        let share = classes.get(&class).copied().unwrap_or(share);
        let confidence = match share {
            _ if class == Class::Unknown => Confidence::None,
            _ if class == Class::Load && self.is_near_ideal() => Confidence::Sure,
            share if share >= MOST_OF_TIME => Confidence::Sure,
            share if share >= MANY => Confidence::Likely,
            _ => Confidence::None,
        };
        let own = parts.iter().filter(|p| Class::of(p.0, p.1, self) == class);
        let worst = own.max_by_key(|part| part.2).map(|part| (part.0, part.1));
        Verdict { class, share, confidence, events: self.events(), worst }
    }

    fn is_near_ideal(&self) -> bool {
        let tail = |of: fn(&Explained) -> Nanos| p99_9(self.requests.iter().map(of)).0 as f64;
        tail(|one| one.latency) <= NEAR_IDEAL * tail(|one| one.ideal)
    }

    /// What each culprit took of the slowest requests, and what no event accounts for.
    fn parts(&self) -> (Vec<(Source, Culprit, u64)>, f64) {
        let mut parts = std::collections::BTreeMap::<(Source, Culprit), u64>::new();
        for blame in self.slowest().flat_map(|one| &one.blames) {
            *parts.entry((blame.source, blame.culprit)).or_default() += blame.ns;
        }
        let unknown = self.slowest().map(|one| one.other.max(0)).sum::<i64>() as f64;
        (parts.into_iter().map(|((source, culprit), ns)| (source, culprit, ns)).collect(), unknown)
    }

    /// In how many separate stretches of time the slowest requests lie: those that overlap are one event.
    fn events(&self) -> usize {
        let span = |one: &Explained| {
            let begin = self.intended[one.request as usize];
            (begin, begin.saturating_add(one.latency))
        };
        let mut spans: Vec<(Nanos, Nanos)> = self.slowest().map(span).collect();
        spans.sort_unstable();
        let mut until = Nanos::ZERO;
        let mut events = 0;
        for (from, to) in spans {
            events += usize::from(from >= until);
            until = until.max(to);
        }
        events
    }
}
