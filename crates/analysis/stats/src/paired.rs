//! Two sides with the same arrivals, held against each other batch by batch.

use model::Answer;

use crate::batch::{Cut, effective, spread};
use crate::estimate::Spread;
use crate::quantile::{Pool, as_ns};
use crate::verdict::Metric;

/// Both sides of a comparison.
pub(crate) struct Sides<'a> {
    a: Side<'a>,
    b: Side<'a>,
    metric: Metric,
}

/// One side, ready for many tests.
struct Side<'a> {
    pool: &'a Pool<'a>,
    /// For a mean or a proportion: the sum of what counts in every batch.
    sums: Vec<f64>,
    /// For a quantile: every sample with its batch, slowest first.
    slowest: Vec<(f64, usize)>,
}

impl<'a> Side<'a> {
    fn new(pool: &'a Pool<'a>, metric: Metric) -> Side<'a> {
        let sums = |score: &dyn Fn(f64) -> f64| {
            let all = |run: usize, from, to| {
                pool.runs[run][from..to].iter().map(|x| score(as_ns(*x))).sum::<f64>()
            };
            pool.cut.sums(all)
        };
        let (sums, slowest) = match metric {
            Metric::Mean => (sums(&|x| x), Vec::new()),
            Metric::Outliers(over) => (sums(&|x| f64::from(x > as_ns(over))), Vec::new()),
            Metric::Quantile(_) => (Vec::new(), slowest(pool)),
        };
        Side { pool, sums, slowest }
    }

    fn divided(&self, ratio: f64) -> Vec<f64> {
        self.sums.iter().map(|sum| sum / ratio).collect()
    }

    fn hits(&self, ratio: f64, threshold: &Threshold) -> Vec<f64> {
        let mut hits = vec![0.0; self.pool.cut.batches()];
        let scaled = self.slowest.iter().map(|(x, batch)| (x / ratio, *batch));
        for (x, batch) in scaled.take_while(|(x, _)| *x >= threshold.at) {
            hits[batch] += if x > threshold.at { 1.0 } else { threshold.part };
        }
        hits
    }
}

fn slowest(pool: &Pool) -> Vec<(f64, usize)> {
    let mut all = Vec::with_capacity(pool.len());
    for (run, samples) in pool.runs.iter().enumerate() {
        for i in 0..pool.cut.per_run() {
            let batch = run * pool.cut.per_run() + i;
            let within = &samples[pool.cut.start(run, i)..pool.cut.start(run, i + 1)];
            all.extend(within.iter().map(|x| (as_ns(*x), batch)));
        }
    }
    all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    all
}

/// What a test found: how far `a`, divided by a ratio, lies above `b`, and the spreads that this may have.
pub(crate) struct Test {
    difference: f64,
    spreads: Vec<Spread>,
}

impl Test {
    /// How probable a difference so far above 0 is, twice, where there is none.
    pub fn against_more(&self) -> f64 {
        if self.difference > 0.0 { self.p() } else { 1.0 }
    }

    /// The same below 0.
    pub fn against_less(&self) -> f64 {
        if self.difference < 0.0 { self.p() } else { 1.0 }
    }

    fn p(&self) -> f64 {
        self.spreads.iter().map(|spread| spread.p(self.difference)).fold(0.0, f64::max)
    }
}

/// Where samples of two sides are counted: those above wholly, those at it in part, so that ties are shared.
struct Threshold {
    at: f64,
    part: f64,
}

