//! The timer tick: each a little late, and the CPU chooses when its interrupt is over.

mod common;

use common::{scenario, setup, share};
use model::scenario::{Kind, Machine, Mechanisms, Scenario};
use model::{Nanos, PolicySpec, Trace};
use sim::Setup;
use sim::class::ext::Ext;
use sim::class::rt::{self, Rt};
use sim::costs::Costs;

/// Twenty equal threads under one queue, first come, first served, a slice of 20 ms each.
fn twenty(costs: Costs, late: Option<Nanos>) -> Trace {
    let machine = Machine { cpus: 16, smt: 2, llcs: 2, nodes: 2 };
    let mechanisms = Mechanisms { tick_late: late, ..Mechanisms::default() };
    let spinners = (0..20).map(|_| ("spin", Kind::Batch { threads: 1 })).collect();
    let of = Scenario { machine, mechanisms, ..scenario(16, spinners) };
    let ext = Ext::new(&of, &PolicySpec::parse("global").unwrap(), 1).unwrap();
    sim::simulate(&Setup { costs, ..setup(&of) }, ext).unwrap()
}

/// What the program furthest from its due is off by, as a part of it.
fn worst(trace: &Trace) -> f64 {
    let off = |program| (share(trace, program) / 0.8 - 1.0).abs();
    (0..20).map(off).fold(0.0, f64::max)
}

fn switches_per_s(trace: &Trace) -> f64 {
    trace.counters.switches.unwrap() as f64 / trace.window.span().as_secs_f64()
}

#[test]
fn ticks_that_are_never_late_leave_threads_in_step() {
    let drawn = worst(&twenty(Costs::DEFAULT, None));
    assert!(drawn < 0.06, "{drawn}");
    let in_step = worst(&twenty(Costs::DEFAULT, Some(Nanos::ZERO)));
    assert!(in_step > 0.2, "{in_step}");
}

#[test]
fn a_turn_that_begins_at_a_tick_and_should_end_with_one_lasts_until_the_next() {
    // 16 CPUs change threads every 24 ms: Linux 7.2 does so 680 times a second.
    let whole = switches_per_s(&twenty(Costs::DEFAULT, None));
    assert!((660.0..680.0).contains(&whole), "{whole}");
    // An interrupt that takes no time ends the turn at the fifth tick or the sixth, whichever is the later one in its period.
    let none = switches_per_s(&twenty(Costs { tick: Nanos::ZERO, ..Costs::DEFAULT }, None));
    assert!(none > 700.0, "{none}");
}

#[test]
fn whoever_runs_pays_for_the_rest_of_the_interrupt() {
    let work = Kind::ForkJoin { threads: 1, work: Nanos::from_millis(1) };
    let two = scenario(1, vec![("a", work.clone()), ("b", work)]);
    let rounds = |tick| {
        let setup = Setup { costs: Costs { tick, ..Costs::NONE }, ..setup(&two) };
        let trace = sim::simulate(&setup, Rt::new(rt::Kind::RoundRobin, &two.machine)).unwrap();
        trace.programs.iter().map(|program| program.rounds).sum::<u64>()
    };
    let free = rounds(Nanos::ZERO);
    assert!(free.abs_diff(10_000) <= 1, "{free}");
    // A hundred turns of 100 ms end with 1 ms each.
    let long = rounds(Nanos::from_millis(1));
    assert!(long.abs_diff(9_900) <= 2, "{long}");
}
