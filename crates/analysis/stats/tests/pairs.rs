//! Verdicts where one or two runs hold a tail: pairs of runs tell one by one.
#![forbid(unsafe_code)]

#[allow(dead_code)] // Each program uses a part of it.
#[path = "common/many.rs"]
mod many;
#[allow(dead_code)]
#[path = "common/sides.rs"]
mod sides;

use model::{Answer, Nanos};
use sides::{Case, Law, Pair, slowed};
use stats::{Basis, FALSE_ALARM, Metric, Quantile, Verdict, compare, compare_at, compare_pooled};

const TAIL: Metric = Metric::Quantile(Quantile::P99_9);
const REQUESTS: usize = 2_000;
const TRIALS: usize = 200;

/// One worker at 90%: a tail is mostly one run's.
const BUSY: Case = Case { law: Law::Exponential, workers: 1, load: 0.9, requests: REQUESTS };

fn judged(pairs: &[Pair]) -> Verdict {
    compare(pairs, TAIL).expect("samples")
}

/// Runs of `base` ms, those named with 40 requests in a row that take so many times as long.
fn side(base: u64, disasters: &[(usize, u64)]) -> Vec<Vec<Nanos>> {
    let run = |at: usize| {
        let times = disasters.iter().find(|(run, _)| *run == at).map_or(1, |(_, times)| *times);
        let latency = |i: usize| {
            let struck = (500..540).contains(&i);
            // Services that are not all alike, and differ from run to run.
            let own = 1_000 + (i * 7_919 + at * 104_729) as u64 % 997;
            Nanos(base * own * if struck { times } else { 1 } * 1_000)
        };
        (0..REQUESTS).map(latency).collect()
    };
    (0..10).map(run).collect()
}

fn paired(a: Vec<Vec<Nanos>>, b: Vec<Vec<Nanos>>) -> Vec<Pair> {
    a.into_iter().zip(b).collect()
}

/// A hundred times slower in every pair, and one run of ten holds all of the pooled tail.
#[test]
fn what_is_slower_in_every_pair_is_told() {
    let pairs = paired(side(100, &[(3, 900)]), side(1, &[]));
    let before = compare_pooled(&pairs, TAIL).expect("samples");
    assert_eq!((before.answer, before.ratio.low), (Answer::CannotTell, 0.0), "control: {before:?}");
    let found = judged(&pairs);
    assert_eq!((found.answer, found.basis), (Answer::Worse, Basis::Pairs));
    assert_eq!((found.ratio.value, found.ratio.high), (before.ratio.value, before.ratio.high));
    assert!((90.0..110.0).contains(&found.ratio.low), "the common runs' ratio: {found:?}");
    let back: Vec<Pair> = pairs.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
    let found = judged(&back);
    assert_eq!((found.answer, found.basis), (Answer::Better, Basis::Pairs));
    // The control: five pairs are too few to be surprising, even if all agree.
    assert_eq!(judged(&pairs[..5]).answer, Answer::CannotTell);
    assert_eq!(judged(&pairs[..6]).answer, Answer::Worse);
}

/// In nine pairs `a` is three times slower, but the rare run of `b` makes that side's figure the larger one.
#[test]
fn rare_runs_that_contradict_the_common_ones_leave_no_answer() {
    let pairs = |times| paired(side(3, &[]), side(1, &[(3, times)]));
    let found = judged(&pairs(900));
    assert_eq!(found.answer, Answer::CannotTell, "{found:?}");
    assert!(found.ratio.value < 0.1, "{found:?}");
    // The control: a rare run that changes no direction.
    let agreed = paired(side(3, &[(3, 900)]), side(1, &[]));
    assert_eq!(judged(&agreed).answer, Answer::Worse);
}

/// Where many runs hold both tails nothing changes.
#[test]
fn a_tail_of_all_runs_is_the_pooled_figures() {
    let calm = Case { workers: 16, load: 0.5, ..BUSY };
    let found = (0..20).map(|trial| slowed(&calm.pairs(trial, 10), 1.5));
    for pairs in found {
        assert_eq!(Some(judged(&pairs)), compare_pooled(&pairs, TAIL));
        // The control: with a disaster in one run they would not stand.
        let struck = slowed(&pairs[..1], 1e4).into_iter().chain(pairs[1..].iter().cloned());
        assert_eq!(judged(&struck.collect::<Vec<_>>()).basis, Basis::Pairs);
    }
}

