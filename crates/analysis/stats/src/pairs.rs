//! Pairs of runs one by one, for a quantile whose pooled figure rests on one or two runs.

use std::cmp::Ordering;

use model::{Answer, Nanos};
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::batch::effective;
use crate::estimate::Estimate;
use crate::quantile::{Quantile, as_ns};

/// Where a tail lies in fewer runs than this, they do not show how much whole runs differ.
const FEWEST_RUNS: f64 = Answer::ENOUGH_PAIRS as f64;
/// The runs of a pair may differ in length by one part in so many: quantiles of short runs are biased.
const ALIKE: usize = 8;

/// The quantile of both runs of a pair, each with its run.
struct Pair<'a>([(Nanos, &'a [Nanos]); 2]);

impl Pair<'_> {
    /// The ratio of both quantiles; of two that are lost, or both 0, it is 1.
    fn ratio(&self) -> f64 {
        let [a, b] = self.0.map(|(at, _)| at);
        if a == b { 1.0 } else { as_ns(a) / as_ns(b) }
    }

    /// The slower run and the faster one, whichever side they are of.
    fn sorted(&self) -> [&[Nanos]; 2] {
        let [a, b] = self.0;
        if a.cmp(&b) == Ordering::Greater { [a.1, b.1] } else { [b.1, a.1] }
    }
}

/// The interval of a ratio where one or two runs hold a tail: the end that decides is the pairs' own.
///
/// `None` where the pooled interval stands.
pub(crate) fn by_pairs(
    runs: &[(&[Nanos], &[Nanos])],
    quantile: Quantile,
    pooled: Estimate,
    miss: f64,
) -> Option<Estimate> {
    let outside = outside(runs.len(), miss)?;
    let pairs = pairs(runs, quantile)?;
    let ends = median_ends(pairs.iter().map(Pair::ratio).collect(), outside);
    let decided = decided(pooled, ends)?;
    few_runs_hold(&pairs, quantile).then_some(decided)
}

/// The pooled interval with the end that the median's interval puts to it. What only the pooled figures tell
/// is taken back. `None` where neither tells.
///
/// A pooled ratio less than half as far from 1 as that end (in its logarithm) contradicts it: the rare runs
/// and the common ones disagree. One that lies nearer by less is the end.
fn decided(pooled: Estimate, (low, high): (f64, f64)) -> Option<Estimate> {
    let value = pooled.value;
    match (Answer::of(low, high), Answer::of(pooled.low, pooled.high)) {
        (Answer::Worse, _) if value >= low.sqrt() => {
            Some(Estimate { low: low.min(value), ..pooled })
        }
        (Answer::Better, _) if value <= high.sqrt() => {
            Some(Estimate { high: high.max(value), ..pooled })
        }
        (_, Answer::Worse) => Some(Estimate { low: 0.0, ..pooled }),
        (_, Answer::Better) => Some(Estimate { high: f64::INFINITY, ..pooled }),
        (_, Answer::CannotTell) => None,
    }
}

/// `None` where a run is too short for the quantile, or a pair too unequal.
fn pairs<'a>(runs: &[(&'a [Nanos], &'a [Nanos])], quantile: Quantile) -> Option<Vec<Pair<'a>>> {
    let of = |run: &'a [Nanos]| (at_quantile(run.to_vec(), quantile), run);
    let fit = |(a, b): &(&'a [Nanos], &'a [Nanos])| {
        let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
        quantile.is_within(short) && (long - short) * ALIKE <= short
    };
    let pair = |one: &(&'a [Nanos], &'a [Nanos])| fit(one).then(|| Pair([of(one.0), of(one.1)]));
    runs.iter().map(pair).collect()
}

fn at_quantile(mut samples: Vec<Nanos>, quantile: Quantile) -> Nanos {
    let index = quantile.index(samples.len());
    *samples.select_nth_unstable(index).1
}

/// The ends of an interval of the median, with so many values outside of either: order statistics, whatever
/// the law (Thompson 1936).
fn median_ends(mut values: Vec<f64>, outside: usize) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[outside], values[values.len() - 1 - outside])
}

