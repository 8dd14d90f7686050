//! Verdicts: few false alarms between equals, and an answer where there is one.
#![forbid(unsafe_code)]

#[allow(dead_code)] // Each test uses a part of it.
mod common;

use common::{QUEUES, Queue};
use model::{Answer, Nanos};
use stats::{Metric, Quantile, compare};

const METRICS: [Metric; 5] = [
    Metric::Mean,
    Metric::Quantile(Quantile::P50),
    Metric::Quantile(Quantile::P99),
    Metric::Quantile(Quantile::P99_9),
    Metric::Outliers(Nanos(6_000_000)),
];
const TRIALS: usize = 200;
const SAMPLES: usize = 20_000;

/// M/M/4 at 80%.
fn queue() -> Queue {
    QUEUES.into_iter().find(|queue| queue.load == 0.8 && queue.exponential).unwrap()
}

/// Three pairs of runs, each made of a seed.
fn three(
    trial: usize,
    pair: impl Fn(u64) -> (Vec<Nanos>, Vec<Nanos>),
) -> Vec<(Vec<Nanos>, Vec<Nanos>)> {
    (0..3).map(|run| pair((trial * 3 + run + 1) as u64)).collect()
}

/// How many of the trials end in a verdict other than "cannot tell", for each metric.
fn told(pair: impl Fn(u64) -> (Vec<Nanos>, Vec<Nanos>)) -> Vec<usize> {
    let mut told = vec![0; METRICS.len()];
    for trial in 0..TRIALS {
        let pairs = three(trial, &pair);
        for (told, metric) in told.iter_mut().zip(METRICS) {
            *told += usize::from(compare(&pairs, metric).unwrap().answer != Answer::CannotTell);
        }
    }
    println!("told in {TRIALS} (mean, p50, p99, p99.9, outliers): {told:?}");
    told
}

/// Noise of up to `size`, different for each side.
fn disturbed(samples: &[Nanos], seed: u64, size: u64) -> Vec<Nanos> {
    use rand::{RngExt, SeedableRng};
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
    samples.iter().map(|x| Nanos(x.0 + random.random_range(0..size))).collect()
}

/// Of 200 comparisons with 5% false alarms, more than 21 raise one with a probability of 1 in 1,000.
fn assert_silent(told: Vec<usize>) {
    assert!(told.iter().all(|told| *told <= 21), "false alarms in {TRIALS}: {told:?}");
}

#[test]
fn equals_with_independent_arrivals_raise_few_alarms() {
    let away = 1_000_000;
    assert_silent(told(|seed| {
        (queue().latencies(seed, SAMPLES), queue().latencies(seed + away, SAMPLES))
    }));
}

#[test]
fn equals_with_the_same_arrivals_raise_few_alarms() {
    let pair = |seed| {
        let shared = queue().latencies(seed, SAMPLES);
        (disturbed(&shared, 2 * seed, 2_000_000), disturbed(&shared, 2 * seed + 1, 2_000_000))
    };
    assert_silent(told(pair));
}

/// A run as a whole may be slower than another: caches, frequencies, neighbours.
#[test]
fn equals_whose_runs_differ_raise_few_alarms() {
    let slowed = |samples: &[Nanos], seed: u64| -> Vec<Nanos> {
        let factor = 900 + disturbed(&[Nanos(0)], seed, 200)[0].0;
        samples.iter().map(|x| Nanos(x.0 / 1_000 * factor)).collect()
    };
    let pair = |seed| {
        let shared = queue().latencies(seed, SAMPLES);
        (slowed(&shared, 2 * seed), slowed(&shared, 2 * seed + 1))
    };
    assert_silent(told(pair));
}

#[test]
fn the_same_run_twice_has_a_ratio_of_exactly_1() {
    let pairs =
        three(0, |seed| (queue().latencies(seed, SAMPLES), queue().latencies(seed, SAMPLES)));
    for metric in METRICS {
        let verdict = compare(&pairs, metric).unwrap();
        assert_eq!(verdict.answer, Answer::CannotTell);
        assert_eq!((verdict.ratio.low, verdict.ratio.value, verdict.ratio.high), (1.0, 1.0, 1.0));
    }
}