impl<'a> Sides<'a> {
    /// Of two pools that are cut alike.
    pub fn new(a: &'a Pool<'a>, b: &'a Pool<'a>, metric: Metric) -> Sides<'a> {
        Sides { a: Side::new(a, metric), b: Side::new(b, metric), metric }
    }

    /// Tests whether `a` divided by a ratio is like `b`: under that hypothesis both have as many samples
    /// above their common quantile, whatever it is.
    pub fn test(&self, ratio: f64) -> Test {
        let (a, b) = (self.a.pool, self.b.pool);
        let (of_a, of_b) = match self.metric {
            Metric::Mean | Metric::Outliers(_) => (self.a.divided(ratio), self.b.divided(1.0)),
            Metric::Quantile(quantile) => {
                let index = quantile.index(a.len() + b.len());
                let threshold = self.threshold(ratio, index, quantile.as_f64());
                (self.a.hits(ratio, &threshold), self.b.hits(1.0, &threshold))
            }
        };
        let (n_a, n_b) = (a.len() as f64, b.len() as f64);
        let apart: Vec<f64> = of_a.iter().zip(&of_b).map(|(a, b)| a / n_a - b / n_b).collect();
        let runs = |sums: &[f64]| effective(&by_run(sums, &a.cut)).unwrap_or(a.runs.len() as f64);
        let runs = runs(&of_a).min(runs(&of_b));
        Test { difference: apart.iter().sum(), spreads: spreads(&a.cut, apart, runs) }
    }

    /// The latency at an index of both sides' sorted samples, and the part of those at it that makes the
    /// proportion above it exact.
    fn threshold(&self, ratio: f64, index: usize, at_or_below: f64) -> Threshold {
        let a = |i: usize| as_ns(self.a.pool.sorted[i]) / ratio;
        let b = |i: usize| as_ns(self.b.pool.sorted[i]);
        let (n_a, n_b) = (self.a.pool.len(), self.b.pool.len());
        let (mut least, mut most) = ((index + 1).saturating_sub(n_b), n_a.min(index + 1));
        while least < most {
            let middle = usize::midpoint(least, most);
            if a(middle) < b(index - middle) { least = middle + 1 } else { most = middle }
        }
        let before = |i: usize, of: &dyn Fn(usize) -> f64| i.checked_sub(1).map_or(0.0, of);
        let at = before(least, &a).max(before(index + 1 - least, &b));
        let beyond = |pool: &Pool, ratio: f64, strictly: bool| {
            let passed = |x: f64| if strictly { x <= at } else { x < at };
            pool.len() - pool.sorted.partition_point(|x| passed(as_ns(*x) / ratio))
        };
        let above = beyond(self.a.pool, ratio, true) + beyond(self.b.pool, 1.0, true);
        let from = beyond(self.a.pool, ratio, false) + beyond(self.b.pool, 1.0, false);
        let wanted = (1.0 - at_or_below) * (n_a + n_b) as f64;
        Threshold { at, part: (wanted - above as f64) / (from - above) as f64 }
    }
}

fn by_run(sums: &[f64], cut: &Cut) -> Vec<f64> {
    sums.chunks_exact(cut.per_run()).map(|run| run.iter().sum()).collect()
}

/// By batches and, where there are enough pairs of runs, by whole pairs, too.
///
/// A policy that meets a slower moment of the machine differs from the other for a whole run; three pairs
/// show what that amounts to, whatever the batches inside them say. They show no more than the runs that hold
/// the tail.
fn spreads(cut: &Cut, apart: Vec<f64>, effective_runs: f64) -> Vec<Spread> {
    let runs = apart.len() / cut.per_run();
    let scaled = |sums: &[f64]| -> Vec<f64> {
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        sums.iter().map(|sum| (sum - mean) * cut.requests() as f64).collect()
    };
    let by_batch = spread(cut, scaled(&apart));
    if runs < Answer::ENOUGH_PAIRS {
        return vec![by_batch];
    }
    let mut by_run = spread(&cut.clone().coarsened(1), scaled(&self::by_run(&apart, cut)));
    by_run.freedom = by_run.freedom.min(effective_runs - 1.0);
    vec![by_batch, by_run]
}

/// How probable it is that runs which do not differ show differences as these, one a pair of runs; 1 with too
/// few pairs. Student's t, to both sides.
pub fn paired_p(differences: &[f64]) -> f64 {
    let n = differences.len();
    if n < Answer::ENOUGH_PAIRS {
        return 1.0;
    }
    let mean = differences.iter().sum::<f64>() / n as f64;
    let square: f64 = differences.iter().map(|x| (x - mean) * (x - mean)).sum();
    let freedom = (n - 1) as f64;
    let error = (square / freedom / n as f64).sqrt();
    Spread { error, freedom, skew: 0.0 }.p(mean)
}

#[cfg(test)]
mod tests {
    use super::paired_p;

    /// Student (1908), hours of sleep gained: t = 4.0621 with 9 degrees of freedom, p = 0.0028.
    #[test]
    fn students_own_example() {
        let gained = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        assert!((paired_p(&gained) - 0.002833).abs() < 1e-6, "{}", paired_p(&gained));
        assert_eq!(paired_p(&[1.0, 1.0, 1.0]), 0.0, "the same in every run");
        assert_eq!(paired_p(&[0.0, 0.0, 0.0]), 1.0, "none");
        assert_eq!(paired_p(&[1.0, 1.0]), 1.0, "control: two show nothing");
    }
}
