//! What the machine does beside running threads: each mechanism changes what it should, and without it
//! nothing changes.

mod common;

use common::{run_under, scenario, service, setup};
use model::change::ChangeKind;
use model::event::{Event, Interrupt, What};
use model::scenario::{
    Alteration, AlterationKind, Architecture, Arrivals, Cpuset, Frequency, Group, Home, IdleState,
    IdleStates, InterruptCpus, Interrupts, KernelState, Kind, Machine, Mechanisms, Memory,
    MemoryUse, Migration, Partition, Program, Scenario, Service, Wait,
};
use model::trace::Request;
use model::{CpuId, Nanos, Trace};
use sim::EventLog;
use sim::class::fair::Eevdf;
use sim::events::Tournament;

fn run(scenario: &Scenario) -> Trace {
    run_under(scenario, Eevdf::seeded(&scenario.machine, &scenario.groups, 1))
}

fn recorded(scenario: &Scenario) -> (Trace, Vec<Event>) {
    let mut log = EventLog::default();
    let class = Eevdf::seeded(&scenario.machine, &scenario.groups, 1);
    let run = sim::simulate_observed::<_, Tournament, _>(&setup(scenario), class, &mut log);
    (run.expect("the run succeeds").trace, log.events)
}

fn with(scenario: &Scenario, mechanisms: Mechanisms) -> Scenario {
    Scenario { mechanisms, ..scenario.clone() }
}

/// A service of 100 us on so many CPUs, short of all that runs beside it.
fn quick(cpus: u32, utilisation: f64) -> Scenario {
    let short = |service: Service| Scenario {
        duration: Nanos::from_secs(2),
        warm_up: Nanos::from_millis(100),
        ..scenario(cpus, vec![("service", Kind::Service(service))])
    };
    short(service(100, utilisation))
}

fn quantile_us(trace: &Trace, quantile: f64) -> f64 {
    let requests = trace.programs[0].requests.iter();
    let inside = requests.filter(|request| trace.window.contains(request.intended));
    let mut all: Vec<Nanos> = inside.map(Request::latency).collect();
    all.sort_unstable();
    all[(all.len() as f64 * quantile) as usize].0 as f64 / 1e3
}

fn interrupts(cpus: InterruptCpus) -> Mechanisms {
    let (hard, soft) = (Nanos::from_micros(2), Nanos::from_micros(8));
    let interrupts = Interrupts { cpus, hard, soft };
    Mechanisms { interrupts: Some(interrupts), ..Mechanisms::default() }
}

