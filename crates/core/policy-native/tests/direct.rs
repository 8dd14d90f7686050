//! A lone waker passes by the queue, and no thread is harmed by it (`policy/direct.h`), on a toy platform.

mod toy;

use model::ThreadId;
use policy_native::Kick;
use toy::{Bench, Thread};

const MS: u64 = 1_000_000;
const SLICE: u64 = 4 * MS;
/// A thread that runs for so long from a wake-up to its next sleep may pass by the queue.
const BRIEF: u64 = MS / 12;
const ON: &str = "rearguard";
const OFF: &str = "rearguard:direct=off";

/// On one CPU a thread of each process has run briefly and sleeps, but the first, which runs.
fn bench(policy: &str, processes: &[u32]) -> (Bench, Vec<ThreadId>) {
    let mut bench = Bench::new(policy, 1);
    let threads: Vec<ThreadId> =
        processes.iter().map(|process| bench.thread(*process, 0)).collect();
    each_runs(&mut bench, &threads, BRIEF);
    (bench, threads)
}

/// Each runs for so long, the last first; all but the first then sleep.
fn each_runs(bench: &mut Bench, threads: &[ThreadId], ran_ns: u64) {
    for thread in threads.iter().rev() {
        bench.wake(*thread);
        assert_eq!(bench.dispatch(0, None), Some(*thread));
        bench.run(*thread, ran_ns, *thread != threads[0]);
    }
}

/// The threads in the CPU's local queue.
fn local(bench: &Bench) -> Vec<ThreadId> {
    bench.toy.locals[0].iter().copied().collect()
}

#[test]
fn a_lone_waker_is_next_without_a_question() {
    for (policy, goes_there) in [(ON, true), (OFF, false), ("cts", false)] {
        for process in [0, 1] {
            let (mut bench, threads) = bench(policy, &[0, process]);
            bench.wake(threads[1]);
            let there = if goes_there { vec![threads[1]] } else { vec![] };
            assert_eq!(local(&bench), there, "{policy} {process}");
        }
    }
}

#[test]
fn only_one_goes_there_and_none_while_others_wait() {
    let (mut bench, threads) = bench(ON, &[0, 0, 0, 0]);
    bench.wake(threads[1]);
    bench.wake(threads[2]);
    assert_eq!(local(&bench), [threads[1]]);
    // It runs, and a thread waits: one that wakes now waits behind it.
    bench.run(threads[0], MS, true);
    bench.toy.locals[0].clear();
    bench.wake(threads[3]);
    assert_eq!(local(&bench), []);
    bench.run(threads[1], BRIEF, true);
    assert_eq!(bench.dispatch(0, None), Some(threads[2]));
    bench.run(threads[2], MS, true);
    // The control: with no thread left in the queue but the running one, the next one goes there.
    assert_eq!(bench.dispatch(0, None), Some(threads[3]));
    bench.wake(threads[1]);
    assert_eq!(local(&bench), [threads[1]]);
}

#[test]
fn a_thread_that_may_run_elsewhere_waits_in_the_queue() {
    let went = |only_on| {
        let mut bench = Bench::new(ON, 2);
        let runs = bench.thread(0, 0);
        let like = bench.toy.threads[0].clone();
        let other = bench.thread_like(Thread { only_on, ..like });
        bench.wake(runs);
        assert_eq!(bench.dispatch(0, None), Some(runs));
        bench.wake(other);
        local(&bench) == [other]
    };
    assert!(went(Some(0)));
    assert!(!went(None));
}

#[test]
fn only_a_due_thread_goes_there() {
    // Its vruntime is beyond what the other reaches in a slice: a thread of nice 19 that has run while the
    // other waited. What it runs alone moves virtual time on by as much.
    let went = |weight| {
        let mut bench = Bench::new(ON, 1);
        let runs = bench.thread(0, 0);
        let like = bench.toy.threads[0].clone();
        let light = bench.thread_like(Thread { process: 1, weight, ..like });
        for _ in 0..3 {
            bench.wake(light);
            assert_eq!(bench.dispatch(0, None), Some(light));
            bench.wake(runs);
            bench.run(light, BRIEF, true);
            bench.dispatch(0, None);
            bench.run(runs, BRIEF, true);
        }
        each_runs(&mut bench, &[runs], BRIEF);
        bench.wake(light);
        local(&bench) == [light]
    };
    assert!(went(1_024));
    assert!(!went(15));
}

