//! Requests in the order in which they came to the machine (`order=arrival`), beside the order in which their
//! threads woke.

use crate::fairness::runs;
use crate::production_node::case;
use crate::shuffled::run_shuffled;
use crate::tails::inversions;

const POLICIES: [&str; 2] = ["rearguard:order=arrival", "rearguard"];

/// Pairs served in the other order than they came, by start and by completion, under both orders.
fn inverted(name: &str) -> [[u64; 2]; 2] {
    let scenario = case(name);
    POLICIES.map(|policy| inversions(&runs(&scenario, policy)[0]))
}

/// What two CPUs receive they bring to sockets at different speeds. What is left is what an idle CPU took
/// while an earlier request was still on its way.
#[test]
fn requests_that_several_cpus_receive_begin_as_they_came() {
    let [at, control] = inverted("two-receivers");
    assert!(at[0] * 6 < control[0] && control[0] > 1_000, "{at:?} {control:?}");
    let shuffled = inversions(&run_shuffled(&case("two-receivers"), POLICIES[0]));
    assert!(shuffled[0] > control[0], "{shuffled:?} {control:?}");
}

/// The next request of a worker that has not slept begins at once and goes on behind those that came before.
#[test]
fn a_worker_that_goes_on_with_its_next_request_goes_behind_earlier_ones() {
    let [at, control] = inverted("next-request-ready");
    assert!(at[1] * 6 < control[1] && control[1] > 100, "{at:?} {control:?}");
}