/// Of a family each member may err less often: ten pairs that agree have 0.2%.
#[test]
fn a_family_asks_more_of_each_member() {
    let pairs = paired(side(100, &[(3, 900)]), side(1, &[]));
    let answer = |miss| compare_at(&pairs, TAIL, miss).expect("samples").answer;
    assert_eq!(answer(FALSE_ALARM / 20.0), Answer::Worse);
    assert_eq!(answer(FALSE_ALARM / 40.0), Answer::CannotTell);
}

/// A quantile of a shorter run misses more of the rare: such pairs are not held against each other.
#[test]
fn runs_of_unequal_length_are_no_pairs() {
    let pairs = paired(side(100, &[(3, 900)]), side(1, &[]));
    let cut = |to: usize| -> Vec<Pair> {
        pairs.iter().map(|(a, b)| (a.clone(), b[..to].to_vec())).collect()
    };
    assert_eq!(judged(&cut(REQUESTS * 2 / 3)).answer, Answer::CannotTell);
    assert_eq!(judged(&cut(REQUESTS * 19 / 20)).answer, Answer::Worse, "the control");
}

/// The oracle: of all 64 ways to swap runs within six pairs, pairs tell in two at most, as all or none agree.
#[test]
fn of_all_swaps_so_few_are_told_as_the_level_says() {
    let mut most = 0;
    for trial in 0..8 {
        let pairs = slowed(&BUSY.pairs(trial, 6), if trial % 2 == 0 { 1.0 } else { 10.0 });
        let swapped = |way: u32| -> Vec<Pair> {
            let swap = |(i, (a, b)): (usize, &Pair)| {
                if way >> i & 1 == 1 { (b.clone(), a.clone()) } else { (a.clone(), b.clone()) }
            };
            pairs.iter().enumerate().map(swap).collect()
        };
        let told = |way: &u32| {
            let found = judged(&swapped(*way));
            found.basis == Basis::Pairs && found.answer != Answer::CannotTell
        };
        let told = (0..64).filter(told).count();
        assert!(told <= 2, "{told} of 64");
        most = most.max(told);
    }
    assert_eq!(most, 2, "the control: what differs is told both ways");
}

/// How many of the trials end in an answer, and in one of pairs.
fn told(case: Case, times: f64) -> (usize, usize) {
    let found = (0..TRIALS).map(|trial| judged(&slowed(&case.pairs(trial, 10), times)));
    let told: Vec<Verdict> = found.filter(|found| found.answer != Answer::CannotTell).collect();
    let of_pairs = told.iter().filter(|found| found.basis == Basis::Pairs).count();
    println!("{case:?}, {times} times: {} of {TRIALS} told, {of_pairs} by pairs", told.len());
    (told.len(), of_pairs)
}

/// Of 200 comparisons with 5% false alarms, more than 21 raise one with a probability of 1 in 1,000.
#[test]
fn equals_raise_few_alarms_and_a_tenfold_tail_is_told() {
    for law in [Law::Exponential, Law::Disasters, Law::Speeds] {
        let case = Case { law, ..BUSY };
        let (alarms, _) = told(case, 1.0);
        assert!(alarms <= 21, "{law:?}: {alarms} false alarms");
        let (there, of_pairs) = told(case, 10.0);
        let least = if law == Law::Disasters { TRIALS / 2 } else { TRIALS * 9 / 10 };
        assert!(there >= least && of_pairs >= least * 8 / 10, "{law:?}: {there}, {of_pairs}");
    }
    let before = |trial| compare_pooled(&slowed(&BUSY.pairs(trial, 10), 10.0), TAIL);
    let before = (0..TRIALS).filter_map(before).filter(|one| one.answer == Answer::Worse).count();
    assert!(before < TRIALS / 4, "control: pooled figures alone tell {before}");
}
