//! What the slow requests of a service say together: sources by weight, culprits by name, and what a cure
//! would bring.

use model::Nanos;
use stats::latency_estimates;

use crate::explanation::Service;
use crate::source::{Culprit, Source};
use crate::split::Explained;

/// A source of the slow requests' excess.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The source.
    pub source: Source,
    /// What it took of the slow requests together.
    pub ns: u64,
    /// Its part of what all sources took of them, 0 to 1.
    pub share: f64,
    /// The culprits, by weight. Their parts sum to `ns`.
    pub culprits: Vec<(Culprit, u64)>,
    /// The p99.9 of all requests if this source were gone; `None`: no ideal bounds it from below,
    /// or it depends on how the scheduler would order what is left.
    pub p99_9_without: Option<Nanos>,
}

impl Service {
    /// The sources that took anything of the slowest requests, the greatest first.
    pub fn findings(&self) -> Vec<Finding> {
        let has_ideal = self.has_ideal();
        let unknown: u64 = self.slowest().map(|one| one.other.max(0).cast_unsigned()).sum();
        let whole = unknown + self.slowest().map(Explained::excess).sum::<u64>();
        let finding = |source: Source| {
            let ns: u64 = self.slowest().map(|request| request.of(source)).sum();
            Finding {
                source,
                ns,
                share: ns as f64 / whole as f64,
                culprits: culprits(self.slowest(), source),
                p99_9_without: self.foretold(source).filter(|_| has_ideal),
            }
        };
        let found = Source::ALL.into_iter().filter(|&s| self.slowest().any(|r| r.of(s) > 0));
        let mut findings: Vec<Finding> = found.map(finding).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.ns));
        findings
    }

    /// What can be told of the p99.9 without a source. Without inversions the order is known.
    fn foretold(&self, source: Source) -> Option<Nanos> {
        let is_known = source == Source::Inversion || !self.reorders;
        is_known.then(|| self.p99_9_without(source))
    }

    /// The p99.9 of the service's latency if a source were gone. What some requests gained by passing others
    /// does not go with every source, but no scheduler has a shorter tail than the ideal.
    pub fn p99_9_without(&self, source: Source) -> Nanos {
        let all = |of: &dyn Fn(&Explained) -> Nanos| p99_9(self.requests.iter().map(of));
        let (measured, ideal) = (all(&|request| request.latency), all(&|request| request.ideal));
        all(&|request| request.without(source)).max(ideal.min(measured))
    }
}

/// The p99.9 of latencies; never without any.
pub(crate) fn p99_9(latencies: impl Iterator<Item = Nanos>) -> Nanos {
    let all: Vec<Nanos> = latencies.collect();
    latency_estimates(&[all]).map_or(Nanos::NEVER, |latency| Nanos(latency.p99_9.value as u64))
}

/// The culprits of what a source took, the greatest part first.
pub(crate) fn culprits<'a>(
    requests: impl Iterator<Item = &'a Explained>,
    source: Source,
) -> Vec<(Culprit, u64)> {
    let mut sums = std::collections::BTreeMap::<Culprit, u64>::new();
    for blame in requests.flat_map(|request| &request.blames).filter(|b| b.source == source) {
        *sums.entry(blame.culprit).or_default() += blame.ns;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    sums
}
