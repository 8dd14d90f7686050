//! Affinities, weights and CPUs that change while programs run, under every class.

mod common;
#[path = "common/unchanging.rs"]
mod unchanging;

use common::{run_under, scenario, setup, share};
use model::change::{Change, ChangeKind};
use model::event::{Event, What};
use model::scenario::{Group, Kind, Machine, Scenario};
use model::{CpuId, Nanos, PolicySpec, ThreadId, Trace};
use sim::EventLog;
use sim::class::Class;
use sim::class::ext::Ext;
use sim::class::fair::{Cfs, Eevdf};
use sim::class::rt::{self, Rt};
use sim::events::Tournament;

fn change(at_s: u64, kind: ChangeKind) -> Change {
    Change { at: Nanos::from_secs(at_s), kind }
}

/// What happened, and what was seen of it.
fn run(scenario: &Scenario, class: impl Class, changes: &[Change]) -> (Trace, Vec<Event>) {
    let mut log = EventLog::default();
    let run = sim::simulate_changing::<_, Tournament, _>(
        &setup(scenario),
        class,
        changes.to_vec(),
        &mut log,
    );
    (run.expect("the run succeeds").trace, log.events)
}

/// A test body under each kind of class.
fn under_all(scenario: &Scenario, test: impl Fn(&str, &dyn Fn(&[Change]) -> (Trace, Vec<Event>))) {
    for policy in ["cts", "gvts", "rearguard", "credit", "dwrr"] {
        let spec = PolicySpec::parse(policy).expect("a valid policy");
        let ext = || Ext::new(scenario, &spec, 1).expect("a known policy");
        test(policy, &|changes| run(scenario, ext(), changes));
    }
    let (machine, groups) = (&scenario.machine, &scenario.groups);
    test("cfs", &|changes| run(scenario, Cfs::new(machine, groups), changes));
    test("eevdf", &|changes| run(scenario, Eevdf::new(machine, groups), changes));
    test("rr", &|changes| run(scenario, Rt::new(rt::Kind::RoundRobin, machine), changes));
}

/// The CPU time of a thread in the window, in CPUs.
fn received(trace: &Trace, thread: usize) -> f64 {
    let (first, last) = (&trace.usage[0], &trace.usage[trace.usage.len() - 1]);
    let received = last.cpu_time[thread] - first.cpu_time[thread];
    received.as_secs_f64() / (last.at - first.at).as_secs_f64()
}

/// When and where threads began to run.
fn starts(events: &[Event]) -> impl Iterator<Item = (Nanos, CpuId, ThreadId)> {
    events.iter().filter_map(|event| match event.what {
        What::Switch { cpu, to: Some(thread), .. } => Some((event.at, cpu, thread)),
        _ => None,
    })
}

#[test]
fn an_affinity_holds_from_its_moment_on() {
    let four = scenario(4, vec![("batch", Kind::Batch { threads: 6 })]);
    let told = Nanos::from_secs(3);
    let pin = |thread| {
        let cpus = [CpuId(1), CpuId(2)].into();
        change(3, ChangeKind::Affinity { thread: ThreadId(thread), cpus })
    };
    let pins: Vec<Change> = (0..4).map(pin).collect();
    let outside = |events: &[Event]| {
        let pinned = |&(at, cpu, thread): &(Nanos, CpuId, ThreadId)| {
            at > told && thread.0 < 4 && ![1, 2].contains(&cpu.0)
        };
        starts(events).filter(pinned).count()
    };
    under_all(&four, |name, run| {
        let (trace, events) = run(&pins);
        assert_eq!(outside(&events), 0, "{name}");
        let all: f64 = (0..6).map(|thread| received(&trace, thread)).sum();
        // The two that stay free have the two CPUs that are left.
        assert!(all > 3.95, "{name}: {all} of 4 CPUs");
        // The control: without the change they run elsewhere, too; a class may keep each thread where it
        // began.
        let free = run(&[]).1;
        let anywhere =
            |&(_, cpu, thread): &(Nanos, CpuId, ThreadId)| thread.0 < 4 && ![1, 2].contains(&cpu.0);
        assert!(starts(&free).any(|start| anywhere(&start)), "{name}");
    });
}

#[test]
fn a_nice_value_counts_from_its_moment_on() {
    let one =
        scenario(1, vec![("a", Kind::Batch { threads: 1 }), ("b", Kind::Batch { threads: 1 })]);
    let nicer = [change(1, ChangeKind::Nice { thread: ThreadId(1), nice: 5 })];
    under_all(&one, |name, run| {
        let due = if name == "rr" { 0.5 } else { 335.0 / (335.0 + 1024.0) };
        let got = received(&run(&nicer).0, 1);
        assert!((got - due).abs() < 0.02, "{name}: {got}");
        let control = received(&run(&[]).0, 1);
        assert!((control - 0.5).abs() < 0.02, "{name}: {control}");
    });
}

