//! What each kind of request of a mix had.

use generator::Record;
use model::Nanos;
use report::document::{Estimate, Latency};
use report::{KindResult, OTHERS};
use stats::{Quantile, latency_estimates};

use crate::protocol::mix::Weights;

/// Kinds with figures of their own; the rest of a long file is one row.
const SHOWN: usize = 20;

/// The kinds of a mix.
#[derive(Clone, Debug)]
pub struct Kinds {
    /// What people know each by.
    pub names: Vec<String>,
    /// The draw that made requests of them.
    pub weights: Weights,
}

/// What requests of a kind, or of several, had.
#[derive(Clone, Default)]
struct Had {
    kinds: u64,
    latencies: Vec<Nanos>,
    complaints: u64,
}

impl Kinds {
    /// The figures of each, the most frequent first, and of those that are left in one.
    pub fn results(self, records: &[Record]) -> Vec<KindResult> {
        let numbers: Vec<usize> =
            records.iter().map(|record| self.weights.kind(&record.ask())).collect();
        let order = most_frequent(self.names.len(), &numbers);
        let mut rows = vec![0; order.len()];
        order.iter().enumerate().for_each(|(row, kind)| rows[*kind] = row.min(SHOWN));
        let mut had = vec![Had::default(); order.len().min(SHOWN + 1)];
        rows.iter().for_each(|row| had[*row].kinds += 1);
        for (record, kind) in records.iter().zip(numbers) {
            let had = &mut had[rows[kind]];
            had.latencies.push(record.latency());
            had.complaints += u64::from(record.complaint.is_some());
        }
        let names = order.into_iter().take(SHOWN).map(|kind| self.names[kind].clone());
        let names = names.chain([OTHERS.to_string()]);
        names.zip(had).map(|(name, had)| had.result(name, records.len())).collect()
    }
}

/// The numbers of the kinds, the most frequent first; of equals the first of the file.
fn most_frequent(kinds: usize, numbers: &[usize]) -> Vec<usize> {
    let mut counts = vec![0u64; kinds];
    numbers.iter().for_each(|kind| counts[*kind] += 1);
    let mut order: Vec<usize> = (0..kinds).collect();
    order.sort_by_key(|kind| std::cmp::Reverse(counts[*kind]));
    order
}

impl Had {
    fn result(self, name: String, of: usize) -> KindResult {
        let requests = self.latencies.len();
        let lost = self.latencies.iter().filter(|latency| **latency == Nanos::NEVER).count();
        let found = latency_estimates(&[&self.latencies]);
        KindResult {
            name,
            kinds: self.kinds,
            requests: requests as u64,
            share: requests as f64 / of as f64,
            lost: lost as u64,
            complaints: self.complaints,
            latency_ns: found.map(|found| told(figures::latency(&found), requests)),
        }
    }
}

/// The figures without quantiles that so few samples do not tell: the slowest of ten is no p99.
fn told(latency: Latency, samples: usize) -> Latency {
    let if_told = |quantile: Quantile, found: Estimate| {
        if quantile.is_within(samples) { found } else { Estimate::default() }
    };
    Latency {
        p50: if_told(Quantile::P50, latency.p50),
        p90: if_told(Quantile::P90, latency.p90),
        p99: if_told(Quantile::P99, latency.p99),
        p99_9: if_told(Quantile::P99_9, latency.p99_9),
        ..latency
    }
}

#[cfg(test)]
mod tests {
    use generator::Loss;
    use model::workload::Planned;

    use super::*;

    /// Requests of kinds with falling weights, of which kind `n` takes `n + 1` ms.
    fn found(kinds: u64, requests: u32) -> Vec<KindResult> {
        let weights = Weights::new((1..=kinds).rev());
        let record = |id: u32| {
            let planned = Planned { intended: Nanos(id.into()), service: Nanos(1), random: id };
            let asked = Record { id, ..Record::new(planned) };
            let took = Nanos::from_millis(1 + weights.kind(&asked.ask()) as u64);
            Record { received: planned.intended + took, ..asked }
        };
        let records: Vec<Record> = (0..requests).map(record).collect();
        let names = (0..kinds).map(|kind| format!("k{kind}")).collect();
        Kinds { names, weights }.results(&records)
    }

    fn values(kind: &KindResult) -> [Option<f64>; 3] {
        let latency = kind.latency_ns.expect("requests");
        [latency.p50, latency.p99, latency.p99_9].map(|quantile| quantile.value)
    }

    #[test]
    fn each_kind_has_its_own_latency_and_the_shares_are_those_of_the_weights() {
        let found = found(3, 12_000);
        let names: Vec<&str> = found.iter().map(|kind| kind.name.as_str()).collect();
        assert_eq!(names, ["k0", "k1", "k2"]);
        for (at, kind) in found.iter().enumerate() {
            assert_eq!(values(kind), [Some(1e6 * (at + 1) as f64); 3], "{}", kind.name);
            assert!((kind.share - (3 - at) as f64 / 6.0).abs() < 0.02, "{}", kind.share);
            assert_eq!(kind.kinds, 1);
        }
        assert_eq!(found.iter().map(|kind| kind.requests).sum::<u64>(), 12_000);
    }

    #[test]
    fn many_kinds_are_the_most_frequent_ones_and_the_others() {
        let many = found(500, 50_000);
        let others = many.last().expect("rows");
        assert_eq!((many.len(), &*others.name, others.kinds), (SHOWN + 1, OTHERS, 480));
        assert_eq!(many.iter().map(|kind| kind.requests).sum::<u64>(), 50_000);
        assert!(many[..SHOWN].is_sorted_by_key(|kind| std::cmp::Reverse(kind.requests)));
        // The control: so many have a row each.
        let few = found(SHOWN as u64, 5_000);
        assert!(few.len() == SHOWN && few.iter().all(|kind| kind.kinds == 1));
    }

    #[test]
    fn what_too_few_requests_cannot_tell_is_unknown() {
        let of = |requests: u32| values(&found(1, requests)[0]);
        let took = Some(1e6);
        assert_eq!(of(1), [None; 3]);
        assert_eq!(of(99), [took, None, None]);
        assert_eq!(of(999), [took, took, None]);
        assert_eq!(of(1_000), [took; 3]);
        assert_eq!(found(2, 0)[1].latency_ns, None);
    }

    #[test]
    fn lost_requests_and_complaints_are_those_of_their_kind() {
        let weights = Weights::new([1, 1].into_iter());
        let record = |id: u32| {
            let planned = Planned { intended: Nanos::ZERO, service: Nanos(1), random: 7 };
            let asked = Record { id, ..Record::new(planned) };
            match weights.kind(&asked.ask()) {
                0 => Record { loss: Some(Loss::Silent), ..asked },
                _ => Record { received: Nanos(5), complaint: Some("miss"), ..asked },
            }
        };
        let records: Vec<Record> = (0..100).map(record).collect();
        let names = ["lost", "missed"].map(String::from).to_vec();
        let found = Kinds { names, weights }.results(&records);
        for kind in found {
            let (lost, complaints) =
                if kind.name == "lost" { (kind.requests, 0) } else { (0, kind.requests) };
            assert_eq!((kind.lost, kind.complaints), (lost, complaints), "{}", kind.name);
            assert!((20..80).contains(&kind.requests));
        }
    }
}
