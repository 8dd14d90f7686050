//! A bug planted for each rule is caught by that rule; without it the same run passes.

use check::Fault;
use check::rules::NAMES;
use model::change::{Change, ChangeKind};
use model::{CpuId, Nanos, PolicySpec, Scenario, Silent, ThreadId};
use sim::class::Class;
use sim::class::ext::Ext;
use sim::class::rt::{self, Rt};
use sim::costs::Costs;
use sim::events::Tournament;
use sim::{Observer, Setup, simulate_changing};
use swarm::planted::{Bug, Liar, Lie, Planted};
use swarm::{Case, watch};

const HEAD: &str = "# Planted.\nwarm_up = \"0s\"\n";
const SERVICE: &str = "[[program]]\nname = \"s\"\nkind = \"service\"\nservice_time = \"500us\"\n\
                       arrivals = { utilisation = 0.9 }\n";

fn case(machine: &str, programs: &str, policy: &str, duration: &str) -> Case {
    let text = format!("{HEAD}duration = \"{duration}\"\n[machine]\n{machine}\n{programs}");
    let scenario = Scenario::read(&text, "planted").expect("a valid scenario");
    let policy = PolicySpec::parse(policy).expect("a valid policy");
    Case { seed: 1, scenario, policy, changes: Vec::new() }
}

fn four_cpus() -> Case {
    case("cpus = 4", SERVICE, "cts", "2s")
}

/// The class of a case.
fn class(case: &Case) -> Ext {
    Ext::new(&case.scenario, &case.policy, case.seed).expect("a known policy")
}

fn simulate<O: Observer>(
    case: &Case,
    class: impl Class,
    observer: O,
) -> Result<sim::Run<Tournament>, model::Failure> {
    let setup = Setup {
        scenario: &case.scenario,
        policy: "planted",
        kernel: "modelled",
        seed: case.seed,
        realtime: None,
        costs: Costs::DEFAULT,
        watch: &Silent,
    };
    simulate_changing(&setup, class, case.changes.clone(), observer)
}

/// The rules that a class breaks in a case.
fn broken(case: &Case, class: impl Class) -> Vec<&'static str> {
    let outcome = watch(case, |watcher| simulate(case, class, watcher));
    outcome.faults.iter().map(|fault| fault.rule).collect()
}

/// A rule is broken by a bug, and none without it.
fn catches(rule: &str, case: &Case, bug: Bug) {
    let found = broken(case, Planted::new(class(case), bug));
    assert!(found.contains(&rule), "{bug:?} breaks {found:?}, not `{rule}`");
    catches_nothing(rule, case);
}

/// A rule is broken by a class that was loaded with something else than was promised.
fn catches_other(rule: &str, case: &Case, loaded: &Case) {
    let found = broken(case, class(loaded));
    assert!(found.contains(&rule), "{found:?}, not `{rule}`");
    catches_nothing(rule, case);
}

#[test]
fn every_rule_has_its_bug_here() {
    let text = include_str!("planted.rs");
    for name in NAMES {
        let caught = [format!("catches(\"{name}\""), format!("catches_other(\"{name}\"")];
        let asserted = [format!("contains(&\"{name}\")"), format!("catches_nothing(\"{name}\"")];
        let tested = caught.iter().chain(&asserted).any(|call| text.contains(call));
        assert!(tested, "{name}");
    }
}

#[test]
fn a_lost_wake_up() {
    let case = case("cpus = 4", SERVICE, "rr", "2s");
    let class = || Rt::new(rt::Kind::RoundRobin, &case.scenario.machine);
    let found = broken(&case, Planted::new(class(), Bug::LosesWakeUp));
    assert!(found.contains(&"lost"), "{found:?}");
    assert!(broken(&case, class()).is_empty(), "the control");
}

#[test]
fn a_thread_moved_against_its_affinity() {
    let mut case = four_cpus();
    let pin = |thread| Change {
        at: Nanos::ZERO,
        kind: ChangeKind::Affinity { thread: ThreadId(thread), cpus: [CpuId(1), CpuId(2)].into() },
    };
    case.changes = (0..8).map(pin).collect();
    catches("affinity", &case, Bug::IgnoresAffinity);
}