/// The control of all above: a method that never tells would pass them.
#[test]
fn a_clear_difference_is_told_both_ways() {
    let slower = |samples: &[Nanos]| samples.iter().map(|x| Nanos(x.0 * 3 / 2)).collect::<Vec<_>>();
    let paired = |seed| {
        let shared = queue().latencies(seed, SAMPLES);
        let other = disturbed(&shared, seed, 200_000);
        (slower(&shared), other)
    };
    let there = told(paired);
    assert!(there.iter().all(|told| *told >= TRIALS * 8 / 10), "{there:?} of {TRIALS}");
    let pairs = three(0, paired);
    let back: Vec<_> = pairs.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
    let p99 = Metric::Quantile(Quantile::P99);
    assert_eq!(compare(&pairs, p99).unwrap().answer, Answer::Worse);
    assert_eq!(compare(&back, p99).unwrap().answer, Answer::Better);
}

/// What pairing is for: 5% that no unpaired comparison of as many requests could see.
#[test]
fn shared_arrivals_cancel() {
    let p99 = Metric::Quantile(Quantile::P99);
    let width = |pairs: &[(Vec<Nanos>, Vec<Nanos>)]| {
        let ratio = compare(pairs, p99).unwrap().ratio;
        (ratio.high / ratio.low).ln()
    };
    let slower =
        |samples: Vec<Nanos>| samples.iter().map(|x| Nanos(x.0 * 21 / 20)).collect::<Vec<_>>();
    let other = |seed| disturbed(&queue().latencies(seed, SAMPLES), seed, 100_000);
    let paired = three(0, |seed| (slower(queue().latencies(seed, SAMPLES)), other(seed)));
    let apart = three(0, |seed| (slower(queue().latencies(seed, SAMPLES)), other(seed + 1_000)));
    assert!(width(&paired) < width(&apart) / 5.0, "{} {}", width(&paired), width(&apart));
    assert_eq!(compare(&paired, p99).unwrap().answer, Answer::Worse);
    assert_eq!(compare(&apart, p99).unwrap().answer, Answer::CannotTell);
}

#[test]
fn losses_are_worse_and_nothing_is_undecided() {
    let whole = QUEUES[0].latencies(1, SAMPLES);
    let mut lossy = whole.clone();
    lossy.iter_mut().step_by(20).for_each(|x| *x = Nanos::NEVER);
    for metric in [Metric::Mean, Metric::Quantile(Quantile::P99)] {
        let verdict = compare(&[(&lossy, &whole)], metric).unwrap();
        assert_eq!((verdict.answer, verdict.ratio.value), (Answer::Worse, f64::INFINITY));
        let both = compare(&[(&lossy, &lossy)], metric).unwrap();
        assert_eq!(both.answer, Answer::CannotTell);
    }
    assert_eq!(compare::<&[Nanos]>(&[(&[], &[])], Metric::Mean), None);
    let never = compare(&[(&whole, &whole)], Metric::Outliers(Nanos::from_secs(9))).unwrap();
    assert_eq!(never.answer, Answer::CannotTell);
}

#[test]
fn what_never_varies_is_told_exactly() {
    let always = |latency: u64| vec![Nanos(latency); SAMPLES];
    let pairs = [(); 3].map(|()| (always(100), always(125)));
    for metric in [Metric::Mean, Metric::Quantile(Quantile::P99)] {
        let verdict = compare(&pairs, metric).unwrap();
        assert_eq!((verdict.answer, verdict.ratio.value), (Answer::Better, 0.8));
    }
}

/// A side may have fewer requests than the other: one was measured for a shorter time.
#[test]
fn sides_of_different_length_compare() {
    let half = QUEUES[0].latencies(1, 40_000);
    let whole = QUEUES[0].latencies(2, 80_000);
    let width = |a: &[Nanos], b: &[Nanos]| {
        let ratio = compare(&[(a, b)], Metric::Mean).unwrap().ratio;
        (ratio.high / ratio.low).ln()
    };
    let (there, back) = (width(&half, &whole), width(&whole, &half));
    assert!((there / back - 1.0).abs() < 0.2, "{there} {back}");
}

