//! What made a service slow, in one sentence.

use std::collections::{BTreeMap, BTreeSet};

use model::Nanos;

use crate::explanation::Service;
use crate::finding::Finding;
use crate::ideal::Standing;
use crate::long::Long;
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
    /// The client, or the network to it.
    Client,
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

/// What a verdict has to do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// An ideal: its service time is longer than requests have, so their time is divided without it.
    Ideal,
    /// Requests: they are too few to tell the load from a cause.
    Requests,
}

/// What made the slowest requests slow.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The class with the most of their time.
    pub class: Class,
    /// Its part of their latency.
    pub share: f64,
    /// How sure that is.
    pub confidence: Confidence,
    /// In how many separate stretches of time they lie.
    pub events: usize,
    /// What the class has of the slowest requests' time, by source and culprit, in ns.
    pub parts: Vec<(Source, Culprit, u64)>,
    /// Of the load: the requests far longer than others that most of it is due to.
    pub long: Option<Long>,
    /// What it has to do without.
    pub lack: Option<Lack>,
}

/// From this part of a latency on a class has most of the time.
pub const MOST_OF_TIME: f64 = 0.6;
/// From here on it may have more than all others.
const MANY: f64 = 0.4;
/// Fewer requests in all of a trace say nothing of a load: what threads do besides is divided by them.
const FEWEST: usize = 20;

impl Class {
    fn of(source: Source, culprit: Culprit, service: &Service) -> Class {
        let is_of = |programs: &BTreeSet<u32>| matches!(culprit, Culprit::Program(one) if programs.contains(&one));
        match source {
            Source::Background if is_of(&service.own) => Class::OwnCode,
            Source::Socket if is_of(&service.kin) => Class::OwnCode,
            Source::Background | Source::Interrupt => Class::Neighbours,
            Source::Own | Source::Lock | Source::Sleep => Class::OwnCode,
            Source::Socket => Class::Behind,
            Source::Client => Class::Client,
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
            Class::Client => "client",
            Class::Unknown => "unknown",
        }
    }
}

type Classes = BTreeMap<Class, f64>;

impl Service {
    /// What made its slowest requests slow. What is told by a smaller part of their time is no verdict.
    pub fn verdict(&self) -> Verdict {
        let standing = self.standing();
        let (mut parts, unknown) = self.parts();
        let classes = match standing {
            Standing::Impossible => self.by_parts(&parts),
            _ => self.beside_ideal(&parts, unknown),
        };
        let greatest = classes.iter().max_by(|a, b| a.1.total_cmp(b.1));
        let class = greatest.map_or(Class::Unknown, |(class, _)| *class);
        let class = if standing == Standing::Near { Class::Load } else { class };
        let share = classes.get(&class).copied().unwrap_or(1.0);
        parts.retain(|part| Class::of(part.0, part.1, self) == class);
        let lack = self.lack(class, standing);
        let long = self.long.filter(|_| class == Class::Load && lack.is_none());
        let confidence = match share {
            _ if class == Class::Unknown || lack == Some(Lack::Requests) => Confidence::None,
            _ if standing == Standing::Near => Confidence::Sure,
            share if share >= MOST_OF_TIME => Confidence::Sure,
            share if share >= MANY => Confidence::Likely,
            _ => Confidence::None,
        };
        Verdict { class, share, confidence, events: self.events(), parts, long, lack }
    }

    /// What the service's own code took of a finding.
    pub(crate) fn own_part(&self, finding: &Finding) -> u64 {
        let is_own = |culprit| Class::of(finding.source, culprit, self) == Class::OwnCode;
        finding.culprits.iter().filter(|(culprit, _)| is_own(*culprit)).map(|(_, ns)| ns).sum()
    }

    fn lack(&self, class: Class, standing: Standing) -> Option<Lack> {
        let needs_many = class == Class::Load || standing == Standing::Impossible;
        if needs_many && self.intended.len() < FEWEST {
            return Some(Lack::Requests);
        }
        (standing == Standing::Impossible).then_some(Lack::Ideal)
    }

    /// By class, the part of the slowest requests' time: their ideal is the load's, what is beyond it goes
    /// to all causes alike.
    fn beside_ideal(&self, parts: &[(Source, Culprit, u64)], unknown: f64) -> Classes {
        let latency = self.slow_time();
        let load = self.slowest().map(|one| one.ideal.min(one.latency).0).sum::<u64>() as f64;
        let whole = parts.iter().map(|part| part.2).sum::<u64>() as f64 + unknown;
        let of_excess = (latency - load) / latency / whole.max(1.0);
        let mut classes = self.classes(parts, of_excess);
        classes.insert(Class::Unknown, unknown * of_excess);
        classes.insert(Class::Load, load / latency);
        classes
    }

    /// The same without an ideal: the load has the time in which their threads were at work for them, and
    /// in which they waited for siblings that came first.
    fn by_parts(&self, parts: &[(Source, Culprit, u64)]) -> Classes {
        let latency = self.slow_time();
        let load = self.slowest().map(Explained::load).sum::<u64>() as f64;
        let mut classes = self.classes(parts, 1.0 / latency);
        let told = classes.values().sum::<f64>() + load / latency;
        classes.insert(Class::Unknown, (1.0 - told).max(0.0));
        classes.insert(Class::Load, load / latency);
        classes
    }

    fn classes(&self, parts: &[(Source, Culprit, u64)], scale: f64) -> Classes {
        let mut classes = Classes::new();
        for (source, culprit, ns) in parts {
            *classes.entry(Class::of(*source, *culprit, self)).or_default() += *ns as f64 * scale;
        }
        classes
    }

    fn slow_time(&self) -> f64 {
        self.slowest().map(|one| one.latency.0).sum::<u64>().max(1) as f64
    }

    /// What each culprit took of the slowest requests, and what no event accounts for.
    fn parts(&self) -> (Vec<(Source, Culprit, u64)>, f64) {
        let mut parts = BTreeMap::<(Source, Culprit), u64>::new();
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
