//! Which knob mattered.

use model::Answer;
use serde::Serialize;
use stats::Spread;

/// A ratio with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// For each configuration its ratio to the machine as it is (configurations 0 and 1; of those, one to the
/// other), and the answer.
///
/// By pairs within blocks, on the logarithm, with Student's t: runs of one block are near in time, and what
/// the block had cancels. Each answer alone is wrong in 1 of 20 trials at most when nothing differs.
pub fn judge(figures: &[Vec<f64>]) -> Vec<(Ratio, Answer)> {
    let log = |at: usize, block: usize| figures[at][block].ln();
    let against = |at: usize, block: usize| match at {
        0 => log(1, block),
        1 => log(0, block),
        _ => (log(0, block) + log(1, block)) / 2.0,
    };
    let apart = |at: usize| -> Vec<f64> {
        (0..figures[at].len()).map(|block| log(at, block) - against(at, block)).collect()
    };
    (0..figures.len()).map(|at| of_pairs(&apart(at))).collect()
}

fn of_pairs(apart: &[f64]) -> (Ratio, Answer) {
    let n = apart.len() as f64;
    let mean = apart.iter().sum::<f64>() / n;
    let square = apart.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    let freedom = n - 1.0;
    let error = (square / freedom.max(1.0) / n).sqrt();
    let reach = Spread { error, freedom, skew: 0.0 }.below();
    let ratio = Ratio { value: mean.exp(), low: (mean - reach).exp(), high: (mean + reach).exp() };
    (ratio, Answer::of(ratio.low, ratio.high))
}

/// The median; of an even number the mean of the middle two.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use model::seed::derive;

    use super::*;

    /// About normal, mean 0, standard deviation 1.
    fn noise(seed: u64, what: &[u64]) -> f64 {
        let part = |n: u64| derive(seed, &[what, &[n]].concat()) as f64 / u64::MAX as f64;
        (0..12).map(part).sum::<f64>() - 6.0
    }

    /// Trials of 5 blocks in which a knob has this ratio, blocks differ much and runs by 5%: how often each
    /// answer comes.
    fn answers(ratio: f64) -> (usize, usize) {
        let trials = (0..2_000u64).map(|seed| {
            let figure = |at: u64, block: u64| {
                let factor = if at == 2 { ratio } else { 1.0 };
                let (of_block, of_run) = (noise(seed, &[block]), noise(seed, &[at, block]));
                factor * (of_block + 0.05 * of_run).exp()
            };
            let figures: Vec<Vec<f64>> =
                (0..3).map(|at| (0..5).map(|block| figure(at, block)).collect()).collect();
            judge(&figures)[2].1
        });
        let answers: Vec<Answer> = trials.collect();
        let count = |wanted| answers.iter().filter(|answer| **answer == wanted).count();
        (count(Answer::Better), count(Answer::Worse))
    }

    #[test]
    fn a_knob_without_effect_is_seldom_said_to_matter() {
        let (better, worse) = answers(1.0);
        // 100 of 2,000 are allowed; five standard deviations are 49.
        assert!(better + worse < 149, "{better} better, {worse} worse");
    }

    #[test]
    fn a_knob_that_matters_is_found() {
        let (better, worse) = answers(0.7);
        assert!(better > 1_950 && worse == 0, "{better} better, {worse} worse");
        let (better, worse) = answers(1.4);
        assert!(worse > 1_950 && better == 0, "{better} better, {worse} worse");
    }

    #[test]
    fn one_block_cannot_tell() {
        let judged = judge(&[vec![1.0], vec![1.0], vec![100.0]]);
        assert_eq!(judged[2].1, Answer::CannotTell);
        assert_eq!(median(&[3.0, 1.0, 2.0, 9.0]), 2.5);
    }
}
