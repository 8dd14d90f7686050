//! Whether a figure has gone more than half of the way that it went between two others.

use model::{Nanos, Scenario};
use stats::{Metric, compare_at, latency_estimates, paired_p};

use crate::base::{Recorded, Service};
use crate::judge::{Judged, metrics, value};

/// From 0, or to never, no ratio leads: then this many times as much is half of the way.
const FAR: f64 = 10.0;
/// Halvings in which the least difference is searched for.
const STEPS: u32 = 40;

/// The way of a figure, and its middle: a factor for latencies, which change by factors, and a difference for
/// what is one number a run.
///
/// The middle is that of the least way that the runs allow, not of the one that they show. Of differences,
/// those that were drawn too great are the ones that are found, and below the middle of one a version that is
/// as bad as the last would pass for a good one.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The figure, from what was to what is.
    pub judged: Judged,
    middle: f64,
}

/// Where a figure stands on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Past {
    /// Its value.
    pub now: f64,
    /// Whether it is beyond the middle; `None`: cannot tell.
    pub is_past: Option<bool>,
}

/// A figure's runs in pairs.
enum Sides {
    Latencies(Vec<(Vec<Nanos>, Vec<Nanos>)>, Metric),
    Numbers(Vec<(f64, f64)>),
}

impl Way {
    /// That of a figure which became worse between these runs. Its least extent is overstated with the
    /// probability `miss` at most. `None` where it may be nothing.
    pub fn of(judged: Judged, base: &[Recorded], now: &[Recorded], miss: f64) -> Option<Way> {
        let middle = match sides(&judged, base, now)? {
            Sides::Latencies(pairs, metric) => {
                let least = compare_at(&pairs, metric, miss)?.ratio.low;
                let least = Some(least).filter(|least| *least > 1.0)?;
                if least.is_finite() { least.sqrt() } else { FAR }
            }
            Sides::Numbers(pairs) => least(&pairs, miss)? / 2.0,
        };
        Some(Way { judged, middle })
    }

    /// Where the figure stands in `now`, runs of the same scenarios and seeds as `base`. A wrong side has the
    /// probability `miss` at most. `None`: no such figure.
    pub fn past(&self, base: &[Recorded], now: &[Recorded], miss: f64) -> Option<Past> {
        match sides(&self.judged, base, now)? {
            Sides::Latencies(pairs, metric) => {
                let ratio = compare_at(&pairs, metric, miss)?.ratio;
                let is_past = match () {
                    () if ratio.low > self.middle => Some(true),
                    () if ratio.high < self.middle => Some(false),
                    () => None,
                };
                let runs: Vec<Vec<Nanos>> = pairs.into_iter().map(|(now, _)| now).collect();
                Some(Past { now: value(&latency_estimates(&runs)?, &runs, metric)?, is_past })
            }
            Sides::Numbers(pairs) => {
                let beyond = more(&pairs, self.middle);
                let is_past = (paired_p(&beyond) < miss).then(|| sum(&beyond) > 0.0);
                let now = pairs.iter().map(|(now, _)| now).sum::<f64>() / pairs.len() as f64;
                Some(Past { now, is_past })
            }
        }
    }
}

/// By how much more than `than` each run is above the other of its pair.
fn more(pairs: &[(f64, f64)], than: f64) -> Vec<f64> {
    pairs.iter().map(|(now, base)| now - base - than).collect()
}

fn sum(runs: &[f64]) -> f64 {
    runs.iter().sum()
}

/// The greatest difference that these runs are above, but for the probability `miss`; `None`: not even 0.
fn least(pairs: &[(f64, f64)], miss: f64) -> Option<f64> {
    let is_above = |than: f64| {
        let beyond = more(pairs, than);
        sum(&beyond) > 0.0 && paired_p(&beyond) < miss
    };
    let (mut low, mut high) = (0.0, sum(&more(pairs, 0.0)) / pairs.len() as f64);
    if !is_above(low) {
        return None;
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        *(if is_above(middle) { &mut low } else { &mut high }) = middle;
    }
    Some(low).filter(|least| *least > 0.0)
}

/// The runs of a figure in pairs, what is now before what was.
fn sides(of: &Judged, base: &[Recorded], now: &[Recorded]) -> Option<Sides> {
    let at = base.iter().position(|recorded| recorded.name == of.scenario)?;
    let (base, now) = (&base[at], now.get(at)?);
    let threshold = Scenario::read(&base.text, &base.name).ok()?.outlier_threshold;
    let latency = metrics(threshold).into_iter().find(|(figure, _)| *figure == of.figure);
    let Some((_, metric)) = latency else {
        let runs = |recorded: &Recorded| {
            let mut all = recorded.measures.iter();
            let found = all.find(|one| one.program == of.program && one.figure == of.figure);
            found.map(|measure| measure.runs.clone())
        };
        return Some(Sides::Numbers(runs(now)?.into_iter().zip(runs(base)?).collect()));
    };
    let runs = |recorded: &Recorded| {
        let mut all = recorded.services.iter();
        let found = all.find(|one| Some(&one.program) == of.program.as_ref());
        found.map(Service::runs)
    };
    Some(Sides::Latencies(runs(now)?.into_iter().zip(runs(base)?).collect(), metric))
}

#[cfg(test)]
mod tests {
    use super::least;

    /// Student (1908), hours of sleep gained: 1.58 on average, with a standard error of 0.38896; t is 3.2498
    /// with 9 degrees of freedom at 1%.
    #[test]
    fn the_least_difference_is_the_end_of_student_s_interval() {
        let gained = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let pairs: Vec<(f64, f64)> = gained.iter().map(|more| (3.0 + more, 3.0)).collect();
        let found = least(&pairs, 0.01).expect("a difference");
        assert!((found - (1.58 - 3.2498 * 0.38896)).abs() < 1e-3, "{found}");
        assert_eq!(least(&pairs, 0.001), None, "p is 0.0028");
        let less: Vec<(f64, f64)> = pairs.iter().map(|(now, base)| (*base, *now)).collect();
        assert_eq!(least(&less, 0.01), None, "control: it became better");
    }
}
