//! Threads that wait by `sched_yield`.

mod common;

use common::{cpu_time, run_under, scenario, share};
use model::scenario::{Group, Kind, Scenario, Wait};
use model::{Nanos, PolicySpec, Trace};
use sim::class::ext::Ext;
use sim::class::fair::{Cfs, Eevdf};
use sim::class::rt::{self, Rt};

const SEEDS: std::ops::Range<u64> = 1..11;

/// A barrier of eight threads on two CPUs, and spinning threads of another process.
fn barrier(work: Nanos, neighbours: u32) -> Scenario {
    let wait = Wait::Yield;
    let mut programs = vec![("barrier", Kind::ForkJoin { threads: 8, work, wait })];
    if neighbours > 0 {
        programs.push(("neighbours", Kind::Batch { threads: neighbours }));
    }
    brief(scenario(2, programs))
}

fn brief(of: Scenario) -> Scenario {
    Scenario { duration: Nanos::from_millis(500), warm_up: Nanos::from_millis(250), ..of }
}

fn under(of: &Scenario, policy: &str, seed: u64) -> Trace {
    run_under(of, Ext::new(of, &PolicySpec::parse(policy).unwrap(), seed).unwrap())
}

fn rounds(trace: &Trace) -> f64 {
    trace.programs[0].rounds as f64
}

/// Threads of more than a burst limit, which are batch: sched_ext by itself leaves them where they yield.
#[test]
fn a_barrier_of_more_threads_than_cpus_goes_round_as_under_eevdf() {
    for work in [300, 1_000, 5_000] {
        let mut of = barrier(Nanos::from_micros(work), 0);
        if work == 5_000 {
            // Each is batch only after 50 ms of its own.
            (of.duration, of.warm_up) = (Nanos::from_secs(1), Nanos::from_millis(500));
        }
        for seed in SEEDS {
            let eevdf = rounds(&run_under(&of, Eevdf::of(&of, seed)));
            let ours = rounds(&under(&of, "rearguard", seed));
            let without = rounds(&under(&of, "rearguard:yields=off", seed));
            assert!(ours + 1.0 >= 0.98 * eevdf, "{work} us, seed {seed}: {ours} {eevdf}");
            assert!(without < 0.75 * eevdf, "{work} us, seed {seed}: {without} {eevdf}");
        }
    }
}

#[test]
fn beside_others_a_barrier_keeps_its_share_and_goes_round() {
    let of = barrier(Nanos::from_millis(1), 8);
    for seed in SEEDS {
        let trace = under(&of, "rearguard", seed);
        let eevdf = rounds(&run_under(&of, Eevdf::of(&of, seed)));
        let without = rounds(&under(&of, "rearguard:yields=off", seed));
        assert!((share(&trace, 0) - 1.0).abs() < 0.02, "seed {seed}: {}", share(&trace, 0));
        assert!(rounds(&trace) >= 0.98 * eevdf, "seed {seed}: {} {eevdf}", rounds(&trace));
        assert!(without < 0.5 * eevdf, "seed {seed}: {without} {eevdf}");
    }
}

/// Groups of weights 1:3; the lesser one yields all the time or never. Unlike EEVDF, whose yield forfeits.
#[test]
fn a_group_gets_its_share_whether_it_yields_or_not() {
    for wait in [None, Some(Wait::Yield)] {
        let work = Nanos::from_millis(2);
        let barrier = |wait| Kind::ForkJoin { threads: 6, work, wait };
        let kind = wait.map_or(Kind::Batch { threads: 6 }, barrier);
        let mut of = brief(scenario(2, vec![("one", kind), ("other", Kind::Batch { threads: 3 })]));
        of.duration = Nanos::from_secs(1);
        of.groups = vec![Group::new("one", None, 100), Group::new("other", None, 300)];
        of.programs[0].group = Some(0);
        of.programs[1].group = Some(1);
        for seed in SEEDS {
            let got = share(&under(&of, "rearguard", seed), 0);
            assert!((got - 0.5).abs() < 0.02, "{wait:?}, seed {seed}: {got}");
        }
    }
}

/// All threads of a barrier advance together; those beside it too.
#[test]
fn no_thread_starves() {
    let of = barrier(Nanos::from_millis(1), 3);
    for seed in SEEDS {
        let trace = under(&of, "rearguard", seed);
        let (first, last) = (&trace.usage[0].cpu_time, &trace.usage.last().unwrap().cpu_time);
        let got = first.iter().zip(last).map(|(first, last)| *last - *first);
        let least = got.min().unwrap();
        assert!(least > Nanos::from_millis(40), "seed {seed}: {least}");
    }
}

/// Two threads on one CPU: the one that waits leaves it to the other, under every class.
#[test]
fn each_class_lets_the_others_go_first() {
    let wait = Wait::Yield;
    let kind = Kind::ForkJoin { threads: 2, work: Nanos::from_millis(1), wait };
    let of = brief(scenario(1, vec![("pair", kind)]));
    let realtime = |kind| run_under(&of, Rt::new(kind, &of.machine));
    let traces = [
        run_under(&of, Cfs::of(&of, 1)),
        run_under(&of, Eevdf::of(&of, 1)),
        realtime(rt::Kind::Fifo),
        realtime(rt::Kind::RoundRobin),
        under(&of, "cts", 1),
        under(&of, "global", 1),
        under(&of, "gvts", 1),
        under(&of, "dwrr", 1),
        under(&of, "credit", 1),
    ];
    for (at, trace) in traces.iter().enumerate() {
        assert!(trace.programs[0].rounds >= 225, "{at}: {}", trace.programs[0].rounds);
        assert!(cpu_time(trace, 0) == trace.window.span(), "{at}");
    }
}
