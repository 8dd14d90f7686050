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
/// the block had cancels. Each answer alone is wrong in 1 of 20 trials at most when nothing differs. A block
/// in which the run or what it is held against has no figure does not count.
pub fn judge(figures: &[Vec<Option<f64>>]) -> Vec<(Ratio, Answer)> {
    let log = |at: usize, block: usize| figures[at][block].map(f64::ln);
    let against = |at: usize, block: usize| match (at, log(0, block), log(1, block)) {
        (0, _, other) | (1, other, _) => other,
        (_, Some(one), Some(other)) => Some((one + other) / 2.0),
        (_, one, other) => one.or(other),
    };
    let apart = |at: usize| -> Vec<f64> {
        let pair = |block: usize| Some(log(at, block)? - against(at, block)?);
        (0..figures[at].len()).filter_map(pair).collect()
    };
    (0..figures.len()).map(|at| of_pairs(&apart(at))).collect()
}

fn of_pairs(apart: &[f64]) -> (Ratio, Answer) {
    if apart.is_empty() {
        let unknown = Ratio { value: f64::NAN, low: 0.0, high: f64::INFINITY };
        return (unknown, Answer::CannotTell);
    }
    let n = apart.len() as f64;
    let mean = apart.iter().sum::<f64>() / n;
    let square = apart.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    let freedom = n - 1.0;
    let error = (square / freedom.max(1.0) / n).sqrt();
    let reach = Spread { error, freedom, skew: 0.0 }.below();
    let ratio = Ratio { value: mean.exp(), low: (mean - reach).exp(), high: (mean + reach).exp() };
    (ratio, Answer::of(ratio.low, ratio.high))
}

/// The median; of an even number the mean of the middle two, of none NaN.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return f64::NAN;
    }
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
                Some(factor * (of_block + 0.05 * of_run).exp())
            };
            let figures: Vec<Vec<Option<f64>>> =
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
        let judged = judge(&[vec![Some(1.0)], vec![Some(1.0)], vec![Some(100.0)]]);
        assert_eq!(judged[2].1, Answer::CannotTell);
        assert_eq!(median(&[3.0, 1.0, 2.0, 9.0]), 2.5);
    }

    #[test]
    fn a_missing_figure_takes_its_block_alone() {
        let control = [Some(10.0), Some(20.0), Some(10.0), Some(20.0)];
        let halved = |missing: usize| -> Vec<Option<f64>> {
            let all = control.iter().enumerate();
            all.map(|(at, figure)| figure.filter(|_| at >= missing).map(|one| one / 2.0)).collect()
        };
        let of = |missing| judge(&[control.to_vec(), control.to_vec(), halved(missing)])[2];
        let (ratio, answer) = of(1);
        assert!((ratio.value - 0.5).abs() < 1e-9 && answer == Answer::Better);
        assert_eq!(of(4).1, Answer::CannotTell, "nothing was measured");
    }
}