/// The CPUs that interrupts of a kind began on, and how many.
fn begun(events: &[Event], wanted: Interrupt) -> Vec<u32> {
    let of = |event: &Event| match event.what {
        What::InterruptBegin { cpu, kind, .. } if kind == wanted => Some(cpu.0),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

#[test]
fn each_request_takes_a_softirq_of_a_cpu_before_its_thread_wakes_up() {
    let plain = quick(4, 0.3);
    let (trace, events) = recorded(&with(&plain, interrupts(InterruptCpus::Spread)));
    let requests = trace.programs[0].requests.len();
    let (hard, soft) = (begun(&events, Interrupt::Hard), begun(&events, Interrupt::Soft));
    assert_eq!(soft.len(), requests);
    assert!(
        hard.len() < requests && hard.len() * 10 > requests * 8,
        "{} of {requests}",
        hard.len()
    );
    assert!((0..4).all(|cpu| soft.iter().filter(|on| **on == cpu).count() > requests / 5));
    let waits = trace.programs[0].requests.iter().map(|request| (request.started - request.sent).0);
    assert!(waits.min().unwrap() >= 8_000, "a softirq, even where the interrupt was for another");
    // The control: a machine without interrupts.
    let (bare, none) = recorded(&plain);
    assert!(begun(&none, Interrupt::Soft).is_empty());
    assert_eq!(bare.programs[0].requests.iter().map(|r| r.started - r.sent).min(), Some(Nanos(0)));
}

/// Of the requests that the client held for a connection, the share on which a worker went on without
/// sleeping.
fn went_on(cpus: u32, mechanisms: Mechanisms) -> f64 {
    let few = Service { connections: 4, ..service(500, 0.9 / f64::from(cpus)) };
    let held = scenario(cpus, vec![("service", Kind::Service(few))]);
    let short = Scenario { duration: Nanos::from_secs(4), ..held };
    let (trace, events) = recorded(&with(&short, mechanisms));
    let requests = &trace.programs[0].requests;
    let held = requests.iter().filter(|request| request.sent > request.intended).count();
    assert!(held > requests.len() / 10, "{held} of {}", requests.len());
    let slept = events.iter().filter(|event| matches!(event.what, What::Block { .. })).count();
    (requests.len() - slept) as f64 / held as f64
}

#[test]
fn a_worker_that_finds_its_next_request_does_not_sleep() {
    let dedicated = interrupts(InterruptCpus::Dedicated);
    for (cpus, machine) in [(1, Mechanisms::default()), (2, dedicated)] {
        let share = |next_request_ready| {
            went_on(cpus, Mechanisms { next_request_ready, ..machine.clone() })
        };
        assert!((share(0.25) - 0.25).abs() < 0.03, "{}", share(0.25));
        // The controls.
        assert_eq!((share(0.0), share(1.0)), (0.0, 1.0));
    }
}

/// How much longer than its service the median request runs, where every CPU spins beside it.
fn stretched_us(mechanisms: Mechanisms) -> f64 {
    let trace = run(&with(&quick(4, 0.7), mechanisms));
    quantile_us(&trace, 0.99)
}

#[test]
fn interrupts_slow_the_running_thread_unless_they_have_a_dedicated_cpu() {
    let spread = interrupts(InterruptCpus::Spread);
    let heavy = |mut mechanisms: Mechanisms| {
        let interrupts = mechanisms.interrupts.as_mut().unwrap();
        interrupts.soft = Nanos::from_micros(20);
        mechanisms
    };
    let (none, light) = (stretched_us(Mechanisms::default()), stretched_us(spread.clone()));
    let more = stretched_us(heavy(spread));
    assert!(none < light && light < more, "{none} {light} {more}");
    let own = with(&quick(4, 0.4), interrupts(InterruptCpus::Dedicated));
    let (trace, events) = recorded(&own);
    assert!(begun(&events, Interrupt::Soft).iter().all(|cpu| *cpu == 3));
    let on_last =
        |event: &Event| matches!(event.what, What::Switch { cpu: CpuId(3), to: Some(_), .. });
    assert!(!events.iter().any(on_last), "no program runs on the interrupts' CPU");
    assert!(trace.programs[0].requests.iter().all(|request| !request.is_lost()));
    // Its threads are where the list says nothing of them.
    let (_, listed) =
        recorded(&with(&quick(4, 0.4), interrupts(InterruptCpus::On(vec![CpuId(3)]))));
    assert!(listed.iter().any(on_last));
}

fn idle(exit_us: u64, limit: Nanos) -> Mechanisms {
    let exit = Nanos::from_micros(exit_us);
    let state = IdleState { name: "C6".to_string(), exit, residency: Nanos::from_micros(600) };
    let idle = IdleStates { states: vec![state], latency_limit: limit };
    Mechanisms { idle: Some(idle), ..Mechanisms::default() }
}

#[test]
fn a_cpu_that_slept_wakes_up_late_at_low_load_and_not_under_a_limit() {
    let plain = quick(1, 0.05);
    let quantile = |mechanisms| quantile_us(&run(&with(&plain, mechanisms)), 0.5);
    let (awake, asleep) = (quantile(Mechanisms::default()), quantile(idle(133, Nanos::NEVER)));
    assert!((asleep - awake - 133.0).abs() < 5.0, "{awake} {asleep}");
    assert_eq!(quantile(idle(133, Nanos::from_micros(100))), awake, "the control: PM QoS");
    // Where gaps are shorter than the residency no CPU sleeps.
    let busy = quick(1, 0.8);
    let (trace, events) = recorded(&with(&busy, idle(133, Nanos::NEVER)));
    let exits = events.iter().filter(|e| matches!(e.what, What::IdleExit { .. })).count();
    assert!(exits * 50 < trace.programs[0].requests.len(), "{exits} exits");
}

#[test]
fn the_clock_ramps_up_with_the_load() {
    let frequency = Frequency { lowest: 0.4, sampling: Nanos::from_millis(10) };
    let mechanisms = || Mechanisms { frequency: Some(frequency), ..Mechanisms::default() };
    let median = |load, mechanisms| quantile_us(&run(&with(&quick(1, load), mechanisms)), 0.5);
    let (slow, fast) = (median(0.05, mechanisms()), median(0.05, Mechanisms::default()));
    assert!(slow > 1.9 * fast, "{slow} {fast}");
    // A CPU that spins is at its best: rounds of one thread tell.
    let spin = |mechanisms| {
        let kind = Kind::ForkJoin { threads: 1, work: Nanos::from_millis(10), wait: Wait::Block };
        run(&with(&scenario(1, vec![("loop", kind)]), mechanisms)).programs[0].rounds
    };
    assert!(spin(Mechanisms::default()) - spin(mechanisms()) <= 3);
}

/// Rounds of two threads, each on a CPU of its own.
fn rounds(machine: Machine, mechanisms: Mechanisms, memory: MemoryUse) -> u64 {
    let kind = Kind::ForkJoin { threads: 2, work: Nanos::from_millis(1), wait: Wait::Block };
    let mut scenario = scenario(2, vec![("loop", kind)]);
    (scenario.machine, scenario.mechanisms) = (machine, mechanisms);
    scenario.programs[0].memory = memory;
    run(&scenario).programs[0].rounds
}

#[test]
fn busy_siblings_share_a_core() {
    let pair = Machine { cpus: 2, smt: 2, ..Machine::ONE_CPU };
    let gain = |sibling_gain| Mechanisms { sibling_gain, ..Mechanisms::default() };
    let of = |machine, sibling_gain| rounds(machine, gain(sibling_gain), MemoryUse::LITTLE) as f64;
    let free = of(pair, None);
    assert!((of(pair, Some(0.25)) / free - 0.625).abs() < 0.01);
    assert!((of(pair, Some(1.0)) / free - 1.0).abs() < 0.01);
    let cores = Machine { smt: 1, ..pair };
    assert!((of(cores, Some(0.25)) / free - 1.0).abs() < 0.01, "the control: two cores");
}

#[test]
fn memory_of_another_node_is_slower_for_memory_bound_threads() {
    let nodes = Machine { cpus: 2, smt: 1, llcs: 2, nodes: 2 };
    let memory = |home| Mechanisms {
        memory: Some(Memory { remote: 1.6, contention: 0.0, home }),
        ..Mechanisms::default()
    };
    let half = MemoryUse { bound: 0.5, ..MemoryUse::LITTLE };
    let free = rounds(nodes, Mechanisms::default(), half) as f64;
    // One of the two is away from the process's memory, and the round waits for it: 1 / 1.3.
    let of = |machine, home, used| rounds(machine, memory(home), used) as f64 / free;
    assert!((of(nodes, Home::Process, half) - 1.0 / 1.3).abs() < 0.01);
    assert!((of(nodes, Home::Thread, half) - 1.0).abs() < 0.01, "each has its own");
    assert!((of(nodes, Home::Process, MemoryUse::LITTLE) - 1.0).abs() < 0.01, "needs none");
    let one = Machine { nodes: 1, ..nodes };
    assert!((of(one, Home::Process, half) - 1.0).abs() < 0.01, "one node");
}

#[test]
fn memory_bound_threads_under_one_cache_slow_each_other() {
    let one = Machine { cpus: 2, ..Machine::ONE_CPU };
    let memory = |contention| Mechanisms {
        memory: Some(Memory { remote: 1.6, contention, home: Home::Process }),
        ..Mechanisms::default()
    };
    let half = MemoryUse { bound: 0.5, ..MemoryUse::LITTLE };
    let free = rounds(one, Mechanisms::default(), half) as f64;
    // Half of its time takes half as long again beside one that asks for half of the time: 1 / 1.25.
    let of = |machine, contention, used| rounds(machine, memory(contention), used) as f64 / free;
    assert!((of(one, 1.0, half) - 0.8).abs() < 0.01);
    assert!((of(one, 0.0, half) - 1.0).abs() < 0.01, "the control: off");
    assert!((of(one, 1.0, MemoryUse::LITTLE) - 1.0).abs() < 0.01, "needs no memory");
    let caches = Machine { llcs: 2, ..one };
    assert!((of(caches, 1.0, half) - 1.0).abs() < 0.01, "a cache each");
}

#[test]
fn a_memory_bound_batch_slows_its_neighbour_only_while_it_runs() {
    let p50_us = |contention, bound, batch_threads| {
        let mut both = quick(4, 0.1);
        let batch = Kind::Batch { threads: batch_threads };
        both.programs.push(Program::new("batch", batch));
        both.programs[0].memory.bound = 0.5;
        both.programs[1].memory.bound = bound;
        both.mechanisms.memory = Some(Memory { remote: 1.0, contention, home: Home::Process });
        quantile_us(&run(&both), 0.5)
    };
    let alone = p50_us(0.0, 1.0, 2);
    // Two CPUs that always wait for memory make an access three times as long, and half of a service is
    // accesses.
    let service_us = 100.0;
    let slowed = p50_us(1.0, 1.0, 2) - alone;
    assert!(
        slowed > 0.9 * service_us && slowed < 1.5 * service_us,
        "{slowed} us more than {alone}"
    );
    assert!((p50_us(1.0, 0.0, 2) - alone).abs() < 0.2 * service_us, "a batch that needs no memory");
}

#[test]
fn interrupts_between_cpus_delay_a_thread_woken_elsewhere() {
    let two = Machine { cpus: 2, ..Machine::ONE_CPU };
    let kicks =
        |us| Mechanisms { reschedule_interrupt: Nanos::from_micros(us), ..Mechanisms::default() };
    let of = |machine, us| rounds(machine, kicks(us), MemoryUse::LITTLE) as f64;
    // A round is 1 ms, and the last thread wakes the other one 100 us late.
    assert!((of(two, 100) / of(two, 0) - 1.0 / 1.1).abs() < 0.01);
    let alone = Machine::ONE_CPU;
    assert_eq!(of(alone, 100), of(alone, 0), "the control: no other CPU to be asked");
    let (trace, events) = recorded(&with(&quick(2, 0.3), kicks(100)));
    let asked = begun(&events, Interrupt::Hard).len();
    // Now and then a tick balances for an idle CPU.
    assert!(100 * asked < trace.programs[0].requests.len(), "requests come from outside: {asked}");
    let mut timers = quick(2, 0.3);
    let (run, period) = (Nanos::from_micros(500), Nanos::from_millis(5));
    timers.programs.push(Program::new("storm", Kind::Periodic { threads: 4, run, period }));
    let (_, events) = recorded(&with(&timers, kicks(100)));
    let ends = |event: &&Event| matches!(event.what, What::InterruptEnd { .. });
    let begun = begun(&events, Interrupt::Hard).len();
    assert!(begun > 10 && events.iter().filter(ends).count().abs_diff(begun) <= 2);
}

#[test]
fn ticks_take_time_from_the_running_thread() {
    let one = Machine { cpus: 2, ..Machine::ONE_CPU };
    let of = |us| {
        let timer_interrupt = Nanos::from_micros(us);
        let mechanisms = Mechanisms { timer_interrupt, ..Mechanisms::default() };
        rounds(one, mechanisms, MemoryUse::LITTLE) as f64
    };
    // 250 a second of 400 us each.
    assert!((of(400) / of(0) - 0.9).abs() < 0.01);
}

#[test]
fn a_move_costs_what_the_file_says_and_more_with_more_state() {
    let spans = |us: u64| Migration {
        core: Nanos::ZERO,
        llc: Nanos::from_micros(us),
        node: Nanos::from_micros(us),
        machine: Nanos::from_micros(us),
    };
    let of = |us, bytes| {
        let mut scenario = quick(4, 0.3);
        scenario.mechanisms.migration = Some(spans(us));
        scenario.programs[0].memory.working_set_bytes = bytes;
        run(&scenario)
    };
    let (free, dear) = (of(0, 16 << 10), of(50, 16 << 10));
    let slower_us = quantile_us(&dear, 0.9) - quantile_us(&free, 0.9);
    assert!(slower_us > 25.0, "{slower_us}");
    assert!(of(5, 160 << 10) == dear, "ten times the state at a tenth of the cost");
}

#[test]
fn a_kernels_lock_is_felt_with_many_cpus_and_less_with_more_kernels() {
    let p99 = |cpus, kernels, transfer| {
        let mut scenario = quick(cpus, 0.3);
        if let Kind::Service(service) = &mut scenario.programs[0].kind {
            service.architecture = Architecture::Partitioned { workers: cpus };
            service.connections = 8 * cpus;
            service.service_time = Nanos::from_micros(20);
        }
        let kernel = KernelState { hold: Nanos(1_500), transfer, kernels, exit: Nanos::ZERO };
        scenario.mechanisms.kernel = Some(kernel);
        quantile_us(&run(&scenario), 0.99)
    };
    let transfer = Nanos(100);
    let (few, many) = (p99(4, 1, transfer), p99(40, 1, transfer));
    assert!(1.2 * few < many, "{few} {many}");
    let apart = p99(40, 10, transfer);
    assert!(apart < 1.1 * few, "{few} {apart}");
    assert!(p99(40, 1, Nanos::ZERO) < many, "waiting CPUs make the hand-over longer");
}

fn grouped(cpus: Vec<u32>, partition: Partition) -> Scenario {
    let kind = || Kind::Batch { threads: 4 };
    let mut scenario = scenario(4, vec![("inside", kind()), ("outside", kind())]);
    let cpus = cpus.into_iter().map(CpuId).collect();
    let cpuset = Some(Cpuset { cpus, partition });
    scenario.groups = vec![Group { cpuset, ..Group::new("cell", None, 100) }];
    scenario.programs[0].group = Some(0);
    scenario.duration = Nanos::from_secs(2);
    scenario
}

/// CPUs that threads of each program ran on, and how often threads moved.
fn places(scenario: &Scenario) -> [Vec<u32>; 2] {
    let (trace, events) = recorded(scenario);
    [0, 1].map(|program| {
        let of = |event: &Event| match event.what {
            What::Switch { cpu, to: Some(thread), .. } => {
                (trace.threads[thread.index()].program == program).then_some(cpu.0)
            }
            _ => None,
        };
        let mut cpus: Vec<u32> = events.iter().filter_map(of).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    })
}

#[test]
fn cpusets_hold_and_partitions_keep_others_out() {
    let both = |partition| places(&grouped(vec![2, 3], partition));
    assert_eq!(both(Partition::Member), [vec![2, 3], vec![0, 1, 2, 3]]);
    assert_eq!(both(Partition::Root), [vec![2, 3], vec![0, 1]]);
    assert_eq!(both(Partition::Isolated), [vec![2, 3], vec![0, 1]]);
    let pinned = grouped(vec![2, 3], Partition::Isolated).changes();
    let first = pinned.iter().take(4).map(|change| change.kind.clone());
    let on = first.map(|kind| match kind {
        ChangeKind::Affinity { cpus, .. } => cpus,
        other => panic!("{other:?}"),
    });
    assert_eq!(on.collect::<Vec<_>>(), [2, 3, 2, 3].map(|cpu| [CpuId(cpu)].into()));
}

#[test]
fn children_stay_inside_their_parents_and_take_partitions_from_them() {
    let mut nested = grouped(vec![1, 2, 3], Partition::Root);
    let cpuset = Some(Cpuset { cpus: vec![CpuId(3)], partition: Partition::Root });
    let child = Group { cpuset, ..Group::new("cell/own", Some(0), 100) };
    nested.groups.push(child);
    nested.programs[1].group = Some(1);
    assert_eq!(places(&nested), [vec![1, 2], vec![3]]);
    nested.groups[1].cpuset.as_mut().unwrap().cpus = vec![CpuId(0)];
    assert_eq!(places(&nested)[1], [1, 2, 3], "nothing is left: the parent's");
}

#[test]
fn changes_of_a_scenario_happen_when_they_are_due() {
    let mut scenario = grouped(vec![0, 1, 2, 3], Partition::Member);
    let at = |s: u64, kind| Alteration { at: Nanos::from_secs(s), kind };
    scenario.alterations = vec![
        at(1, AlterationKind::Affinity { program: 1, cpus: vec![CpuId(0)] }),
        at(2, AlterationKind::Offline(CpuId(3))),
        at(2, AlterationKind::Nice { program: 0, nice: 5 }),
        at(2, AlterationKind::Weight { group: 0, weight: 10 }),
    ];
    let (trace, events) = recorded(&scenario);
    let said = |is: fn(&What) -> bool| events.iter().filter(|event| is(&event.what)).count();
    assert_eq!(said(|what| matches!(what, What::Affinity { .. })), 4);
    assert_eq!(said(|what| matches!(what, What::Nice { nice: 5, .. })), 4);
    assert_eq!(said(|what| matches!(what, What::Offline { cpu: CpuId(3) })), 1);
    assert_eq!(said(|what| matches!(what, What::Weight { weight: 10, .. })), 1);
    let late = |event: &&Event| event.at > Nanos::from_secs(1);
    let elsewhere = |event: &Event| match event.what {
        What::Switch { cpu, to: Some(thread), .. } => {
            trace.threads[thread.index()].program == 1 && cpu != CpuId(0)
        }
        _ => false,
    };
    assert!(events.iter().any(elsewhere) && !events.iter().filter(late).any(elsewhere));
}

#[test]
fn the_same_seed_gives_the_same_trace_with_everything_on() {
    let mut all = quick(8, 0.4);
    all.machine = Machine { cpus: 8, smt: 2, llcs: 2, nodes: 2 };
    if let Kind::Service(service) = &mut all.programs[0].kind {
        service.arrivals = Arrivals::Utilisation(0.3);
    }
    all.programs[0].memory = MemoryUse { bound: 0.5, working_set_bytes: 1 << 20 };
    all.mechanisms = Mechanisms {
        interrupts: interrupts(InterruptCpus::Spread).interrupts,
        idle: idle(50, Nanos::NEVER).idle,
        frequency: Some(Frequency { lowest: 0.4, sampling: Nanos::from_millis(10) }),
        sibling_gain: Some(0.25),
        memory: Some(Memory { remote: 1.6, contention: 1.0, home: Home::Thread }),
        kernel: Some(KernelState {
            hold: Nanos(400),
            transfer: Nanos(50),
            kernels: 2,
            exit: Nanos(100),
        }),
        migration: None,
        start_barrier: true,
        client_local: true,
        next_request_ready: 0.1,
        tick_late: Some(Nanos::from_micros(50)),
        turns_end_at_ticks: true,
        request_cost: Some(Nanos(5_000)),
        timer_interrupt: Nanos(1_000),
        reschedule_interrupt: Nanos(1_000),
    };
    let (first, events) = recorded(&all);
    assert!(first == run(&all), "watching changes nothing, and the same seed gives the same");
    assert!(events.is_sorted_by_key(|event| event.at));
    let idle_and_used: u64 = {
        let (start, end) = (&first.usage[0].cpu_time, &first.usage.last().unwrap().cpu_time);
        let used: u64 = start.iter().zip(end).map(|(start, end)| end.0 - start.0).sum();
        used + first.counters.idle.unwrap().0
    };
    assert_eq!(idle_and_used, 8 * first.window.span().0);
}
