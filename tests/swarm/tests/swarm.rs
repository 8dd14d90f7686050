//! Some hundred seeds under every checker; a larger run is `make swarm`.

use swarm::{Case, run};

/// Half of the seeds: the two halves run beside each other.
const SEEDS: u64 = 100;

#[test]
fn the_first_seeds_pass() {
    pass(1);
}

#[test]
fn the_next_seeds_pass() {
    pass(1 + SEEDS);
}

fn pass(first: u64) {
    for seed in first..first + SEEDS {
        let case = Case::draw(seed);
        let faults = run(&case).faults;
        let said: Vec<String> = faults.iter().map(|fault| fault.to_string()).collect();
        assert!(
            faults.is_empty(),
            "{case}{}\nreplay: cargo run --release --package swarm -- --seed {seed}",
            said.join("\n")
        );
    }
}

#[test]
fn a_seed_is_the_same_case_and_the_same_run_each_time() {
    let describe = |seed| {
        let case = Case::draw(seed);
        (case.to_string(), run(&case).events)
    };
    assert_eq!(describe(7), describe(7));
    assert_ne!(describe(7).0, describe(8).0);
}

#[test]
fn seeds_draw_all_that_there_is() {
    let cases: Vec<Case> = (1..=1_000).map(Case::draw).collect();
    let some = |what: &dyn Fn(&Case) -> bool| cases.iter().any(what);
    for (name, _) in policy_native::policies() {
        assert!(some(&|case| case.policy.name == name), "{name}");
    }
    for kind in ["service", "batch", "daemon", "periodic", "fork-join"] {
        let has = |case: &Case| case.scenario.programs.iter().any(|p| p.kind.word() == kind);
        assert!(some(&has), "{kind}");
    }
    assert!(some(&|case| case.scenario.programs.iter().any(|p| p.process.is_some())));
    assert!(some(&|case| case.scenario.machine.cpus == 1));
    assert!(some(&|case| case.scenario.machine.cpus == 64));
    for mechanism in
        ["interrupts", "idle", "frequency", "sibling_gain", "memory", "kernel", "migration"]
    {
        let on = format!("{mechanism}: Some");
        let has = |case: &Case| format!("{:?}", case.scenario.mechanisms).contains(&on);
        assert!(some(&has), "{mechanism}");
    }
    assert!(some(&|case| case.scenario.groups.iter().any(|group| group.cpuset.is_some())));
    let promised =
        |case: &Case| case.scenario.groups.iter().filter(|g| g.promise.is_some()).count();
    assert!(some(&|case| promised(case) > 1));
    for change in ["Affinity", "Nice", "Weight", "Offline", "Online"] {
        let has =
            |case: &Case| case.changes.iter().any(|c| format!("{:?}", c.kind).starts_with(change));
        assert!(some(&has), "{change}");
    }
}
