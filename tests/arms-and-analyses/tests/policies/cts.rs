//! What `cts` promises, on the modelled kernel. Every promise stands beside a run without the rule that keeps
//! it.

use crate::common::{scenario, service, setup, share};
use crate::tails::{inversions, tails};
use model::law::Law;
use model::scenario::{Group, Kind, Machine, Scenario, Service};
use model::{Nanos, PolicySpec, Trace};
use sim::class::ext::Ext;

fn load(scenario: &Scenario, policy: &str) -> Ext {
    let spec = PolicySpec::parse(policy).expect("a valid policy");
    Ext::new(scenario, &spec, 1).expect("a known policy")
}

fn run(scenario: &Scenario, policy: &str) -> Trace {
    crate::common::run_under(scenario, load(scenario, policy))
}

fn excess(scenario: &Scenario, policy: &str, quantile: f64) -> f64 {
    tails(scenario, &run(scenario, policy)).excess(quantile)
}

fn batch(threads: u32) -> Kind {
    Kind::Batch { threads }
}

fn null_rpc() -> Scenario {
    let mut scenario = scenario(1, vec![("service", Kind::Service(service(500, 0.8)))]);
    scenario.duration = Nanos::from_secs(30);
    scenario
}

#[test]
fn a_service_alone_has_the_ideal_tail_and_other_orders_have_not() {
    let scenario = null_rpc();
    let fcfs = run(&scenario, "cts");
    assert_eq!(inversions(&fcfs), [0, 0]);
    let at = tails(&scenario, &fcfs).excess(0.999);
    assert!((0.98..1.02).contains(&at), "{at}");
    for control in ["lcfs", "random", "cts:order=lcfs"] {
        let trace = run(&scenario, control);
        assert!(inversions(&trace).iter().all(|pairs| *pairs > 1_000), "{control}");
        assert!(tails(&scenario, &trace).excess(0.999) > 2.0, "{control}");
    }
}

#[test]
fn services_longer_than_a_slice_keep_their_place() {
    let mut scenario = scenario(1, vec![("service", Kind::Service(service(8_000, 0.8)))]);
    scenario.duration = Nanos::from_secs(120);
    scenario.slice = Some(Nanos::from_millis(4));
    let head = run(&scenario, "cts");
    assert_eq!(inversions(&head), [0, 0]);
    let at = tails(&scenario, &head).excess(0.99);
    assert!((0.98..1.02).contains(&at), "{at}");
    let tail = run(&scenario, "cts:requeue=tail");
    assert!(tails(&scenario, &tail).excess(0.99) > 1.5);
    // Round robin starts requests in order and, where some are longer than others, completes them in another.
    let mut uneven = scenario.clone();
    if let Kind::Service(service) = &mut uneven.programs[0].kind {
        service.service_law = Law::Exponential;
    }
    let [head, tail] = ["cts", "cts:requeue=tail"].map(|policy| inversions(&run(&uneven, policy)));
    assert!(tail[1] > 1_000 && tail[1] > 20 * head[1], "{head:?} {tail:?}");
    let lcfs = run(&scenario, "lcfs");
    assert!(inversions(&lcfs).iter().all(|pairs| *pairs > 1_000));
    assert!(tails(&scenario, &lcfs).excess(0.99) > 3.0);
}

#[test]
fn a_service_of_many_threads_gets_what_they_are_due_beside_a_hog() {
    let programs = vec![("service", Kind::Service(service(500, 0.8))), ("hog", batch(1))];
    let scenario = scenario(1, programs);
    let threads = share(&run(&scenario, "cts"), 0);
    assert!(threads >= 0.78, "{threads}");
    let processes = share(&run(&scenario, "cts:fair=process"), 0);
    assert!((processes - 0.5).abs() < 0.02, "{processes}");
}

#[test]
fn waking_threads_interrupt_hogs() {
    let programs = vec![("service", Kind::Service(service(500, 0.4))), ("hogs", batch(4))];
    let scenario = scenario(1, programs);
    let with = excess(&scenario, "cts", 0.99);
    assert!(with < 1.1, "{with}");
    let without = excess(&scenario, "cts:preempt=off", 0.99);
    assert!(without > 3.0, "{without}");
    let long_slices = excess(&scenario, "cts:preempt=off:slice=20ms", 0.99);
    assert!(long_slices > 9.0, "{long_slices}");
}

/// Programs of 8 and 12 spinning threads on a machine, each in a group of its own or both in the root.
fn eight_and_twelve(machine: Machine, grouped: bool) -> Scenario {
    let mut scenario = scenario(machine.cpus, vec![("eight", batch(8)), ("twelve", batch(12))]);
    scenario.machine = machine;
    if grouped {
        for (index, name) in ["a", "b"].into_iter().enumerate() {
            scenario.groups.push(Group::new(name, None, 100));
            scenario.programs[index].group = Some(index);
        }
    }
    scenario
}

