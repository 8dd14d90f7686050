//! How threads begin with their work: each as it is created, or from a barrier, once all are created and have
//! blocked, as on the other arms.

mod common;

use common::{run_realtime, scenario, service, setup};
use model::change::{Change, ChangeKind};
use model::event::{Event, What};
use model::scenario::{Kind, Mechanisms, Scenario, Service};
use model::{CpuId, Nanos, PolicySpec, ThreadId, Trace};
use sim::EventLog;
use sim::class::Class;
use sim::class::ext::Ext;
use sim::class::fair::{Cfs, Eevdf};
use sim::class::rt;
use sim::costs::Costs;
use sim::events::Tournament;

fn beginning(barrier: bool, scenario: Scenario) -> Scenario {
    let mechanisms = Mechanisms { start_barrier: barrier, ..Mechanisms::default() };
    Scenario { mechanisms, ..scenario }
}

fn recorded(scenario: &Scenario, policy: &str) -> (Trace, Vec<Event>) {
    let mut log = EventLog::default();
    let class = Ext::new(scenario, &PolicySpec::parse(policy).unwrap(), 1).unwrap();
    let run = sim::simulate_observed::<_, Tournament, _>(&setup(scenario), class, &mut log);
    (run.expect("the run succeeds").trace, log.events)
}

/// How many of eight spinning threads share a CPU of four with how many, the fewest first: as many as their
/// CPU time says.
fn neighbours(barrier: bool) -> Vec<u64> {
    let hogs = scenario(4, vec![("hogs", Kind::Batch { threads: 8 })]);
    let (trace, _) = recorded(&beginning(barrier, hogs), "cts:queue=cpu");
    let received = |thread: usize| {
        let last = trace.usage.last().unwrap().cpu_time[thread];
        (last - trace.usage[0].cpu_time[thread]).as_secs_f64()
    };
    let span = trace.window.span().as_secs_f64();
    let mut shared: Vec<u64> =
        (0..8).map(|thread| (span / received(thread)).round() as u64).collect();
    shared.sort_unstable();
    shared
}

#[test]
fn threads_that_fork_into_their_work_spread_and_others_start_at_one_queue() {
    // Traced on Linux 7.2, whose programs wait at a barrier: 5, 1, 1 and 1 on the four CPUs.
    assert_eq!(neighbours(true), [1, 1, 1, 5, 5, 5, 5, 5]);
    assert_eq!(neighbours(false), [2; 8]);
}

#[test]
fn an_observer_sees_the_forks_alone() {
    let mut both = scenario(2, vec![("service", Kind::Service(service(500, 0.3)))]);
    both.programs.extend(scenario(2, vec![("hogs", Kind::Batch { threads: 3 })]).programs);
    let (_, events) = recorded(&beginning(true, both), "rearguard");
    let forks = |event: &&Event| matches!(event.what, What::Fork { .. });
    assert_eq!(events.iter().take_while(forks).count(), 67);
    assert!(matches!(events[67].what, What::Wake { .. }), "{:?}", events[67]);
    assert_eq!(events.iter().filter(forks).count(), 67);
}

#[test]
fn forks_at_the_start_take_no_time_and_cost_nothing() {
    let connections = 4;
    let alone = Kind::Service(Service { connections, ..service(500, 0.8) });
    let alone = scenario(1, vec![("service", alone)]);
    let fifo = |together| {
        let alone = beginning(together, alone.clone());
        run_realtime(&alone, rt::Kind::Fifo, Costs::DEFAULT).programs[0].requests.clone()
    };
    assert!(fifo(true) == fifo(false));
    let naps = Kind::Daemon { threads: 2, run: Nanos::from_millis(1), sleep: Nanos::from_secs(60) };
    let idle = beginning(true, scenario(2, vec![("naps", naps)]));
    let (trace, _) = recorded(&idle, "rearguard");
    // Its run and a switch, and of one the move from where both were created.
    assert!((1_001_200..=1_001_500).contains(&trace.usage[0].cpu_time[0].0));
    assert!((1_003_700..=1_004_000).contains(&trace.usage[0].cpu_time[1].0));
}

/// How many of eight threads pay for a move when they begin, kept to one of four CPUs from a moment on.
fn moved(scenario: &Scenario, class: impl Class, from: Nanos) -> usize {
    let keep = |thread| ChangeKind::Affinity { thread: ThreadId(thread), cpus: [CpuId(1)].into() };
    let kept = (0..8).map(|thread| Change { at: from, kind: keep(thread) }).collect();
    let run = sim::simulate_changing::<_, Tournament, _>(&setup(scenario), class, kept, &mut ());
    let trace = run.expect("the run succeeds").trace;
    // A run of 1 ms and a switch, or a move of 2.5 us and more as well.
    trace.usage[0].cpu_time.iter().filter(|time| time.0 > 1_002_000).count()
}

#[test]
fn a_thread_is_created_on_a_cpu_of_its_affinity() {
    let naps = Kind::Daemon { threads: 8, run: Nanos::from_millis(1), sleep: Nanos::from_secs(60) };
    let naps = beginning(true, scenario(4, vec![("naps", naps)]));
    let (machine, groups) = (&naps.machine, &naps.groups);
    let rearguard = || Ext::new(&naps, &PolicySpec::plain("rearguard"), 1).unwrap();
    let moves = |from| {
        [
            moved(&naps, rearguard(), from),
            moved(&naps, Cfs::new(machine, groups), from),
            moved(&naps, Eevdf::new(machine, groups), from),
        ]
    };
    assert_eq!(moves(Nanos::ZERO), [0; 3]);
    assert!(moves(Nanos(1)).iter().all(|&moved| moved > 0), "{:?}", moves(Nanos(1)));
}
