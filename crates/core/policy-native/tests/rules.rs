//! The rules of the policy one by one, on a toy platform.

mod toy;

use model::ThreadId;
use policy_native::Kick;
use toy::{Bench, Thread};

const MS: u64 = 1_000_000;

/// Three threads of one process wake in turn; in which order are they served?
fn served(policy: &str) -> Vec<u32> {
    let mut bench = Bench::new(policy, 1);
    for _ in 0..3 {
        let thread = bench.thread(0, 0);
        bench.wake(thread);
        bench.toy.now += MS;
    }
    (0..3).map(|_| bench.dispatch(0, None).unwrap().0).collect()
}

#[test]
fn an_order_is_a_key() {
    assert_eq!(served("cts"), [0, 1, 2]);
    assert_eq!(served("lcfs"), [2, 1, 0]);
    assert_eq!(served("random").len(), 3);
    // By virtual time: the one that ran most comes last.
    let mut bench = Bench::new("cts:order=vtime", 1);
    let threads: Vec<ThreadId> = (0..3).map(|_| bench.thread(0, 0)).collect();
    threads.iter().for_each(|thread| bench.wake(*thread));
    for (thread, ran) in threads.iter().zip([3, 1, 2]) {
        assert_eq!(bench.dispatch(0, None), Some(*thread));
        bench.run(*thread, ran * MS, true);
    }
    threads.iter().for_each(|thread| bench.wake(*thread));
    let order: Vec<u32> = (0..3).map(|_| bench.dispatch(0, None).unwrap().0).collect();
    assert_eq!(order, [1, 2, 0]);
}

#[test]
fn the_first_come_thread_runs_on_its_siblings_least_token() {
    let mut bench = Bench::new("cts", 1);
    let [rich, poor, foreign] = [0, 0, 1].map(|process| bench.thread(process, 0));
    [rich, foreign, poor].into_iter().for_each(|thread| bench.wake(thread));
    for (thread, ran) in [(rich, 2 * MS), (foreign, MS), (poor, 100)] {
        assert_eq!(bench.dispatch(0, None), Some(thread));
        bench.run(thread, ran, true);
    }
    // `rich` holds the greatest vruntime and came first; `poor` holds the least.
    for thread in [rich, foreign, poor] {
        bench.wake(thread);
        bench.toy.now += 1;
    }
    let [most, middle, least] = [rich, foreign, poor].map(|thread| bench.vruntime(thread));
    assert!(most > middle && middle > least);
    for (thread, vruntime) in [(rich, least), (foreign, middle), (poor, most)] {
        assert_eq!(bench.dispatch(0, None), Some(thread));
        assert_eq!(bench.vruntime(thread), vruntime);
    }
    // One by one it would have been `poor`'s turn.
    let mut control = Bench::new("vtime", 1);
    let [rich, poor] = [0, 0].map(|process| control.thread(process, 0));
    [rich, poor].into_iter().for_each(|thread| control.wake(thread));
    for (thread, ran) in [(rich, 2 * MS), (poor, 100)] {
        assert_eq!(control.dispatch(0, None), Some(thread));
        control.run(thread, ran, true);
        control.wake(thread);
    }
    assert_eq!(control.dispatch(0, None), Some(poor));
}

#[test]
fn sleep_earns_no_more_than_half_a_slice() {
    let mut bench = Bench::new("cts", 1);
    let [hog, sleeper] = [0, 1].map(|process| bench.thread(process, 0));
    [sleeper, hog].into_iter().for_each(|thread| bench.wake(thread));
    assert_eq!(bench.dispatch(0, None), Some(sleeper));
    bench.run(sleeper, MS, true);
    assert_eq!(bench.dispatch(0, None), Some(hog));
    bench.pass(hog, 100 * MS);
    bench.policy.tick(&mut bench.toy, hog);
    bench.wake(sleeper);
    assert_eq!(bench.vruntime(sleeper), bench.vruntime(hog) - 2 * MS);
    let fresh = bench.thread(2, 0);
    bench.wake(fresh);
    assert_eq!(
        bench.vruntime(fresh),
        bench.vruntime(hog) + 2 * MS,
        "a new thread begins behind the min_vruntime"
    );
    // A thread whose own vruntime is later keeps it: waking must not win time.
    bench.dispatch(0, None);
    bench.run(sleeper, 30 * MS, true);
    let own = bench.vruntime(sleeper);
    bench.wake(sleeper);
    assert_eq!(bench.vruntime(sleeper), own);
}

