//! Seeds that are added until verdicts can tell, among drawn latencies.

mod common;

use common::{MadeUp, Run, until_sure, whole};
use model::trace::{ProgramTrace, Request};
use model::{Answer, Nanos, Scenario, Trace};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use report::document::Verdict;
use report::{Document, HEADLINE};

/// Requests of a run, one every 100 us.
const REQUESTS: u64 = 20_000;
/// By so much whole runs of one policy differ, at most, either way.
const RUNS_DIFFER: f64 = 1.2;
/// As many seeds as are allowed: looks at 3, 6, 12 and 24.
const MOST: usize = 24;

/// Latencies at random. The second policy's are this many times the first one's.
fn drawn(times: f64, policy: &str, seed: u64) -> Trace {
    let is_second = policy == "b";
    let lot = seed << 1 | u64::from(is_second);
    let mut draws = Xoshiro256PlusPlus::seed_from_u64(lot);
    let run = RUNS_DIFFER.powf(2.0 * draws.random::<f64>() - 1.0);
    let scale_ns = 1e6 * run * if is_second { times } else { 1.0 };
    let request = |i: u64| {
        let took = Nanos((-(1.0 - draws.random::<f64>()).ln() * scale_ns) as u64);
        let intended = Nanos(i * 100_000);
        Request::at_once(intended, intended + took, Nanos(1))
    };
    let requests = (0..REQUESTS).map(request).collect();
    let programs = vec![ProgramTrace { requests, ..ProgramTrace::default() }];
    Trace { programs, ..Trace::default() }
}

fn compared(times: f64, run: Run) -> Document {
    let text = "# A.\nduration = \"2s\"\n[machine]\ncpus = 1\n[[program]]\nname = \"s\"\nkind = \"service\"\n\
                connections = 1\nservice_time = { law = \"fixed\", mean = \"10us\" }\n\
                arrivals = { law = \"poisson\", rate = \"10000/s\" }\n";
    let made = |_: &Scenario, policy: &str, seed| drawn(times, policy, seed);
    let arm = MadeUp { run: made, exclusive: true };
    common::compared(text, MOST, &arm, run)
}

fn tail(document: &Document) -> &Verdict {
    let mut verdicts = document.verdicts.iter();
    verdicts.find(|one| one.a != one.b && one.metric == HEADLINE).expect("a verdict")
}

#[test]
fn what_differs_is_told_with_fewer_seeds_the_more_it_does() {
    let taken = |times: f64| {
        let document = compared(times, until_sure);
        let looks = document.looks.expect("looks");
        assert_eq!((looks.is_sure, looks.planned), (true, 4));
        assert_eq!(tail(&document).answer, Answer::Worse, "{times}");
        assert_eq!(document.results.len(), 2 * (1 + document.seeds.len()));
        assert_eq!(document.seeds.len(), 3 << (looks.taken - 1));
        document.seeds.len()
    };
    let (much, little) = (taken(4.0), taken(1.3));
    assert!(much < little, "{much} and {little} seeds");
}

#[test]
fn equals_take_all_seeds_and_intervals_are_those_of_all_looks_together() {
    let document = compared(1.0, until_sure);
    let looks = document.looks.expect("looks");
    assert_eq!((looks.is_sure, looks.taken, document.seeds.len()), (false, 4, MOST));
    let once = compared(1.0, whole);
    assert_eq!((&once.results, once.looks), (&document.results, None), "the same runs");
    let of = |document: &Document| {
        let ratio = tail(document).ratio;
        [ratio.low, ratio.value, ratio.high].map(|end| end.expect("an interval").ln())
    };
    let ([low, value, high], [low_once, value_once, high_once]) = (of(&document), of(&once));
    // Between 95% and 98.75% lie at least the normal law's 2.50 of 1.96.
    let wider = (high - low) / (high_once - low_once);
    assert!(value == value_once && (2.49 / 1.96..2.0).contains(&wider), "{wider}");
}