#[test]
fn one_burst_cannot_tell() {
    // Requests of 1 ms, but for `length` slow ones in a row in each of `bursts` places.
    let side = |bursts: usize, length: usize| -> Vec<Nanos> {
        let slow = |i: usize| i % (16_000 / bursts) < length;
        (0..16_000).map(|i| Nanos::from_millis(if slow(i) { 20 } else { 1 })).collect()
    };
    let over = Metric::Outliers(Nanos::from_millis(10));
    let answer = |bursts| compare(&[(side(bursts, 20), side(bursts, 10))], over).unwrap().answer;
    assert_eq!(answer(1), Answer::CannotTell);
    // The control: the same ratio in burst after burst is told.
    assert_eq!(answer(100), Answer::Worse);
}

#[test]
fn surely_lost_is_slower_than_answered() {
    let answered = QUEUES[0].latencies(1, 4_000);
    let mostly_lost: Vec<Nanos> =
        (0..4_000).map(|i| if i % 5 == 0 { answered[i] } else { Nanos::NEVER }).collect();
    // Too few samples to bound the p99.9 of the side that answers.
    let p99_9 = Metric::Quantile(Quantile::P99_9);
    let answer = |a: &[Nanos], b: &[Nanos]| compare(&[(a, b)], p99_9).unwrap().answer;
    assert_eq!(answer(&answered, &mostly_lost), Answer::Better);
    assert_eq!(answer(&mostly_lost, &answered), Answer::Worse);
    assert_eq!(answer(&mostly_lost, &mostly_lost), Answer::CannotTell);
}

/// Where the search for a ratio ends is no ratio.
#[test]
fn what_is_surely_lost_has_no_number() {
    let answered: Vec<Vec<Nanos>> = (1..=3).map(|seed| QUEUES[0].latencies(seed, 4_000)).collect();
    let losing = |every: usize| {
        let lose = |run: &Vec<Nanos>| {
            let lost = |(at, x): (usize, &Nanos)| if at % every == 0 { Nanos::NEVER } else { *x };
            run.iter().enumerate().map(lost).collect::<Vec<_>>()
        };
        answered.iter().map(lose).collect::<Vec<_>>()
    };
    let ratio = |a: &[Vec<Nanos>], b: &[Vec<Nanos>]| {
        let pairs: Vec<_> = a.iter().zip(b).collect();
        compare(&pairs, Metric::Quantile(Quantile::P99)).unwrap().ratio
    };
    let mostly = losing(2);
    assert_eq!(ratio(&mostly, &answered).low, f64::INFINITY);
    assert_eq!(ratio(&answered, &mostly).high, 0.0);
    // The control: so few are lost that the p99 may be a number.
    let few = ratio(&losing(99), &answered);
    assert!(few.value.is_infinite() && few.low < 1e9, "{few:?}");
}

/// One seed shows nothing of how much whole runs differ: what a slower moment could explain is not told.
#[test]
fn one_pair_tells_only_what_no_slower_moment_explains() {
    let p99_9 = Metric::Quantile(Quantile::P99_9);
    let (shared, noise) = (queue().latencies(7, 120_000), 200_000);
    let other = disturbed(&shared, 7, noise);
    let answer = |pairs: usize, tenths: u64, metric| {
        let slow: Vec<Nanos> = shared.iter().map(|x| Nanos(x.0 / 10 * tenths)).collect();
        compare(&vec![(&slow, &other); pairs], metric).unwrap().answer
    };
    assert_eq!(answer(1, 13, Metric::Quantile(Quantile::P50)), Answer::CannotTell);
    assert_eq!(answer(1, 200, p99_9), Answer::Worse, "157 against 7.9 ms");
    assert_eq!(
        answer(3, 13, Metric::Quantile(Quantile::P50)),
        Answer::Worse,
        "control: three pairs"
    );
}

#[test]
fn less_than_one_in_a_hundred_is_no_difference() {
    let shared = queue().latencies(3, SAMPLES);
    let answer = |thousandths: u64| {
        let slow: Vec<Nanos> = shared.iter().map(|x| Nanos(x.0 / 1_000 * thousandths)).collect();
        let pairs = [(); 3].map(|()| (&slow, &shared));
        compare(&pairs, Metric::Mean).unwrap().answer
    };
    assert_eq!(answer(1_005), Answer::CannotTell);
    assert_eq!(answer(1_020), Answer::Worse, "the control");
}
