//! Every shipped scenario under every policy, cut short: what must hold whatever the policy.

mod common;
#[path = "common/shipped.rs"]
mod shipped;

use model::{Arm, Events, Nanos, PolicySpec, Scenario, Silent, Trace};
use sim::SimArm;
use sim::arm::{names, run_on};
use sim::events::{Digest, Heap, Tournament};

use shipped::{DURATION, WARM_UP, cut_short};

/// Calls `check` with every scenario and policy.
fn each(check: impl Fn(&Scenario, &PolicySpec, &str)) {
    for scenario in cut_short() {
        for name in names() {
            check(&scenario, &PolicySpec::plain(name), &format!("{} under {name}", scenario.name));
        }
    }
}

fn run(scenario: &Scenario, policy: &PolicySpec, seed: u64) -> Trace {
    SimArm.run(scenario, policy, seed, Events::Omitted, &Silent).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    each(|scenario, policy, what| {
        let first = run(scenario, policy, 1);
        assert!(first == run(scenario, policy, 1), "{what}");
        let other = run(scenario, policy, 2);
        let draws = first.programs.iter().any(|program| !program.requests.is_empty());
        assert!(!draws || first.programs != other.programs, "{what}");
    });
}

#[test]
fn the_event_queue_orders_as_a_heap_does() {
    each(|scenario, policy, what| {
        let tree = run_on::<Digest<Tournament>>(scenario, policy, 1, &Silent).unwrap();
        let heap = run_on::<Digest<Heap>>(scenario, policy, 1, &Silent).unwrap();
        assert!(tree.events > 10, "{what}");
        assert_eq!(tree.queue.digest, heap.queue.digest, "{what}");
        assert_eq!(tree.events, heap.events, "{what}");
        let other = run_on::<Digest<Heap>>(
            &Scenario { duration: Nanos(DURATION.0 / 2), ..scenario.clone() },
            policy,
            1,
            &Silent,
        );
        assert_ne!(
            tree.queue.digest,
            other.unwrap().queue.digest,
            "{what}: the digest tells runs apart"
        );
    });
}

#[test]
fn cpu_time_is_conserved() {
    each(|scenario, policy, what| {
        let trace = run(scenario, policy, 1);
        let (first, last) = (&trace.usage[0], trace.usage.last().unwrap());
        assert_eq!((first.at, last.at), (WARM_UP, WARM_UP + DURATION), "{what}");
        let sum = |times: &[Nanos]| times.iter().map(|time| time.0).sum::<u64>();
        let used = sum(&last.cpu_time) - sum(&first.cpu_time);
        let idle = trace.counters.idle.unwrap().0;
        assert_eq!(used + idle, u64::from(scenario.machine.cpus) * DURATION.0, "{what}");
        for pair in trace.usage.windows(2) {
            let span = pair[1].at - pair[0].at;
            for (before, after) in pair[0].cpu_time.iter().zip(&pair[1].cpu_time) {
                assert!(before <= after && *after - *before <= span, "{what}");
            }
        }
    });
}

#[test]
fn stamps_of_a_request_are_in_order_and_requests_in_that_of_the_law() {
    each(|scenario, policy, what| {
        let trace = run(scenario, policy, 1);
        for program in &trace.programs {
            assert!(program.requests.is_sorted_by_key(|request| request.intended), "{what}");
            for r in &program.requests {
                assert!(r.intended <= r.sent && r.sent <= r.started, "{what}: {r:?}");
                assert!(r.started <= r.completed && r.completed <= r.received, "{what}: {r:?}");
                let served = r.completed == Nanos::NEVER
                    || r.started + r.service <= r.completed + sim::costs::Costs::DEFAULT.switch;
                assert!(served, "{what}: {r:?}");
            }
        }
    });
}