/// Whether a thread that runs and sleeps in turn for a second of CPU time becomes batch.
fn burns_out(policy: &str, run_ns: u64, sleep_ns: u64) -> bool {
    let mut bench = Bench::new(policy, 1);
    let thread = bench.thread(0, 0);
    (0..1_000 * MS / run_ns).any(|_| {
        bench.wake(thread);
        bench.dispatch(0, None);
        bench.run(thread, run_ns, true);
        bench.toy.now += sleep_ns;
        bench.is_batch(thread)
    })
}

#[test]
fn a_bucket_leaks_and_is_not_emptied_by_a_wink() {
    assert!(burns_out("cts", 10 * MS, MS));
    assert!(!burns_out("cts", 10 * MS, 10 * MS));
    assert!(burns_out("cts", 50 * MS, 1_000 * MS));
    assert!(!burns_out("cts", 49 * MS, 1_000 * MS));
    assert!(!burns_out("cts:burst_limit=off", 10 * MS, MS));
    // The burst limit is four slices where those are longer.
    assert!(!burns_out("cts:slice=20ms", 79 * MS, 1_000 * MS));
    assert!(burns_out("cts:slice=20ms", 80 * MS, 1_000 * MS));
}

#[test]
fn a_batch_thread_returns_when_its_bucket_is_empty() {
    let mut bench = Bench::new("cts", 1);
    let thread = bench.thread(0, 0);
    bench.wake(thread);
    bench.dispatch(0, None);
    bench.run(thread, 200 * MS, true);
    bench.toy.now += 49 * MS;
    bench.wake(thread);
    assert!(bench.is_batch(thread));
    bench.run(thread, 0, true);
    bench.toy.now += MS;
    bench.wake(thread);
    assert!(!bench.is_batch(thread));
}

#[test]
fn a_waker_interrupts_strangers_far_ahead_and_no_sibling() {
    let kicked = |policy: &str, process: u32, hog_ns: u64| {
        let mut bench = Bench::new(policy, 1);
        let [hog, waker] = [0, process].map(|process| bench.thread(process, 0));
        bench.wake(waker);
        bench.dispatch(0, None);
        bench.run(waker, MS, true);
        bench.wake(hog);
        bench.dispatch(0, None);
        bench.pass(hog, hog_ns);
        bench.wake(waker);
        bench.toy.kicks.contains(&(0, Kick::Preempt))
    };
    assert!(kicked("cts", 1, 10 * MS));
    assert!(!kicked("cts", 0, 10 * MS));
    assert!(!kicked("cts", 1, MS / 2));
    assert!(!kicked("cts:preempt=off", 1, 10 * MS));
    assert!(kicked("vtime", 0, 10 * MS));
}

/// A thread wakes for the first time, runs a little and falls asleep.
fn has_run(bench: &mut Bench, thread: ThreadId) {
    bench.wake(thread);
    assert_eq!(bench.dispatch(0, None), Some(thread));
    bench.run(thread, MS / 10, true);
}

/// A thread computes on a CPU and wakes two strangers, one after the other, that may run there alone or
/// everywhere. Whether the second preempts it. `by_interrupt`: it is not the one that wakes them.
fn preempts_its_waker(ran_ns: u64, by_interrupt: bool, is_pinned: bool) -> bool {
    let mut bench = Bench::new("rearguard", 1);
    let writer = bench.thread(0, 0);
    let like = Thread { only_on: is_pinned.then_some(0), ..bench.toy.threads[0].clone() };
    let readers = [1, 2].map(|process| bench.thread_like(Thread { process, ..like.clone() }));
    readers.iter().for_each(|&reader| has_run(&mut bench, reader));
    bench.wake(writer);
    bench.dispatch(0, None);
    bench.pass(writer, ran_ns);
    let by = (!by_interrupt).then_some(writer);
    readers.iter().for_each(|&reader| bench.wake_by(reader, by));
    bench.toy.kicks.contains(&(0, Kick::Preempt))
}

#[test]
fn what_a_thread_hands_on_does_not_preempt_it() {
    for is_pinned in [false, true] {
        assert!(!preempts_its_waker(3 * MS, false, is_pinned), "pinned: {is_pinned}");
        assert!(preempts_its_waker(3 * MS, true, is_pinned), "a request, pinned: {is_pinned}");
    }
}