#[test]
fn only_a_thread_that_sleeps_again_soon_goes_there() {
    let went = |ran_ns| {
        let mut bench = Bench::new(ON, 1);
        let threads = [0, 0].map(|process| bench.thread(process, 0));
        each_runs(&mut bench, &threads, ran_ns);
        bench.wake(threads[1]);
        local(&bench) == [threads[1]]
    };
    assert!(went(BRIEF));
    assert!(!went(MS));
}

#[test]
fn a_thread_that_may_preempt_does_so_through_the_queue() {
    let (mut bench, threads) = bench(ON, &[0, 1]);
    bench.pass(threads[0], 10 * MS);
    bench.policy.tick(&mut bench.toy, threads[0]);
    bench.toy.kicks.clear();
    bench.wake(threads[1]);
    assert_eq!(local(&bench), []);
    assert_eq!(bench.toy.kicks, [(0, Kick::Preempt)]);
}

/// What is left of the slice of the thread that runs after a tick, beside a follower of this process.
fn slice_after_tick(policy: &str, process: u32, foreign: bool) -> u64 {
    let (mut bench, threads) = bench(policy, &[0, process, 2]);
    bench.wake(threads[1]);
    bench.pass(threads[0], 2 * MS);
    if foreign {
        bench.wake(threads[2]);
    }
    bench.pass(threads[0], 2 * MS);
    bench.toy.slices.insert(threads[0].0, 0);
    bench.policy.tick(&mut bench.toy, threads[0]);
    bench.toy.slices[&threads[0].0]
}

#[test]
fn an_earlier_sibling_keeps_its_turn_unless_a_stranger_is_due() {
    assert_eq!(slice_after_tick(ON, 0, false), SLICE);
    assert_eq!(slice_after_tick(ON, 1, false), 0, "no sibling follows");
    assert_eq!(slice_after_tick(ON, 0, true), 0, "a stranger waits with a lesser vruntime");
    assert_eq!(slice_after_tick(OFF, 0, false), 0, "the control: the next dispatch decides");
}

#[test]
fn an_earlier_sibling_that_spins_gives_way_when_its_bucket_is_full() {
    let (mut bench, threads) = bench(ON, &[0, 0]);
    bench.wake(threads[1]);
    let turns = (0..100).take_while(|_| {
        bench.pass(threads[0], SLICE);
        bench.toy.slices.insert(threads[0].0, 0);
        bench.policy.tick(&mut bench.toy, threads[0]);
        bench.toy.slices[&threads[0].0] > 0
    });
    assert_eq!(turns.count(), 12, "49 of 50 ms");
}

#[test]
fn others_see_the_follower_when_it_runs() {
    let preempted = |policy: &str| {
        let (mut bench, threads) = bench(policy, &[0, 1, 2]);
        bench.wake(threads[1]);
        bench.run(threads[0], MS, true);
        if policy == OFF {
            assert_eq!(bench.dispatch(0, None), Some(threads[1]));
        }
        bench.pass(threads[1], 10 * MS);
        bench.toy.kicks.clear();
        bench.wake(threads[2]);
        bench.toy.kicks.clone()
    };
    assert_eq!(preempted(ON), [(0, Kick::Preempt)]);
    assert_eq!(preempted(OFF), preempted(ON), "as one that dispatch brought");
}

#[test]
fn a_follower_that_left_is_forgotten() {
    let (mut bench, threads) = bench(ON, &[0, 0, 0]);
    bench.wake(threads[1]);
    bench.toy.locals[0].clear();
    bench.policy.exit_thread(&mut bench.toy, threads[1]);
    bench.run(threads[0], MS, true);
    bench.wake(threads[0]);
    assert_eq!(bench.dispatch(0, None), Some(threads[0]));
    bench.wake(threads[2]);
    assert_eq!(local(&bench), [threads[2]]);
}
