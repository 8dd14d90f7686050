//! How many requests a quantile needs to be as precise as wanted, and a share to be told from another.

use model::Nanos;

use crate::batch::spread;
use crate::estimate::{Estimate, exact_proportion, normal_reach};
use crate::proportion::telling;
use crate::quantile::{Pool, Quantile, as_ns};

/// Trials that are thought of at most: more tell what no user waits for.
const MOST_TRIALS: f64 = 1e6;
/// Halvings of the room in which a number of trials is searched for.
const STEPS: u32 = 40;

/// What a pilot run says of a quantile's precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needed {
    /// Requests of the pilot for each one that is as good as independent: queueing makes neighbours alike.
    pub requests_per_independent: f64,
    /// Requests after which the 95% interval reaches so far on either side.
    pub requests: f64,
}

/// How many requests make the 95% interval of a quantile reach `precision` (a share of its value) on either
/// side, judged by a pilot run with its latencies in the order of arrival.
///
/// The proportion of requests beyond the quantile is known to within the standard error of as many
/// independent requests; the tail's slope makes a latency of that. Near the end of a queue's tail latency
/// grows as the logarithm of rarity, so the slope is taken from the pilot's own tail, over the decade below
/// the rarest quantile with enough samples. `None` where the pilot is too short to tell.
pub fn needed(pilot: &[Nanos], quantile: Quantile, precision: f64) -> Option<Needed> {
    let runs = [pilot];
    let pool = Pool::new(&runs);
    let n = pool.len();
    let beyond = 1.0 - quantile.as_f64();
    // The rarest proportion whose dependence the pilot shows.
    let hits = telling(((beyond * n as f64).round() as usize).max(1), n);
    let at = |hits: usize| as_ns(pool.sorted[n - 1 - hits.min(n - 1)]);
    if n < 1_000 || !at(hits / 2).is_finite() {
        return None;
    }
    let threshold = Nanos(at(hits) as u64);
    let share = pool.above(threshold) as f64 / n as f64;
    let error = spread(&pool.cut, pool.centred_above(threshold)).error;
    let independent = share * (1.0 - share) / (error * error);
    let each = (n as f64 / independent).max(1.0);
    // Latency a factor e in rarity, over a decade of the tail.
    let slope = (at(hits) - at(10 * hits)).max(0.0) / 10f64.ln();
    let value = at(hits) + slope * (hits as f64 / (beyond * n as f64)).ln();
    let relative = normal_reach() * slope / (value * precision);
    let requests = relative * relative * (1.0 - beyond) / beyond * each;
    Some(Needed { requests_per_independent: each, requests: requests.max(1.0 / beyond) })
}

/// How many samples would tell a share from another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enough {
    /// In all.
    pub samples: f64,
    /// Whether that is the least: those seen do not show how dependent they are.
    pub is_least: bool,
}

/// After how many samples the interval of a share ends before `other`, where `samples` of them had it as
/// `seen`, and the share and their dependence stay as they are. `None` where no number is known to do.
pub fn enough(seen: &Estimate, samples: u64, other: f64) -> Option<Enough> {
    let end = if other > seen.value { seen.high } else { seen.low };
    let needed = trials(seen.value, other)?;
    let is_least = end <= 0.0 || end >= 1.0;
    let each = if is_least { 1.0 } else { samples as f64 / trials(seen.value, end)? };
    let all = (needed * each).ceil();
    (all > samples as f64).then_some(Enough { samples: all, is_least })
}

/// The fewest independent trials after which the exact interval of a share reaches no further than `end`.
fn trials(share: f64, end: f64) -> Option<f64> {
    let is_enough = |trials: f64| {
        let (low, high) = exact_proportion(share * trials, trials);
        if end > share { high <= end } else { low >= end && end < share }
    };
    // Doubled first: intervals of many trials take long to compute.
    let doubled = std::iter::successors(Some(1.0), |trials| Some(2.0 * trials));
    let mut many = doubled.take_while(|trials| *trials < MOST_TRIALS).find(|n| is_enough(*n))?;
    let mut few = many / 2.0;
    for _ in 0..STEPS {
        let middle = f64::midpoint(few, many);
        if is_enough(middle) { many = middle } else { few = middle }
    }
    Some(many)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(hits: f64, trials: f64) -> Estimate {
        let (low, high) = exact_proportion(hits, trials);
        Estimate { value: hits / trials, low, high }
    }

    /// The rule of three, with the 3.69 of an interval to both sides.
    #[test]
    fn none_late_needs_as_many_as_the_rule_says() {
        let told = |share: f64| enough(&seen(0.0, 100.0), 100, share).expect("a number");
        for share in [0.001_f64, 0.01, 1e-5] {
            let rule = 0.025_f64.ln() / (-share).ln_1p();
            let told = told(share);
            let off = (told.samples - rule).abs();
            assert!(off < 1.0 + 2e-3 * rule && !told.is_least, "{told:?} {rule}");
        }
        // Samples of which ten are as good as one take ten times as many.
        let dependent = enough(&seen(0.0, 10.0), 100, 0.001).expect("a number").samples;
        assert!((dependent / told(0.001).samples / 10.0 - 1.0).abs() < 1e-3, "{dependent}");
    }

    /// The oracle counts up.
    #[test]
    fn a_share_of_late_ones_needs_as_many_as_counting_finds() {
        for (hits, other) in [(2.0, 0.03), (2.0, 0.002), (10.0, 0.12), (10.0, 0.08)] {
            let of_200 = seen(hits, 200.0);
            let ends_before = |n: &u32| {
                let (low, high) = exact_proportion(of_200.value * f64::from(*n), f64::from(*n));
                if other > of_200.value { high <= other } else { low >= other }
            };
            let counted = (1..20_000).find(ends_before).expect("some number");
            let told = enough(&of_200, 200, other);
            let wanted = (counted > 200).then_some(f64::from(counted));
            assert_eq!(told.map(|told| told.samples), wanted, "{hits} {other}");
        }
    }

    #[test]
    fn no_number_is_made_up() {
        assert_eq!(enough(&seen(2.0, 200.0), 200, 0.01), None, "the same share");
        let unbounded = Estimate { value: 0.0, low: 0.0, high: 1.0 };
        let of = |samples| enough(&unbounded, samples, 0.001);
        assert!(of(100).is_some_and(|told| told.is_least && told.samples > 3_600.0));
        assert_eq!(of(100_000), None, "the least was seen");
    }
}