/// The faults that a watcher sees that is lied to.
fn lied_to(case: &Case, lie: Lie) -> Vec<Fault> {
    watch(case, |watcher| simulate(case, class(case), Liar::new(watcher, lie))).faults
}

#[test]
fn a_thread_that_runs_on_a_cpu_that_went() {
    let case = four_cpus();
    let found = lied_to(&case, Lie::Gone(CpuId(1)));
    let offline = |fault: &&Fault| fault.to_string().contains("is offline");
    assert_eq!(found.iter().find(offline).map(|fault| fault.rule), Some("affinity"), "{found:?}");
    assert!(broken(&case, class(&case)).is_empty(), "the control");
}

#[test]
fn a_thread_that_waits_for_half_a_minute() {
    // Alone on its CPU it came far ahead of those that then return for long.
    let programs = "[[program]]\nname = \"light\"\nkind = \"batch\"\nnice = 19\n\
                    [[program]]\nname = \"hogs\"\nkind = \"batch\"\nthreads = 2\n\
                    [[program]]\nname = \"others\"\nkind = \"daemon\"\nthreads = 4\n\
                    run = \"40s\"\nsleep = \"5s\"\n";
    let case = case("cpus = 4", programs, "cts:infeasible=off", "120s");
    let mut loaded = case.clone();
    loaded.policy =
        PolicySpec::parse("cts:infeasible=off:starvation_limit=off").expect("a valid policy");
    catches_other("lost", &case, &loaded);
}

#[test]
fn a_cpu_that_idles_beside_work() {
    catches("work conserving", &four_cpus(), Bug::IdlesCpu);
}

#[test]
fn a_cpu_that_idles_for_long_beside_work() {
    let programs = "[[program]]\nname = \"d\"\nkind = \"daemon\"\nthreads = 6\n\
                    run = \"20ms\"\nsleep = \"20ms\"\n";
    let case = case("cpus = 4", programs, "cts:queue=cpu", "5s");
    let mut loaded = case.clone();
    loaded.policy = PolicySpec::parse("cts:queue=cpu:balance=none").expect("a valid policy");
    catches_other("idle beside work", &case, &loaded);
}

/// The control of a bug that is not planted in the class: without it nothing is found.
fn catches_nothing(rule: &str, case: &Case) {
    let control = watch(case, |watcher| simulate(case, class(case), watcher)).faults;
    assert!(control.is_empty(), "`{rule}`: the control: {control:?}");
}

#[test]
fn a_group_that_takes_more_than_its_weight() {
    let groups = "[[group]]\nname = \"turns\"\n[[group]]\nname = \"heavy\"\nweight = 1000\n\
                  [[program]]\nname = \"turns\"\nkind = \"daemon\"\ngroup = \"turns\"\nthreads = 100\n\
                  run = \"2ms\"\nsleep = \"250ms\"\n\
                  [[program]]\nname = \"heavy\"\nkind = \"batch\"\ngroup = \"heavy\"\nthreads = 4\n";
    let case = case("cpus = 4", groups, "rearguard", "20s");
    let mut loaded = case.clone();
    loaded.scenario.groups[0].weight = 300;
    catches_other("held to its weight", &case, &loaded);
}

#[test]
fn a_group_that_waits_for_what_its_weight_is_worth() {
    let groups = "[[group]]\nname = \"bound\"\nweight = 300\ncpus = [0, 1]\n[[group]]\nname = \"all\"\n\
                  [[program]]\nname = \"bound\"\nkind = \"batch\"\ngroup = \"bound\"\nthreads = 4\n\
                  [[program]]\nname = \"all\"\nkind = \"batch\"\ngroup = \"all\"\nthreads = 8\n";
    let case = case("cpus = 4", groups, "rearguard", "20s");
    let mut loaded = case.clone();
    loaded.scenario.groups[0].weight = 3;
    catches_other("isolation", &case, &loaded);
}