/// How many of so many values may lie beyond either end of an interval of their median that misses it as
/// rarely as given, by the law of a fair coin. `None` where so few values bound nothing.
fn outside(values: usize, miss: f64) -> Option<usize> {
    let coin = Binomial::new(0.5, values as u64).ok()?;
    let rare = |few: &usize| 2.0 * coin.cdf(*few as u64) <= miss;
    (0..values.div_ceil(2)).take_while(rare).last()
}

/// Whether fewer than three runs hold the tail of the slower runs, or that of the faster ones.
///
/// Where all pairs agree those are the two sides. Swapping a pair's runs changes nothing here: which way the
/// pairs point is left to chance where the sides do not differ, and the sign test's level holds.
fn few_runs_hold(pairs: &[Pair], quantile: Quantile) -> bool {
    (0..2).any(|place| {
        let runs: Vec<&[Nanos]> = pairs.iter().map(|pair| pair.sorted()[place]).collect();
        runs_in_tail(&runs, quantile) < FEWEST_RUNS
    })
}

/// How many equal runs would be as good as these, which hold unequal parts of their common tail.
fn runs_in_tail(runs: &[&[Nanos]], quantile: Quantile) -> f64 {
    // No lost request is at or below what splits off a tail.
    let over = at_quantile(runs.concat(), quantile).min(Nanos(Nanos::NEVER.0 - 1));
    let beyond = |run: &&[Nanos]| run.iter().filter(|x| **x > over).count() as f64;
    let parts: Vec<f64> = runs.iter().map(beyond).collect();
    effective(&parts).unwrap_or(parts.len() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every way in which the signs of so many values may fall.
    fn flips(values: usize) -> impl Iterator<Item = Vec<f64>> {
        let sign = |way: u32, i: usize| if way >> i & 1 == 1 { 1.0 } else { -1.0 };
        (0..1_u32 << values).map(move |way| (0..values).map(|i| sign(way, i)).collect())
    }

    /// Of all ways in which signs may fall, the part in which an interval with so many values beyond either
    /// end misses 0.
    fn missing(sizes: &[f64], outside: usize) -> f64 {
        let misses = |signs: &Vec<f64>| {
            let values = sizes.iter().zip(signs).map(|(x, sign)| x * sign).collect();
            let (low, high) = median_ends(values, outside);
            low > 0.0 || high < 0.0
        };
        let all = 2f64.powi(sizes.len() as i32);
        flips(sizes.len()).filter(misses).count() as f64 / all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The oracle counts all flips of signs: as many values lie beyond as may, and one more is too many.
        #[test]
        fn the_level_is_that_of_all_flips_of_signs(
            sizes in prop::collection::vec(0.01..9.0f64, 1..11),
            miss in 0.001..0.4f64,
        ) {
            let found = outside(sizes.len(), miss);
            if let Some(found) = found {
                prop_assert!(missing(&sizes, found) <= miss + 1e-12);
            }
            let more = found.map_or(0, |found| found + 1);
            let may = more < sizes.len().div_ceil(2);
            prop_assert!(!may || missing(&sizes, more) > miss, "{more} may lie beyond, too");
        }

        /// What chooses the method is the same whichever run of a pair is of which side.
        #[test]
        fn a_swap_within_a_pair_changes_no_choice(
            runs in prop::collection::vec((prop::collection::vec(1..9u64, 20), 1..200u64), 8),
        ) {
            let run = |(run, times): &(Vec<u64>, u64)| run.iter().map(|x| Nanos(x * times)).collect();
            let runs: Vec<Vec<Nanos>> = runs.iter().map(run).collect();
            let pairs: Vec<_> = (0..4).map(|i| (&runs[i][..], &runs[i + 4][..])).collect();
            for way in 1..16 {
                prop_assert_eq!(held(&pairs, way), held(&pairs, 0));
            }
        }
    }

    /// Those pairs swapped that `way` says, by its bits.
    fn swapped<'a>(
        runs: &[(&'a [Nanos], &'a [Nanos])],
        way: u32,
    ) -> Vec<(&'a [Nanos], &'a [Nanos])> {
        let swap = |(i, (a, b)): (usize, &(&'a [Nanos], &'a [Nanos]))| {
            if way >> i & 1 == 1 { (*b, *a) } else { (*a, *b) }
        };
        runs.iter().enumerate().map(swap).collect()
    }

    fn held(runs: &[(&[Nanos], &[Nanos])], way: u32) -> bool {
        let pairs = pairs(&swapped(runs, way), Quantile::P90).expect("long enough");
        few_runs_hold(&pairs, Quantile::P90)
    }

    /// The control: to ask the sides themselves would let a swap choose. Here all `a` are ten times slower.
    #[test]
    fn sides_themselves_would_choose_by_a_swap() {
        let run = |times: u64| -> Vec<Nanos> { (1..=20).map(|x| Nanos(x * times)).collect() };
        let (slow, fast) = (run(100), run(1));
        let runs = [(&slow[..], &fast[..]); 4];
        let by_sides = |way| {
            let (a, b): (Vec<_>, Vec<_>) = swapped(&runs, way).into_iter().unzip();
            [a, b].iter().any(|side| runs_in_tail(side, Quantile::P90) < FEWEST_RUNS)
        };
        assert_eq!([by_sides(0), by_sides(1)], [false, true]);
        assert_eq!([held(&runs, 0), held(&runs, 1)], [false, false]);
    }

    /// Six pairs at 5%, all of them; of ten one may point the other way; and 2 / 2^10 is 0.2%.
    #[test]
    fn so_many_may_lie_beyond() {
        assert_eq!(
            [5, 6, 8, 9, 10, 12].map(|n| outside(n, 0.05)),
            [None, Some(0), Some(0), Some(1), Some(1), Some(2)]
        );
        assert_eq!([10, 11].map(|n| outside(n, 0.0015)), [None, Some(0)]);
        assert_eq!((outside(0, 0.05), outside(2_000, 0.05)), (None, Some(955)));
    }

    /// The end of the pairs, that of the pooled ratio where it lies nearer, or none.
    #[test]
    fn pooled_figures_may_not_contradict() {
        let low = |value: f64, told: f64| {
            let pooled = Estimate { value, low: told, high: 900.0 };
            decided(pooled, (9.0, 50.0)).map(|found| found.low)
        };
        assert_eq!(
            [low(70.0, 0.0), low(9.0, 0.0), low(4.0, 0.0)],
            [Some(9.0), Some(9.0), Some(4.0)]
        );
        assert_eq!([low(2.0, 0.0), low(0.5, 0.0), low(f64::NAN, 0.0)], [None; 3]);
        assert_eq!([low(2.0, 1.5), low(70.0, 40.0)], [Some(0.0), Some(9.0)], "told before");
        let high = |value: f64, told: f64| {
            let pooled = Estimate { value, low: 0.0, high: told };
            decided(pooled, (0.02, 0.25)).map(|found| found.high)
        };
        assert_eq!([high(0.1, 9.0), high(0.4, 9.0), high(0.6, 9.0)], [Some(0.25), Some(0.4), None]);
        assert_eq!([high(0.6, 0.8), high(2.0, 9.0)], [Some(f64::INFINITY), None]);
    }

    /// What is lost on both sides differs in nothing, and what is lost on one is beyond any number.
    #[test]
    fn lost_is_slower_than_any() {
        let ratio = |a: u64, b: u64| Pair([a, b].map(|at| (Nanos(at), &[][..]))).ratio();
        let never = Nanos::NEVER.0;
        assert_eq!([ratio(never, never), ratio(0, 0), ratio(6, 3)], [1.0, 1.0, 2.0]);
        assert_eq!([ratio(never, 5), ratio(5, never)], [f64::INFINITY, 0.0]);
    }
}
