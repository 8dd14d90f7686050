//! A short search finds no race in `rearguard`, and planted races are found.

use std::rc::Rc;

use interleave::code::{Code, Source};
use interleave::engine::{Engine, code};
use interleave::explore::{Replay, draw, enumerate};
use interleave::planted;
use interleave::scenario::{Idling, Scenario, by_name, drawn, small};
use model::PolicySpec;

fn engine(code: &Rc<Code>, policy: &str, scenario: Scenario) -> Engine {
    Engine::new(code, &PolicySpec::plain(policy), scenario).unwrap_or_else(|e| panic!("{e}"))
}

fn ours() -> Rc<Code> {
    code(&Source::Ours(Vec::new())).unwrap_or_else(|e| panic!("{e}"))
}

fn with(race: &str) -> Rc<Code> {
    let race = planted::by_name(race).unwrap_or_else(|e| panic!("{e}"));
    code(&Source::Ours(race.changes.to_vec())).unwrap_or_else(|e| panic!("{e}"))
}

/// The first failure of a policy in a small case, with two decisions at most.
fn first(code: &Rc<Code>, policy: &str, case: &str) -> Option<String> {
    let mut engine = engine(code, policy, by_name(case).expect("a case"));
    let found = enumerate(&mut engine, 2, |schedules| schedules < 4_000);
    found.failure.map(|(_, why)| why)
}

#[test]
fn a_preemption_in_the_small_cases_does_not_break_rearguard() {
    let code = ours();
    for case in small() {
        let name = case.name.clone();
        let mut engine = engine(&code, "rearguard", case);
        let found = enumerate(&mut engine, 1, |schedules| schedules < 300);
        assert_eq!(found.failure, None, "{name}");
        assert!(found.schedules > 20, "{name}: {found:?}");
    }
}

#[test]
fn drawn_cases_break_none_either() {
    let code = ours();
    for seed in 1..=20 {
        for name in [format!("drawn-{seed}"), format!("drawn-{seed}-before-6.16")] {
            let mut engine = engine(&code, "rearguard", by_name(&name).expect("a case"));
            let found = draw(&mut engine, seed, 5);
            assert_eq!(found.failure, None, "{name}");
        }
    }
}

/// Before 6.16 a CPU is seen as idle only after it has looked again, so it asks once more. The control is the
/// adapter that does not.
#[test]
fn on_an_old_kernel_a_cpu_that_falls_idle_asks_once_more() {
    let first = |idling| {
        let case = Scenario { idling, ..by_name("sleep-and-wake").expect("a case") };
        let mut engine = engine(&ours(), "rearguard", case);
        enumerate(&mut engine, 2, |schedules| schedules < 4_000).failure.map(|(_, why)| why)
    };
    let why = first(Idling::BitLastUnasked).expect("a race");
    assert!(why.contains("a lost wake-up"), "{why}");
    assert_eq!(first(Idling::BitLast), None);
}

/// The fault that 61d54ca mended. The control is the policy as it is.
#[test]
fn the_wake_up_that_was_lost_once_is_found() {
    let why =
        first(&with("asks-again-if-idle"), "rearguard", "wake-beside-batch-1").expect("a race");
    assert!(why.contains("thread 0 waits though"), "{why}");
    assert_eq!(first(&ours(), "rearguard", "wake-beside-batch-1"), None);
}

#[test]
fn a_thread_that_is_woken_beside_an_idle_cpu_is_not_forgotten() {
    let why = first(&with("idles-unchecked"), "rearguard", "sleep-and-wake").expect("a race");
    assert!(why.contains("a lost wake-up"), "{why}");
}

/// Both were found by this search first, in policies that nobody had searched.
#[test]
fn a_preemption_after_the_choice_and_a_thread_in_another_queue_are_not_forgotten() {
    for (race, policy, case, what) in [
        ("forgets-a-late-preemption", "cts", "wake-beside-batch-1", "thread 0 waits though"),
        ("idles-beside-others", "dwrr", "sleep-and-wake", "a lost wake-up"),
    ] {
        let why = first(&with(race), policy, case).expect("a race");
        assert!(why.contains(what), "{why}");
        assert_eq!(first(&ours(), policy, case), None);
    }
}

/// Found by this search first: see docs/notebook/scheduler.md. The control is the policy as it is.
#[test]
fn an_emptied_heap_is_not_shown() {
    let of = |code: &Rc<Code>| draw(&mut engine(code, "rearguard", drawn(248)), 248, 60).failure;
    let (_, why) = of(&with("shows-emptied-heaps")).expect("a race");
    assert!(why.contains("the least vruntime that others see"), "{why}");
    assert_eq!(of(&ours()), None);
}

#[test]
fn a_schedule_repeats_to_the_step() {
    let code = with("asks-again-if-idle");
    let mut first = engine(&code, "rearguard", by_name("wake-beside-batch-1").expect("a case"));
    let found = enumerate(&mut first, 2, |_| true);
    let (decisions, why) = found.failure.expect("a race");
    let mut second = engine(&code, "rearguard", by_name("wake-beside-batch-1").expect("a case"));
    let runs = [&mut first, &mut second].map(|e| e.run(&mut Replay::new(&decisions), false));
    assert_eq!(runs[0].failure.as_ref(), Some(&why));
    assert_eq!(runs[0].failure, runs[1].failure);
    assert_eq!(runs[0].steps, runs[1].steps);
}