#[test]
fn equal_groups_share_evenly_whatever_they_hold() {
    let two_caches = Machine { cpus: 16, smt: 2, llcs: 2, nodes: 2 };
    let one_cache = Machine { cpus: 4, ..Machine::ONE_CPU };
    for machine in [Machine::ONE_CPU, one_cache, two_caches] {
        let half = f64::from(machine.cpus) / 2.0;
        let grouped = share(&run(&eight_and_twelve(machine, true), "cts"), 0) / half;
        assert!((grouped - 1.0).abs() < 0.01, "{machine:?} {grouped}");
        let single = share(&run(&eight_and_twelve(machine, false), "cts"), 0) / half;
        assert!((single - 0.8).abs() < 0.01, "{machine:?} {single}");
    }
    // Without balance, chance decides how many threads of a program start at which cache.
    let scenario = eight_and_twelve(two_caches, true);
    let worst = |policy: &str| {
        let run = |seed| {
            let setup = sim::Setup { seed, ..setup(&scenario) };
            sim::simulate(&setup, load(&scenario, policy)).expect("the run succeeds")
        };
        (1..=5).map(|seed| (share(&run(seed), 0) / 8.0 - 1.0).abs()).fold(0.0, f64::max)
    };
    assert!(worst("cts") < 0.01 && worst("cts:balance=none") > 0.02);
}

#[test]
fn nested_groups_share_by_effective_weight() {
    let programs = vec![("x", batch(6)), ("y", batch(9)), ("b", batch(12))];
    let mut scenario = scenario(4, programs);
    let group = |name: &str, parent, weight| Group::new(name, parent, weight);
    scenario.groups = vec![
        group("a", None, 100),
        group("a/x", Some(0), 300),
        group("a/y", Some(0), 100),
        group("b", None, 100),
    ];
    let flat = run(&scenario, "cts");
    for (program, index) in [1, 2, 3].into_iter().enumerate() {
        scenario.programs[program].group = Some(index);
    }
    let nested = run(&scenario, "cts");
    let due = |shares: [f64; 3], trace: &Trace| {
        (0..3).all(|program| (share(trace, program) / 4.0 - shares[program]).abs() < 0.01)
    };
    assert!(due([0.375, 0.125, 0.5], &nested) && !due([0.375, 0.125, 0.5], &flat));
    assert!(due([6.0 / 27.0, 9.0 / 27.0, 12.0 / 27.0], &flat));
}

/// A service of varied requests on four CPUs.
fn varied() -> Scenario {
    let service = Service { service_law: Law::Exponential, ..service(2_000, 0.8) };
    let mut scenario = scenario(4, vec![("service", Kind::Service(service))]);
    scenario.duration = Nanos::from_secs(30);
    scenario
}

#[test]
fn one_queue_for_a_cache_has_the_ideal_tail_and_queues_of_cpus_have_not() {
    let shared = excess(&varied(), "cts", 0.999);
    assert!((0.98..1.02).contains(&shared), "{shared}");
    let split = excess(&varied(), "cts:queue=cpu", 0.999);
    assert!(split > 1.15, "{split}");
}

#[test]
fn idle_cpus_pull_from_the_queues_of_others() {
    let scenario = varied();
    let [steal, none] =
        ["cts:queue=cpu", "cts:queue=cpu:balance=none"].map(|policy| run(&scenario, policy));
    assert!(steal.counters.pulls > Some(1_000) && none.counters.pulls == Some(0));
    let [steal, none] = [steal, none].map(|trace| tails(&scenario, &trace).excess(0.99));
    assert!(none > 1.2 * steal, "{none} {steal}");
}

/// A light thread and two of normal weight have four CPUs to themselves until four more return for 12 s each.
fn light_and_late_comers() -> Scenario {
    let (run, sleep) = (Nanos::from_secs(12), Nanos::from_secs(5));
    let others = Kind::Daemon { threads: 4, run, sleep };
    let programs = vec![("light", batch(1)), ("hogs", batch(2)), ("others", others)];
    let mut scenario = scenario(4, programs);
    scenario.programs[0].nice = 19;
    // From after the others' return: they run from 0 to about 18 s, and again from 23 s.
    scenario.warm_up = Nanos::from_secs(24);
    scenario.duration = Nanos::from_secs(15);
    scenario
}

#[test]
fn no_thread_waits_for_ever_because_it_once_ran_alone() {
    let scenario = light_and_late_comers();
    let slice = Nanos::from_millis(4);
    // Else virtual time goes on without the hogs, and the light thread is not far ahead of it.
    let at = |limit: &str| {
        let policy = format!("cts:infeasible=off:starvation_limit={limit}");
        crate::common::cpu_time(&run(&scenario, &policy), 0)
    };
    assert!(at("on") >= Nanos(2 * slice.0), "{}", at("on"));
    assert_eq!(at("off"), Nanos::ZERO);
}

#[test]
fn a_higher_class_delays_and_changes_nothing_else() {
    let programs = vec![("service", Kind::Service(service(500, 0.5))), ("hogs", batch(4))];
    let scenario = scenario(2, programs);
    let realtime = Some(sim::class::rt::Kind::Fifo);
    let setup = sim::Setup { realtime, ..setup(&scenario) };
    let trace = sim::simulate(&setup, load(&scenario, "cts")).expect("the run succeeds");
    let (first, last) = (&trace.usage[0].cpu_time, &trace.usage.last().unwrap().cpu_time);
    let hogs = (64..68).map(|hog| (last[hog] - first[hog]).as_secs_f64());
    let (least, most) = hogs.fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
    assert!(most - least < 0.1, "{least} {most}");
    assert!((share(&trace, 0) + share(&trace, 1) - 2.0).abs() < 1e-6);
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let scenario = varied();
    let draw = |seed| {
        let spec = PolicySpec::plain("random");
        let class = Ext::new(&scenario, &spec, seed).unwrap();
        sim::simulate(&setup(&scenario), class).unwrap()
    };
    assert!(draw(1) == draw(1) && draw(1) != draw(2));
}