/// A thread that computes for long wakes another one beside a spinner.
#[test]
fn spinners_are_preempted_as_ever_unless_they_hand_on_work_themselves() {
    let preempts = |writer_ns: u64, hands_on: bool| {
        let mut bench = Bench::new("rearguard", 2);
        let [writer, spinner, reader, last] = [0, 1, 2, 3].map(|process| bench.thread(process, 0));
        [reader, last].iter().for_each(|&thread| has_run(&mut bench, thread));
        for (cpu, thread) in [(0, writer), (1, spinner)] {
            bench.wake(thread);
            assert_eq!(bench.dispatch(cpu, None), Some(thread));
        }
        bench.pass(spinner, 10 * MS);
        if hands_on {
            bench.wake_by(last, Some(spinner));
            bench.toy.kicks.clear();
        }
        bench.toy.threads[writer.index()].exec_ns += writer_ns;
        bench.wake_by(reader, Some(writer));
        bench.toy.kicks.contains(&(1, Kick::Preempt))
    };
    assert!(preempts(10 * MS, false), "the spinner wakes no others");
    assert!(!preempts(10 * MS, true));
}

#[test]
fn the_end_of_a_slice_keeps_the_place_unless_told_otherwise() {
    let next = |policy: &str| {
        let mut bench = Bench::new(policy, 1);
        let [first, second] = [0, 0].map(|process| bench.thread(process, 0));
        bench.wake(first);
        bench.toy.now += 1;
        bench.wake(second);
        assert_eq!(bench.dispatch(0, None), Some(first));
        bench.pass(first, 4 * MS);
        (bench.dispatch(0, Some(first)), bench.toy.slices[&first.0])
    };
    assert_eq!(next("cts"), (Some(ThreadId(0)), 4 * MS));
    assert_eq!(next("cts:requeue=tail").0, Some(ThreadId(1)));
}

#[test]
fn threads_stay_where_their_affinity_lets_them() {
    let mut bench = Bench::new("cts", 2);
    let free = bench.thread(0, 0);
    let like = bench.toy.threads[0].clone();
    let pinned = bench.thread_like(Thread { only_on: Some(1), cpu: 1, ..like });
    bench.wake(pinned);
    bench.toy.now += 1;
    bench.wake(free);
    assert_eq!(bench.dispatch(0, None), Some(free));
    assert_eq!(bench.dispatch(0, None), None);
    assert_eq!(bench.dispatch(1, None), Some(pinned));
}

#[test]
fn kernel_threads_of_a_cpu_go_first() {
    let mut bench = Bench::new("cts", 1);
    let plain = bench.thread(0, 0);
    let like = bench.toy.threads[0].clone();
    let kernel = bench.thread_like(Thread { percpu_kthread: true, process: 9, ..like });
    bench.wake(plain);
    assert_eq!(bench.toy.last_local, None);
    bench.wake(kernel);
    let how = bench.toy.last_local.unwrap();
    assert!(how.head && how.preempt);
    assert_eq!(bench.toy.locals[0].front(), Some(&kernel));
}

#[test]
fn shares_of_groups_follow_active_threads() {
    let mut bench = Bench::new("cts", 1);
    bench.policy.init_group(&mut bench.toy, 1, 0, 100);
    bench.policy.init_group(&mut bench.toy, 2, 1, 300);
    let outside = bench.thread(0, 0);
    let like = bench.toy.threads[0].clone();
    let inner =
        [1, 2].map(|process| bench.thread_like(Thread { process, group: 2, ..like.clone() }));
    let charged = |bench: &mut Bench, thread| {
        bench.policy.tick(&mut bench.toy, thread);
        let before = bench.vruntime(thread);
        bench.pass(thread, MS);
        bench.policy.tick(&mut bench.toy, thread);
        bench.vruntime(thread) - before
    };
    bench.wake(outside);
    assert_eq!(charged(&mut bench, outside), MS);
    // Alone in its groups a thread weighs what the outermost does; a second one halves that.
    bench.wake(inner[0]);
    assert_eq!(charged(&mut bench, inner[0]), MS);
    bench.wake(inner[1]);
    assert_eq!(charged(&mut bench, inner[0]), 2 * MS);
    bench.policy.exit_thread(&mut bench.toy, inner[1]);
    assert_eq!(charged(&mut bench, inner[0]), MS);
    bench.policy.exit_thread(&mut bench.toy, inner[0]);
    bench.wake(inner[1]);
    assert_eq!(charged(&mut bench, inner[1]), MS);
}

