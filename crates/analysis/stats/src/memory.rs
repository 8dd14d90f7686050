//! How often a run forgot its past: what it says of long busy periods rests on that, not on its requests.

use crate::batch::Cut;

/// Batches over all runs in which a memory is looked for, at most and at least: a short one is lost in long
/// batches, a weak one in the services of short batches.
const FINEST: usize = 4_096;
const COARSEST: usize = 128;
/// The one-sided 1% point of the normal law: several cuts are tried, so each must be surer than one.
const SIGNIFICANT: f64 = 2.326;

/// How many pieces of the runs are as good as independent, judged by a centred score that is summed over
/// slices (see [`Cut::sums`]).
///
/// What neighbouring batches share is added up at every scale, and the longest memory counts. Services alone
/// share nothing, so they do not shorten it.
pub(crate) fn independent(lengths: &[usize], sum: impl Fn(usize, usize, usize) -> f64) -> f64 {
    let cut = Cut::up_to(FINEST, lengths);
    let (mut sums, mut per_run) = (cut.sums(sum), cut.per_run());
    let mut longest = 0f64;
    loop {
        let each = cut.requests() as f64 / sums.len() as f64;
        longest = longest.max(each * (memory(&sums, per_run) - 1.0));
        if per_run == 1 || sums.len() <= COARSEST {
            return cut.requests() as f64 / longest;
        }
        sums = sums.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect();
        per_run /= 2;
    }
}

/// How many batches of a run are as good as one independent one: 1 and twice the correlations with those
/// behind it, up to the first that chance explains (as Geyer 1992, who stops at the first below 0).
pub(crate) fn memory(sums: &[f64], per_run: usize) -> f64 {
    let mean = sums.iter().sum::<f64>() / sums.len() as f64;
    let square: f64 = sums.iter().map(|x| (x - mean) * (x - mean)).sum();
    let at = |lag: usize| {
        let runs = sums.chunks_exact(per_run);
        let pairs = runs.flat_map(|run| run.iter().zip(&run[lag..]));
        pairs.map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>() / square
    };
    let chance = SIGNIFICANT / (sums.len() as f64).sqrt();
    1.0 + 2.0 * (1..per_run).map(at).take_while(|correlation| *correlation > chance).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::independent;

    /// Scores of which each is a part of the one before and noise of its own.
    fn scores(kept: f64, requests: usize) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut score = 0.0;
        let mut next = || {
            score = kept * score + random.random_range(-1.0..1.0);
            score
        };
        (0..requests).map(|_| next()).collect()
    }

    fn pieces(scores: &[f64]) -> f64 {
        independent(&[scores.len()], |_, from, to| scores[from..to].iter().sum())
    }

    /// A kept part k makes (1 + k) / (1 - k) requests as good as one; at 0 nothing is shared.
    #[test]
    fn pieces_are_as_many_as_the_law_says() {
        let (short, long) = (pieces(&scores(0.98, 100_000)), pieces(&scores(0.999, 100_000)));
        assert!((short / (100_000.0 / 99.0) - 1.0).abs() < 0.4, "{short}");
        assert!((long / (100_000.0 / 1_999.0) - 1.0).abs() < 0.6, "{long}");
        let none = pieces(&scores(0.0, 100_000));
        assert!(none > 1_000.0, "control: {none}");
    }
}