#[test]
fn threads_that_exit_leave_their_part_and_come_back_for_it() {
    let one = scenario(1, vec![("stay", Kind::Batch { threads: 1 }), ("go", daemons(3))]);
    let ids = || (1..4).map(ThreadId);
    let go = ids().map(|id| change(2, ChangeKind::Exit(id)));
    let back = ids().map(|id| change(5, ChangeKind::Fork(id)));
    let (go, both): (Vec<Change>, Vec<Change>) = (go.clone().collect(), go.chain(back).collect());
    under_all(&one, |name, run| {
        let forks = |events: &[Event], from: u64| {
            let late = |event: &&Event| event.at >= Nanos::from_secs(from);
            let fork = |event: &&Event| matches!(event.what, What::Fork { .. });
            events.iter().filter(late).filter(fork).count()
        };
        let ran_after = |events: &[Event]| {
            let late = |(at, _, id): &(Nanos, CpuId, ThreadId)| *at > told(2) && id.0 > 0;
            starts(events).filter(late).count()
        };
        let (_, gone) = run(&go);
        assert!(ran_after(&gone) <= 3, "{name}: each runs once more, to exit");
        let (_, again) = run(&both);
        assert_eq!(forks(&again, 5), 3, "{name}");
        assert!(ran_after(&again) > 30, "{name}");
        // The control: without the change they never cease.
        assert!(ran_after(&run(&[]).1) > ran_after(&again), "{name}");
    });
}

fn told(at_s: u64) -> Nanos {
    Nanos::from_secs(at_s) + Nanos::from_millis(100)
}

fn daemons(threads: u32) -> Kind {
    Kind::Daemon { threads, run: Nanos::from_millis(3), sleep: Nanos::from_millis(7) }
}

#[test]
fn threads_that_are_told_to_exit_at_the_start_do_not_begin() {
    let one = scenario(1, vec![("stay", Kind::Batch { threads: 1 }), ("go", daemons(2))]);
    let absent = [1, 2].map(|id| change(0, ChangeKind::Exit(ThreadId(id))));
    under_all(&one, |name, run| {
        let forks = |changes: &[Change]| {
            run(changes).1.iter().filter(|e| matches!(e.what, What::Fork { .. })).count()
        };
        assert_eq!([forks(&absent), forks(&[])], [1, 3], "{name}");
    });
}

#[test]
fn a_thread_counts_in_the_group_that_it_moved_to() {
    let mut one =
        scenario(1, vec![("a", Kind::Batch { threads: 1 }), ("b", Kind::Batch { threads: 1 })]);
    let group = |name: &str, weight| Group::new(name, None, weight);
    one.groups = vec![group("light", 100), group("heavy", 300)];
    one.programs.iter_mut().for_each(|program| program.group = Some(0));
    let moves = [change(1, ChangeKind::Move { thread: ThreadId(1), group: 1 })];
    under_all(&one, |name, run| {
        if ["rr", "dwrr"].contains(&name) {
            return; // groups are not seen
        }
        let got = received(&run(&moves).0, 1);
        assert!((got - 0.75).abs() < 0.03, "{name}: {got}");
        let control = received(&run(&[]).0, 1);
        assert!((control - 0.5).abs() < 0.03, "{name}: {control}");
    });
}

#[test]
fn a_groups_weight_counts_from_its_moment_on() {
    let mut one =
        scenario(1, vec![("a", Kind::Batch { threads: 1 }), ("b", Kind::Batch { threads: 2 })]);
    let group = |name: &str| Group::new(name, None, 100);
    one.groups = vec![group("a"), group("b")];
    one.programs[0].group = Some(0);
    one.programs[1].group = Some(1);
    let heavier = [change(1, ChangeKind::Weight { group: 0, weight: 300 })];
    under_all(&one, |name, run| {
        if ["rr", "dwrr"].contains(&name) {
            return; // groups are not seen
        }
        let got = share(&run(&heavier).0, 0);
        // Credits are no more than a CPU's to each thread, and count against what it was given before.
        let due = if name == "credit" { 0.6 } else { 0.75 };
        assert!((got - due).abs() < 0.02, "{name}: {got}");
        let control = share(&run(&[]).0, 0);
        assert!((control - 0.5).abs() < 0.02, "{name}: {control}");
    });
}