#[test]
fn a_group_without_counted_threads_divides_by_nothing() {
    let mut bench = Bench::new("cts", 1);
    bench.policy.init_group(&mut bench.toy, 1, 0, 100);
    let plain = bench.thread(0, 0);
    let like = bench.toy.threads[plain.index()].clone();
    let thread = bench.thread_like(Thread { group: 1, ..like });
    // It runs without ever having been runnable, as a thread that was moved into a group while it ran.
    bench.run(thread, 10, true);
    assert!(bench.vruntime(thread) > 0);
}

#[test]
fn instances_share_nothing() {
    let alone = served("random");
    let many: Vec<_> = (0..4).map(|_| std::thread::spawn(|| served("random"))).collect();
    assert!(many.into_iter().all(|one| one.join().unwrap() == alone));
}

#[test]
fn a_panic_of_the_platform_comes_back_to_rust() {
    let mut bench = Bench::new("cts", 1);
    let thread = bench.thread(0, 0);
    bench.toy.broken_clock = true;
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bench.wake(thread)));
    let message = panicked.unwrap_err();
    assert!(message.downcast_ref::<&str>().unwrap().contains("the clock is broken"));
    // And the policy can be called again.
    bench.toy.broken_clock = false;
    bench.wake(thread);
}

#[test]
fn a_new_weight_of_a_group_counts_at_once() {
    let mut bench = Bench::new("cts", 1);
    for (group, parent) in [(1, 0), (2, 1), (3, 1)] {
        bench.policy.init_group(&mut bench.toy, group, parent, 100);
    }
    let outside = bench.thread(0, 0);
    let like = bench.toy.threads[outside.index()].clone();
    let [x, y] =
        [2, 3].map(|group| bench.thread_like(Thread { process: group, group, ..like.clone() }));
    let charged = |bench: &mut Bench, thread| {
        bench.policy.tick(&mut bench.toy, thread);
        let before = bench.vruntime(thread);
        bench.pass(thread, 12 * MS);
        bench.policy.tick(&mut bench.toy, thread);
        bench.vruntime(thread) - before
    };
    [x, y].into_iter().for_each(|thread| bench.wake(thread));
    assert_eq!(charged(&mut bench, x), 24 * MS);
    bench.policy.weigh_group(&mut bench.toy, 2, 300);
    assert_eq!([x, y].map(|thread| charged(&mut bench, thread)), [16 * MS, 48 * MS]);
    // The outermost group's own weight, too; and a thread that sleeps meanwhile returns at the new weight.
    bench.policy.weigh_group(&mut bench.toy, 1, 200);
    assert_eq!(charged(&mut bench, y), 24 * MS);
    bench.policy.exit_thread(&mut bench.toy, y);
    bench.policy.weigh_group(&mut bench.toy, 3, 100 * 9);
    assert_eq!(charged(&mut bench, x), 6 * MS);
    bench.wake(y);
    assert_eq!(charged(&mut bench, x), 24 * MS);
}

#[test]
fn a_thread_that_moves_takes_its_weight_along() {
    let mut bench = Bench::new("cts", 1);
    (1..=2).for_each(|group| bench.policy.init_group(&mut bench.toy, group, 0, 100));
    let plain = bench.thread(0, 0);
    let like = bench.toy.threads[plain.index()].clone();
    let [x, y] =
        [0, 1].map(|process| bench.thread_like(Thread { process, group: 1, ..like.clone() }));
    [x, y].into_iter().for_each(|thread| bench.wake(thread));
    let charged = |bench: &mut Bench, thread| {
        bench.policy.tick(&mut bench.toy, thread);
        let before = bench.vruntime(thread);
        bench.pass(thread, MS);
        bench.policy.tick(&mut bench.toy, thread);
        bench.vruntime(thread) - before
    };
    assert_eq!(charged(&mut bench, x), 2 * MS);
    bench.policy.exit_thread(&mut bench.toy, y);
    bench.policy.move_thread_group(&mut bench.toy, y, 2);
    bench.wake(y);
    assert_eq!([x, y].map(|thread| charged(&mut bench, thread)), [MS, MS]);
}

