//! The standard error of a mean of dependent scores, by batch means.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::estimate::Spread;

/// Batches over all runs to begin with.
const MOST: usize = 128;
/// Batches over all runs at least, unless each run is one batch already.
const LEAST: usize = 8;
/// Requests a batch at least.
const SHORTEST: usize = 8;
/// The one-sided 5% point of the normal law: lag-1 autocorrelations above it are significant.
const SIGNIFICANT: f64 = 1.645;
/// Runs count as different where chance would make them so with less than this probability.
const DIFFERENT: f64 = 0.05;
/// Runs that can show their difference. Two leave Student's t one degree of freedom: an interval of
/// everything.
const ENOUGH_RUNS: f64 = 3.0;

/// How runs are cut into batches: `per_run` batches of (almost) equal length in each, none across two runs.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    lengths: Vec<usize>,
    per_run: usize,
}

impl Cut {
    /// The cut of runs with these lengths that errors are judged by.
    pub fn finest(lengths: &[usize]) -> Cut {
        Cut::up_to(MOST, lengths)
    }

    /// A cut into `most` batches over all runs, or as many as are long enough.
    pub fn up_to(most: usize, lengths: &[usize]) -> Cut {
        let shortest = lengths.iter().copied().min().unwrap_or(0);
        let wanted = (most / lengths.len().max(1)).min(shortest / SHORTEST).max(1);
        Cut { lengths: lengths.to_vec(), per_run: 1 << wanted.ilog2() }
    }

    /// Batches a run.
    pub fn per_run(&self) -> usize {
        self.per_run
    }

    /// Batches of all runs.
    pub fn batches(&self) -> usize {
        self.per_run * self.lengths.len()
    }

    /// The same runs in fewer batches each, a power of two.
    pub fn coarsened(self, per_run: usize) -> Cut {
        Cut { per_run, ..self }
    }

    /// Requests in all runs.
    pub fn requests(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// The first request of batch `i` of a run; for `i` = [`Cut::per_run`] the run's length.
    pub fn start(&self, run: usize, i: usize) -> usize {
        (self.lengths[run] as u128 * i as u128 / self.per_run as u128) as usize
    }

    /// Sums a slice of every batch: (run, first request, one after the last) to a number; run by run.
    pub fn sums(&self, sum: impl Fn(usize, usize, usize) -> f64) -> Vec<f64> {
        let batches = |run| (0..self.per_run).map(move |i| (run, i));
        (0..self.lengths.len())
            .flat_map(batches)
            .map(|(run, i)| sum(run, self.start(run, i), self.start(run, i + 1)))
            .collect()
    }
}

/// The spread of the mean of a score over all requests, from its centred sum in every batch of `cut`, run by
/// run.
///
/// Neighbours in a run are merged while they are correlated, so that batches end up longer than the memory of
/// the queue. Where whole runs differ, each run is one batch.
pub(crate) fn spread(cut: &Cut, centred: Vec<f64>) -> Spread {
    let mut sums = centred;
    let mut per_run = cut.per_run;
    while can_merge(sums.len(), per_run) && correlated(&sums, per_run) {
        sums = sums.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect();
        per_run /= 2;
    }
    if runs_differ(&sums, per_run) {
        sums = sums.chunks_exact(per_run).map(|run| run.iter().sum()).collect();
        per_run = 1;
    }
    error_of(&sums, per_run, cut.requests())
}

/// The same for one run whose score was summed up batch by batch while it ran: `centred` has a power of two
/// of batches of (almost) equal length, in their order.
pub fn batch_spread(centred: Vec<f64>, requests: usize) -> Spread {
    spread(&Cut { lengths: vec![requests], per_run: centred.len() }, centred)
}

/// Whether whole runs differ by more than the batches inside them explain: the F-test of the analysis of
/// variance.
fn runs_differ(sums: &[f64], per_run: usize) -> bool {
    let runs = (sums.len() / per_run) as f64;
    let each = per_run as f64;
    if runs < ENOUGH_RUNS || per_run < 2 {
        return false;
    }
    let totals: Vec<f64> = sums.chunks_exact(per_run).map(|run| run.iter().sum()).collect();
    let between: f64 = totals.iter().map(|total| total * total / each).sum();
    let within = sums.iter().map(|d| d * d).sum::<f64>() - between;
    let (above, below) = (runs - 1.0, runs * (each - 1.0));
    let ratio = (between / above) / (within / below);
    let law = FisherSnedecor::new(above, below).expect("valid by construction");
    ratio > 1.0 && law.sf(ratio) < DIFFERENT
}

fn can_merge(batches: usize, per_run: usize) -> bool {
    let runs = batches / per_run;
    per_run > 1 && (batches / 2 >= LEAST || (runs > 1 && batches / 2 >= runs.max(3)))
}

fn correlated(sums: &[f64], per_run: usize) -> bool {
    let pairs = (sums.len() / per_run * (per_run - 1)) as f64;
    autocorrelation(sums, per_run) * pairs.sqrt() > SIGNIFICANT
}

/// The correlation of a batch with the next one of its run.
fn autocorrelation(sums: &[f64], per_run: usize) -> f64 {
    let square: f64 = sums.iter().map(|d| d * d).sum();
    let pairs = sums.len() / per_run * (per_run - 1);
    if square == 0.0 || pairs == 0 {
        return 0.0;
    }
    let product: f64 =
        sums.chunks_exact(per_run).flat_map(|run| run.windows(2)).map(|w| w[0] * w[1]).sum();
    (product / pairs as f64) / (square / sums.len() as f64)
}

/// The number of equal parts that vary as much as these (Kish); `None` where all are 0.
pub(crate) fn effective(parts: &[f64]) -> Option<f64> {
    let (sum, square) = parts.iter().fold((0.0, 0.0), |(sum, square), n| (sum + n, square + n * n));
    (square > 0.0).then(|| sum * sum / square)
}

fn error_of(sums: &[f64], per_run: usize, requests: usize) -> Spread {
    let batches = sums.len() as f64;
    if batches < 2.0 {
        return Spread { error: 0.0, freedom: 0.0, skew: 0.0 };
    }
    let square: f64 = sums.iter().map(|d| d * d).sum();
    let left = 1.0 + 2.0 * autocorrelation(sums, per_run).max(0.0);
    let variance = square * batches / (batches - 1.0) * left;
    let fourth: f64 = sums.iter().map(|d| d.powi(4)).sum();
    let kurtosis = batches * fourth / (square * square);
    let freedom = (batches - 1.0).min(2.0 * batches / (kurtosis - 1.0).max(1e-9));
    let third: f64 = sums.iter().map(|d| d.powi(3)).sum();
    // Scores that are all alike lean to no side.
    let skew = if square > 0.0 { third / square.powf(1.5) } else { 0.0 };
    Spread { error: variance.sqrt() / requests as f64, freedom, skew }
}