#[test]
fn an_offline_cpu_runs_nothing() {
    let mut eight = scenario(8, vec![("batch", Kind::Batch { threads: 12 })]);
    eight.machine = Machine { cpus: 8, smt: 2, llcs: 2, nodes: 1 };
    let changes = [3, 5].map(|cpu| change(3, ChangeKind::Offline(CpuId(cpu))));
    let back = change(7, ChangeKind::Online(CpuId(5)));
    let changes: Vec<Change> = changes.into_iter().chain([back]).collect();
    under_all(&eight, |name, run| {
        let (trace, events) = run(&changes);
        let gone = |&(at, cpu, _): &(Nanos, CpuId, ThreadId)| {
            let seconds = at.as_secs_f64();
            seconds > 3.0 && (cpu.0 == 3 || cpu.0 == 5 && seconds < 7.0)
        };
        assert_eq!(starts(&events).filter(gone).count(), 0, "{name}");
        let returned =
            |(at, cpu, _): (Nanos, CpuId, ThreadId)| at >= Nanos::from_secs(7) && cpu.0 == 5;
        assert!(starts(&events).any(returned), "{name}");
        let all: f64 = (0..12).map(|thread| received(&trace, thread)).sum();
        // 8 CPUs for 2 s, 6 for 4 s, 7 for 4 s of the window's 10 s.
        assert!((all - 6.8).abs() < 0.1, "{name}: {all} CPUs");
        assert!(starts(&run(&[]).1).any(|start| gone(&start)), "{name}: the control");
    });
}

#[test]
fn threads_of_whose_cpus_none_is_left_may_run_everywhere() {
    let two = scenario(2, vec![("batch", Kind::Batch { threads: 3 })]);
    let pin = ChangeKind::Affinity { thread: ThreadId(0), cpus: [CpuId(1)].into() };
    let changes = [change(0, pin), change(3, ChangeKind::Offline(CpuId(1)))];
    under_all(&two, |name, run| {
        let got = received(&run(&changes).0, 0);
        assert!(got > 0.3, "{name}: {got}");
    });
}

#[test]
fn a_class_that_cannot_change_refuses() {
    let one =
        scenario(1, vec![("a", Kind::Batch { threads: 1 }), ("b", Kind::Batch { threads: 1 })]);
    let ext = Ext::new(&one, &PolicySpec::plain("cts"), 1).expect("a known policy");
    let class = unchanging::Unchanging(ext);
    let nicer = vec![change(1, ChangeKind::Nice { thread: ThreadId(1), nice: 5 })];
    let run = sim::simulate_changing::<_, Tournament, _>(&setup(&one), class, nicer, ());
    let refused = run.err().map(|failure| failure.to_string()).unwrap_or_default();
    assert!(refused.contains("leave such changes out"), "{refused}");
    // The control: nothing else is wrong with it.
    let ext = Ext::new(&one, &PolicySpec::plain("cts"), 1).expect("a known policy");
    run_under(&one, unchanging::Unchanging(ext));
}

#[test]
fn a_newly_idle_cpu_pulls_at_the_next_tick_of_a_busy_one() {
    let daemon =
        Kind::Daemon { threads: 1, run: Nanos::from_millis(1_500), sleep: Nanos::from_secs(9) };
    let two = scenario(2, vec![("hogs", Kind::Batch { threads: 2 }), ("daemon", daemon)]);
    let to = |at, thread, cpus: &[u32]| {
        let cpus = cpus.iter().copied().map(CpuId).collect();
        Change { at, kind: ChangeKind::Affinity { thread: ThreadId(thread), cpus } }
    };
    let mut changes = vec![to(Nanos(1), 0, &[1]), to(Nanos(1), 1, &[1]), to(Nanos(1), 2, &[0])];
    let idles = |event: &&Event| matches!(event.what, What::Switch { cpu: CpuId(0), to: None, .. });
    let (machine, groups) = (&two.machine, &two.groups);
    let (_, alone) = run(&two, Eevdf::new(machine, groups), &changes);
    let idle_at = alone.iter().filter(idles).map(|event| event.at).next_back().expect("it sleeps");
    // A busy CPU balances every 8 ticks. (What it finds at the moment of idling is pulled then.)
    changes.push(to(idle_at + Nanos::from_millis(1), 0, &[0, 1]));
    let (_, helped) = run(&two, Eevdf::new(machine, groups), &changes);
    let pulled = starts(&helped).find(|&(at, cpu, _)| at > idle_at && cpu == CpuId(0));
    let waited = pulled.expect("it is helped").0 - idle_at;
    assert!(waited < Nanos::from_millis(10), "{waited}");
}
