//! Round trips through pipes: counted on one CPU, and over when the user wants them to be.

use std::sync::atomic::{AtomicUsize, Ordering};

use host::pipes::round_trips_ns;
use libtest_mimic::{Failed, Trial};
use model::{Failure, PolicySpec, Silent, Watch};

use crate::processes::programs_of;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("pairs_share_one_cpu_whatever_their_number", counted),
        Trial::test("an_interrupted_count_leaves_no_pair", interrupted),
        Trial::test("an_unknown_policy_is_bad_input_to_pipes_too", refused),
    ]
}

fn default() -> PolicySpec {
    PolicySpec::plain("default")
}

/// The same processes count under each policy. What a round trip takes does not grow with the pairs that
/// wait: the CPU is busy with one of them at any time. On a CPU each, eight pairs would take an eighth.
fn counted() -> Result<(), Failed> {
    let found = round_trips_ns(&[&default(), &default()], &[1, 8], &Silent)?;
    assert_eq!(found.len(), 2);
    for of_policy in found {
        let [one, eight] = of_policy[..] else { panic!("{of_policy:?}") };
        assert!((200.0..1e6).contains(&one), "{one} ns");
        assert!((0.3..5.0).contains(&(eight / one)), "{one} ns alone, {eight} ns beside seven");
    }
    Ok(())
}

/// Wants to stop at the so manieth look.
struct Stop(AtomicUsize);

impl Watch for Stop {
    fn progress(&self, _: f64) {}
    fn cancelled(&self) -> bool {
        self.0.fetch_sub(1, Ordering::Relaxed) <= 1
    }
}

fn interrupted() -> Result<(), Failed> {
    // One look a pair that starts, then those of the count.
    for looks in [2, 10] {
        let outcome = round_trips_ns(&[&default()], &[4], &Stop(AtomicUsize::new(looks)));
        assert_eq!(outcome, Err(Failure::Interrupted), "after {looks} looks");
        assert!(programs_of(std::process::id()).is_empty());
    }
    Ok(())
}

fn refused() -> Result<(), Failed> {
    let outcome = round_trips_ns(&[&PolicySpec::plain("fiof")], &[1], &Silent);
    assert!(matches!(&outcome, Err(Failure::Input(why)) if why.contains("fifo")), "{outcome:?}");
    Ok(())
}
