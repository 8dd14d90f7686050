//! The arm as its callers see it.

mod common;

use std::sync::atomic::{AtomicU32, Ordering};

use common::{scenario, service};
use model::scenario::{Group, Kind, Wait};
use model::{Arm, Events, Failure, Nanos, PolicySpec, Scenario, Silent, Watch};
use sim::SimArm;
use sim::arm::names;

fn refusal(spec: &str) -> String {
    let scenario = scenario(1, vec![("hog", Kind::Batch { threads: 1 })]);
    match SimArm.check(&scenario, &PolicySpec::parse(spec).unwrap()) {
        Err(Failure::Input(message)) => message,
        other => panic!("{spec}: {other:?}"),
    }
}

#[test]
fn unknown_policies_and_options_are_bad_input_with_a_remedy() {
    let message = refusal("eevfd");
    assert!(message.contains("did you mean `eevdf`?") && message.contains("cts"), "{message}");
    assert!(!refusal("quantum").contains("did you mean"));
    assert!(refusal("cfs:slice=3ms").contains("`slice`"));
    assert!(refusal("cts:colour=red").contains("colour"));
}

/// As many groups one in another, with a spinning thread in the innermost.
fn nested(levels: usize) -> Scenario {
    let mut scenario = scenario(1, vec![("hog", Kind::Batch { threads: 1 })]);
    let path = |level: usize| vec!["g"; level + 1].join("/");
    let group = |level: usize| Group::new(path(level), level.checked_sub(1), 100);
    scenario.groups = (0..levels).map(group).collect();
    scenario.programs[0].group = Some(levels - 1);
    scenario
}

#[test]
fn groups_deeper_than_policies_see_are_for_the_kernels_own_classes() {
    for name in names() {
        let policy = PolicySpec::plain(name);
        assert_eq!(SimArm.check(&nested(8), &policy), Ok(()), "{name}: the control");
        let is_kernels = ["cfs", "eevdf", "fifo", "rr"].contains(&name);
        match SimArm.check(&nested(9), &policy) {
            Ok(()) => assert!(is_kernels, "{name}"),
            Err(failure) => {
                let said = failure.to_string();
                assert!(!is_kernels && failure.exit_code() == 2, "{name}: {said}");
                assert!(said.contains("`g/g/g/g/g/g/g/g/g`") && said.contains("leave a level out"));
            }
        }
    }
}

#[test]
fn every_name_passes_the_check_and_no_thread_is_lost() {
    let programs = vec![
        // What one queue for all leaves of four CPUs beside slices of 20 ms.
        ("service", Kind::Service(service(500, 0.1))),
        ("hogs", Kind::Batch { threads: 9 }),
        (
            "fork-join",
            Kind::ForkJoin { threads: 3, work: Nanos::from_millis(2), wait: Wait::Block },
        ),
    ];
    let scenario = Scenario { duration: Nanos::from_secs(3), ..scenario(4, programs) };
    for name in names() {
        let policy = PolicySpec::plain(name);
        SimArm.check(&scenario, &policy).unwrap();
        let trace = SimArm.run(&scenario, &policy, 1, Events::Omitted, &Silent).unwrap();
        let (first, last) = (&trace.usage[0].cpu_time, &trace.usage[100].cpu_time);
        for (index, thread) in trace.threads.iter().enumerate() {
            let received = last[index] - first[index];
            assert!(received > Nanos::from_millis(10), "{name}: thread {index} of {thread:?}");
        }
        let lost = trace.programs[0].requests.iter().filter(|r| r.is_lost()).count();
        assert_eq!(lost, 0, "{name}");
        assert!(trace.kernel.unwrap().contains("modelled"), "{name}");
    }
}

/// Stops a run after some looks.
struct Impatient {
    looks_left: AtomicU32,
}

impl Watch for Impatient {
    fn progress(&self, done: f64) {
        assert!((0.0..=1.0).contains(&done));
    }
    fn cancelled(&self) -> bool {
        self.looks_left.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

#[test]
fn a_run_stops_when_its_watch_wants() {
    let programs = vec![("hogs", Kind::Batch { threads: 16 })];
    let scenario = Scenario { duration: Nanos::from_secs(300), ..scenario(16, programs) };
    let run = |looks_left| {
        let watch = Impatient { looks_left: AtomicU32::new(looks_left) };
        SimArm.run(&scenario, &PolicySpec::plain("fifo"), 1, Events::Omitted, &watch).map(|_| ())
    };
    assert_eq!(run(3), Err(Failure::Interrupted));
    assert_eq!(run(u32::MAX), Ok(()));
}
