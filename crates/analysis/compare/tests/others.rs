//! What others had of the CPUs is said with the comparison, policy by policy.

mod common;

use common::{MadeUp, until_sure, whole};
use model::trace::{Counters, Neighbours, ProgramTrace, ThreadTrace, Usage};
use model::{Nanos, Scenario, Trace};

const TEXT: &str = "# A.\nduration = \"1s\"\n[machine]\ncpus = 2\n\
    [[program]]\nname = \"spins\"\nkind = \"batch\"\n";

/// One thread for a second of two CPUs. Under `b` the other CPU is idle for so many milliseconds less, most
/// of which a compiler had, if it was `seen`.
fn made_up(fewer_ms: u64, seen: bool, policy: &str) -> Trace {
    let second = Nanos::from_secs(1);
    let fewer_ms = if policy == "b" { fewer_ms } else { 0 };
    let idle = Some(second - Nanos::from_millis(fewer_ms));
    let compiler = fewer_ms as f64 / 2000.0 - 0.02;
    let programs = vec![("rustc".to_string(), compiler)];
    let neighbours = Neighbours { cpus: vec![0, 1], programs, ..Neighbours::default() };
    Trace {
        programs: vec![ProgramTrace::default()],
        threads: vec![ThreadTrace { program: 0 }],
        usage: [Nanos::ZERO, second].map(|at| Usage { at, cpu_time: vec![at] }).to_vec(),
        counters: Counters { idle, ..Counters::default() },
        neighbours: (seen && fewer_ms > 0).then_some(neighbours),
        ..Trace::default()
    }
}

/// The shares of both policies, and the text of the comparison.
fn compared(fewer_ms: u64, seen: bool, exclusive: bool) -> (Vec<Option<f64>>, String) {
    let run = |_: &Scenario, policy: &str, _| made_up(fewer_ms, seen, policy);
    let arm = MadeUp { run, exclusive };
    let [document, again] = [whole, until_sure].map(|run| common::compared(TEXT, 3, &arm, run));
    assert_eq!(document.results, again.results);
    let shares = document.shown().iter().map(|one| one.others_share).collect();
    (shares, report::table(&document, 120))
}

#[test]
fn unequal_neighbours_are_said() {
    let (shares, text) = compared(240, false, true);
    assert_eq!(shares[0], Some(0.0));
    assert!(shares[1].is_some_and(|share| (share - 0.12).abs() < 1e-9), "{shares:?}");
    assert!(text.contains("others had 0% of the CPUs under a, 12% under b"), "{text}");
}

#[test]
fn those_who_had_much_are_named() {
    let (_, text) = compared(240, true, true);
    let named = "12% under b (rustc 10%, processes that ended meanwhile 2%)";
    assert!(text.contains(named), "{text}");
}

#[test]
fn hardly_any_and_those_of_cpus_that_are_not_real_are_not_said() {
    for (fewer_ms, exclusive) in [(10, true), (240, false)] {
        let (shares, text) = compared(fewer_ms, true, exclusive);
        assert_eq!(shares[1].is_some(), exclusive);
        assert!(!text.contains("others had"), "{text}");
    }
}