#[test]
fn groups_whose_quotas_are_forgotten_or_never_filled() {
    let group = "[[group]]\nname = \"held\"\nmax = \"50ms/100ms\"\n\
                 [[program]]\nname = \"b\"\nkind = \"batch\"\ngroup = \"held\"\nthreads = 4\n";
    let case = case("cpus = 2", group, "cts", "2s");
    catches("quota", &case, Bug::IgnoresQuotas);
    catches("quota", &case, Bug::ForgetsTimer);
}

#[test]
fn a_group_that_takes_more_than_its_budget() {
    let groups = "[[group]]\nname = \"spins\"\npromise = \"1ms=1%\"\nat_most = \"40%\"\n\
                  [[group]]\nname = \"others\"\n\
                  [[program]]\nname = \"spins\"\nkind = \"daemon\"\ngroup = \"spins\"\nthreads = 8\n\
                  run = \"4ms\"\nsleep = \"100us\"\n\
                  [[program]]\nname = \"others\"\nkind = \"batch\"\ngroup = \"others\"\nthreads = 4\n";
    let case = case("cpus = 4", groups, "rearguard", "20s");
    let mut loaded = case.clone();
    let promise = loaded.scenario.groups[0].promise.as_mut().expect("a promise");
    promise.at_most_per_million = 900_000;
    catches_other("promise", &case, &loaded);
}

#[test]
fn two_starts_that_are_swapped() {
    let one = case("cpus = 1", SERVICE, "cts", "2s");
    catches("order", &one, Bug::SwapsStarts);
}

/// Promised is the order in which requests came, and loaded the one in which threads woke. Two CPUs bring
/// requests to the store at different speeds.
#[test]
fn requests_that_are_served_in_another_order_than_they_came() {
    let chain = "[[program]]\nname = \"proxy\"\nkind = \"service\"\n\
                 service_time = { mean = \"400us\", law = \"exponential\" }\n\
                 arrivals = { rate = \"2k/s\" }\n\
                 [[program]]\nname = \"store\"\nkind = \"service\"\nbehind = \"proxy\"\n\
                 service_time = { mean = \"400us\", law = \"exponential\" }\n";
    let case = case("cpus = 2", chain, "cts:order=arrival", "5s");
    let mut loaded = case.clone();
    loaded.policy = PolicySpec::parse("cts").expect("a valid policy");
    catches_other("order", &case, &loaded);
}

#[test]
fn a_thread_on_two_cpus() {
    catches("one place", &four_cpus(), Bug::RunsTwice);
}

#[test]
fn cpu_time_charged_twice() {
    let batch = "[[program]]\nname = \"b\"\nkind = \"batch\"\nthreads = 6\n";
    catches("accounts", &case("cpus = 4", batch, "cts", "2s"), Bug::ChargesTwice);
}

#[test]
fn a_stamp_from_the_past() {
    let case = four_cpus();
    let found: Vec<&str> = lied_to(&case, Lie::Late).iter().map(|fault| fault.rule).collect();
    assert!(found.contains(&"time"), "{found:?}");
    assert!(broken(&case, class(&case)).is_empty(), "the control");
}

#[test]
fn groups_whose_weights_are_forgotten() {
    let groups = "[[group]]\nname = \"a\"\nweight = 300\n[[group]]\nname = \"b\"\n\
                  [[program]]\nname = \"a\"\nkind = \"batch\"\nthreads = 6\ngroup = \"a\"\n\
                  [[program]]\nname = \"b\"\nkind = \"batch\"\nthreads = 6\ngroup = \"b\"\n";
    let case = case("cpus = 4", groups, "cts", "20s");
    let mut loaded = case.clone();
    loaded.scenario.groups[0].weight = 100;
    catches_other("share", &case, &loaded);
}

#[test]
fn threads_that_are_never_balanced() {
    let batch = "[[program]]\nname = \"b\"\nkind = \"batch\"\nthreads = 6\n";
    let case = case("cpus = 4", batch, "gvts", "20s");
    let mut loaded = case.clone();
    loaded.policy = PolicySpec::parse("gvts:balance=none").expect("a valid policy");
    catches_other("lag", &case, &loaded);
}
