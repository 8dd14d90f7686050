//! From edges to capacities, and capacities held against each other.

use model::Answer;
use report::capacity::{CapacityVerdict, Carried};
use report::document::Estimate;

use crate::loads::Loads;
use crate::search::Edges;
use crate::study::Contender;

/// What a contender carries.
pub(crate) fn carried(policy: String, loads: &Loads, one: &Contender) -> Carried {
    let edges = one.search.edges();
    let rate = |load: usize| loads.rate_per_s(load);
    let rate_per_s = interval(&edges, rate);
    let time_s = loads.service().service_time.as_secs_f64();
    let scaled = |end: Option<f64>| end.map(|rate| rate * time_s);
    Carried {
        policy,
        kernel: one.kernel.clone(),
        rate_per_s,
        cpus: Estimate {
            value: scaled(rate_per_s.value),
            low: scaled(rate_per_s.low),
            high: scaled(rate_per_s.high),
        },
        of_ideal: Estimate::default(),
        fails_at_per_s: edges.reversal.and(edges.fails).map(rate),
        meets_again_at_per_s: edges.reversal.map(rate),
        points: one.points.values().cloned().collect(),
    }
}

/// From the greatest load that surely meets to the least that surely fails. Open above where none fails: a
/// short run at saturation may not show that it would.
fn interval(edges: &Edges, rate: impl Fn(usize) -> f64) -> Estimate {
    Estimate {
        value: edges.within.map(&rate),
        low: edges.meets.map(&rate),
        high: edges.fails.map(&rate),
    }
}

/// What one carries over what another does. Both intervals' ends at worst: they share their seeds, so this
/// is wider than it needs to be.
pub(crate) fn ratio(a: &Carried, b: &Carried) -> Estimate {
    a.rate_per_s.over(&b.rate_per_s)
}

/// Every policy held against the first.
pub(crate) fn verdicts(policies: &[Carried], seeds: usize) -> Vec<CapacityVerdict> {
    let Some((first, others)) = policies.split_first() else { return Vec::new() };
    let of = |one: &Carried| {
        let ratio = ratio(one, first);
        CapacityVerdict {
            a: one.policy.clone(),
            b: first.policy.clone(),
            answer: ratio.answer(seeds, false).unwrap_or(Answer::CannotTell),
            ratio,
        }
    };
    others.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: f64, low: f64, high: f64) -> Carried {
        Carried { rate_per_s: Estimate::new(value, low, high), ..Carried::default() }
    }

    #[test]
    fn only_a_load_that_fails_ends_an_interval() {
        let of = |fails| {
            let edges = Edges { meets: Some(557), within: Some(1_000), fails, reversal: None };
            interval(&edges, |load| load as f64)
        };
        assert_eq!(of(None), Estimate::new(1_000.0, 557.0, f64::INFINITY));
        assert_eq!(of(Some(1_100)), Estimate::new(1_000.0, 557.0, 1_100.0), "the control");
    }

    #[test]
    fn only_intervals_apart_give_a_verdict() {
        let against =
            |one: Carried, seeds| verdicts(&[of(100.0, 95.0, 105.0), one], seeds)[0].answer;
        assert_eq!(against(of(130.0, 120.0, 140.0), 10), Answer::Better);
        assert_eq!(against(of(130.0, 120.0, 140.0), 1), Answer::CannotTell);
        assert_eq!(against(of(110.0, 104.0, 120.0), 10), Answer::CannotTell);
        assert_eq!(against(of(50.0, 40.0, 60.0), 10), Answer::Worse);
        assert_eq!(against(of(f64::NAN, f64::NAN, 8.0), 10), Answer::Worse);
        assert_eq!(against(of(200.0, f64::NAN, 300.0), 10), Answer::CannotTell);
    }
}