/// Another wakes beside a batch thread; how often CPU 0 asks again in ten dispatches, for so many of which
/// the kernel has not put the other into its queue yet, and what it runs then.
fn asks_again(late: usize) -> (usize, Option<ThreadId>) {
    let mut bench = Bench::new("cts", 1);
    let [served, batch] = [0, 1].map(|process| bench.thread(process, 0));
    [served, batch].into_iter().for_each(|thread| bench.wake(thread));
    assert_eq!(bench.dispatch(0, None), Some(served));
    bench.run(served, MS, true);
    assert_eq!(bench.dispatch(0, None), Some(batch));
    bench.pass(batch, 20 * MS);
    bench.wake(served);
    let queues = bench.toy.queues.clone();
    bench.toy.queues.values_mut().for_each(Vec::clear);
    bench.toy.kicks.clear();
    let mut runs = Some(batch);
    for round in 0..10 {
        if round == late {
            bench.toy.queues = queues.clone();
        }
        runs = bench.dispatch(0, runs.filter(|thread| *thread == batch));
    }
    (bench.toy.kicks.iter().filter(|kick| **kick == (0, Kick::Preempt)).count(), runs)
}

#[test]
fn a_cpu_too_early_for_a_thread_retries_a_bounded_number_of_times() {
    assert_eq!(asks_again(3), (3, None), "once for each time, until it has it, and it blocks");
    assert_eq!(asks_again(0), (0, None), "the control: it is there at once");
    assert_eq!(asks_again(99).0, 8);
}

/// Beside two batch threads one wakes and a CPU is to be preempted for it, but the other CPU takes it when
/// its own blocks. What the next waking thread preempts, after the CPU has asked or before.
fn preempted_next(has_asked: bool) -> (u32, Option<(u32, Kick)>) {
    let mut bench = Bench::new("cts", 2);
    let served = [(); 2].map(|()| bench.thread(0, 0));
    let batch = [(1, 0), (2, 1)].map(|(process, cpu)| bench.thread(process, cpu));
    for thread in served {
        bench.wake(thread);
        assert_eq!(bench.dispatch(0, None), Some(thread));
        bench.run(thread, MS, true);
    }
    for (cpu, own) in (0..).zip(batch) {
        bench.wake(own);
        assert_eq!(bench.dispatch(cpu, None), Some(own));
        bench.pass(own, 20 * MS);
    }
    let preempted = |bench: &mut Bench, thread: ThreadId| {
        bench.toy.kicks.clear();
        bench.wake(thread);
        bench.toy.kicks.first().copied()
    };
    let (first, _) = preempted(&mut bench, served[0]).expect("a slice is ended");
    let other = 1 - first;
    bench.run(batch[other as usize], MS, true);
    assert_eq!(bench.dispatch(other, None), Some(served[0]));
    if has_asked {
        let own = Some(batch[first as usize]);
        assert_eq!(bench.dispatch(first, own), own, "no thread waits any more");
    }
    (first, preempted(&mut bench, served[1]))
}

#[test]
fn a_cpu_that_was_preempted_in_vain_can_be_preempted_again() {
    let (first, again) = preempted_next(true);
    assert_eq!(again, Some((first, Kick::Preempt)));
    assert_eq!(preempted_next(false).1, None, "the control: it is about to ask");
}

/// The threads served in 64 choices beside a greedy stranger, after two light threads have waited for 11 s.
fn served_after_a_long_wait(policy: &str) -> Vec<u32> {
    let mut bench = Bench::new(policy, 1);
    let hog = bench.thread(1, 0);
    let like = bench.toy.threads[0].clone();
    let light =
        [0, 0].map(|process| bench.thread_like(Thread { process, weight: 15, ..like.clone() }));
    for thread in light {
        bench.wake(thread);
        assert_eq!(bench.dispatch(0, None), Some(thread));
        bench.run(thread, 10 * MS, true);
    }
    bench.wake(hog);
    assert_eq!(bench.dispatch(0, None), Some(hog));
    light.into_iter().for_each(|thread| bench.wake(thread));
    bench.toy.now += 11_000 * MS;
    let mut runs = hog;
    let mut served = Vec::new();
    for _ in 0..64 {
        bench.pass(runs, 100);
        let next = bench.dispatch(0, Some(runs)).unwrap();
        if next != runs {
            bench.run(runs, 0, false);
            bench.policy.enqueue(&mut bench.toy, runs, false);
            served.push(next.0);
        }
        runs = next;
    }
    served.retain(|thread| *thread != hog.0);
    served
}

#[test]
fn the_longest_waiter_goes_once_and_then_the_next() {
    assert_eq!(served_after_a_long_wait("cts"), [1, 2]);
    assert_eq!(served_after_a_long_wait("cts:starvation_limit=off"), [0; 0], "the control");
}
