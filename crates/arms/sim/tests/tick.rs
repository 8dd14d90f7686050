//! The timer tick: each a little late, and the CPU chooses when its interrupt is over.

mod common;

use common::{scenario, setup, share};
use model::event::{Event, What};
use model::scenario::{
    Alteration, AlterationKind, Home, Kind, Machine, Mechanisms, Memory, Scenario, Wait,
};
use model::{CpuId, Nanos, PolicySpec, ThreadId, Trace};
use sim::class::ext::Ext;
use sim::class::rt::{self, Rt};
use sim::costs::Costs;
use sim::events::Tournament;
use sim::{EventLog, Setup};

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
    // An interrupt that takes no time ends the turn at the fifth tick or the sixth, whichever is the later
    // one in its period.
    let none = switches_per_s(&twenty(Costs { tick: Nanos::ZERO, ..Costs::DEFAULT }, None));
    assert!(none > 700.0, "{none}");
}

#[test]
fn the_running_thread_pays_for_the_rest_of_the_interrupt() {
    let work = Kind::ForkJoin { threads: 1, work: Nanos::from_millis(1), wait: Wait::Block };
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

/// What happens under round robin on two CPUs with interrupts of 1 ms at the ends of turns.
fn events(programs: Scenario) -> Vec<Event> {
    let mut log = EventLog::default();
    let costs = Costs { tick: Nanos::from_millis(1), ..Costs::NONE };
    let class = Rt::new(rt::Kind::RoundRobin, &programs.machine);
    let setup = Setup { costs, ..setup(&programs) };
    sim::simulate_observed::<_, Tournament, _>(&setup, class, &mut log).unwrap();
    log.events
}

fn first(events: &[Event], wanted: impl Fn(What) -> bool) -> Option<Nanos> {
    events.iter().find(|event| wanted(event.what)).map(|event| event.at)
}

/// In the interrupt that ends the first turn.
fn is_in_interrupt(at: Nanos) -> bool {
    at > Nanos::from_millis(100) && at < Nanos::from_millis(101)
}

#[test]
fn a_thread_that_blocks_in_the_interrupt_of_a_tick_leaves_its_cpu_at_once() {
    let once = |run_us| {
        let (run, sleep) = (Nanos::from_micros(run_us), Nanos::from_secs(20));
        Kind::Daemon { threads: 1, run, sleep }
    };
    let spin = Kind::Batch { threads: 1 };
    let mut three = scenario(2, vec![("a", once(50_050)), ("b", once(50_125)), ("waits", spin)]);
    // Two slow each other down; when one is done the other is faster, and done before the interrupt that it
    // has begun to pay for.
    let memory = Memory { remote: 1.0, contention: 1.0, home: Home::Process };
    three.mechanisms.memory = Some(memory);
    three.programs[..2].iter_mut().for_each(|program| program.memory.bound = 1.0);
    let events = events(three);
    let b = ThreadId(1);
    let blocks = first(&events, |what| matches!(what, What::Block { thread, .. } if thread == b));
    assert!(blocks.is_some_and(is_in_interrupt), "{blocks:?}");
    let leaves = |what| matches!(what, What::Switch { from: Some(thread), .. } if thread == b);
    assert_eq!(first(&events, leaves), blocks);
}

#[test]
fn a_cpu_whose_thread_is_sent_away_in_the_interrupt_of_a_tick_does_not_idle() {
    let spin = |name| (name, Kind::Batch { threads: 1 });
    let mut three = scenario(2, vec![spin("a"), spin("b"), spin("waits")]);
    let kind = AlterationKind::Affinity { program: 1, cpus: vec![CpuId(1)] };
    let at = Nanos::from_micros(100_500);
    three.alterations = vec![Alteration { at, kind }];
    let runs = |what| matches!(what, What::Switch { cpu: CpuId(0), to: Some(ThreadId(2)), .. });
    assert_eq!(first(&events(three), runs), Some(at));
}
