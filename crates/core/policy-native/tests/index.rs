//! The index against a slow and exact oracle: a list of all waiting threads and of all vruntimes, searched
//! from end to end.

mod toy;

use model::ThreadId;
use toy::{Bench, THREAD, Thread};

const MS: u64 = 1_000_000;
const CPUS: u32 = 3;
const PROCESSES: u32 = 3;

/// A pool in a queue: the process, or the thread if it is batch; and the queue.
type Pool = (u32, Option<u32>, u32);

/// What a scan would know.
#[derive(Default)]
struct Oracle {
    /// Threads that wait, with their pools and places.
    waiting: Vec<(ThreadId, Pool, u64)>,
    /// Vruntimes with their pools, in the order in which they were deposited.
    vruntimes: Vec<(u64, Pool)>,
    /// A wrong oracle: it prefers the last of a pool.
    is_wrong: bool,
}

impl Oracle {
    fn first(&self, pool: Pool) -> Option<(ThreadId, u64)> {
        let of_pool = self.waiting.iter().filter(|entry| entry.1 == pool);
        let places = of_pool.map(|&(thread, _, place)| (place, thread.0));
        let found = if self.is_wrong { places.max() } else { places.min() };
        found.map(|(place, thread)| (ThreadId(thread), place))
    }

    /// The position of a queue's least vruntime, the earliest of equals.
    fn least(&self, queue: u32) -> Option<usize> {
        let of_queue = self.vruntimes.iter().enumerate().filter(|(_, entry)| entry.1.2 == queue);
        of_queue.min_by_key(|(at, entry)| (entry.0, *at)).map(|(at, _)| at)
    }

    /// Vruntimes whose threads have left are dropped once they are the least.
    fn drop_orphans(&mut self, queue: u32) {
        while let Some(at) = self.least(queue)
            && self.first(self.vruntimes[at].1).is_none()
        {
            self.vruntimes.remove(at);
        }
    }

    fn enter(&mut self, thread: ThreadId, pool: Pool, place: u64, vruntime: u64) {
        let vruntimes = self.vruntimes.iter().filter(|entry| entry.1 == pool).count();
        let threads = self.waiting.iter().filter(|entry| entry.1 == pool).count();
        if vruntimes <= threads {
            self.vruntimes.push((vruntime, pool));
        }
        self.waiting.push((thread, pool, place));
    }

    fn leave(&mut self, thread: ThreadId) {
        let at = self.waiting.iter().position(|entry| entry.0 == thread).unwrap();
        let (_, pool, _) = self.waiting.remove(at);
        self.drop_orphans(pool.2);
    }

    fn take(&mut self, thread: ThreadId) {
        self.waiting.retain(|entry| entry.0 != thread);
    }

    /// The next thread and its vruntime: `prev` is (thread, pool without queue, place, vruntime).
    fn choose(&mut self, queue: u32, prev: Option<&Prev>) -> Option<(ThreadId, u64)> {
        self.drop_orphans(queue);
        let at = self.least(queue)?;
        let (vruntime, pool) = self.vruntimes[at];
        let (thread, place) = self.first(pool).expect("orphans are dropped");
        if let Some(prev) = prev {
            let own = (prev.process, prev.alone, queue);
            // Siblings that may run on other CPUs are another pool.
            let is_home = prev.is_pinned == (queue != 0);
            if prev.vruntime <= vruntime {
                let sibling = self.first(own).filter(|_| is_home);
                let sibling = sibling.filter(|sibling| sibling.1 < prev.place);
                let Some((sibling, _)) = sibling else { return Some((prev.thread, prev.vruntime)) };
                self.take(sibling);
                return Some((sibling, prev.vruntime));
            }
            if is_home && own == pool && prev.place <= place {
                self.vruntimes.remove(at);
                self.vruntimes.push((prev.vruntime, pool));
                return Some((prev.thread, vruntime));
            }
        }
        self.vruntimes.remove(at);
        self.take(thread);
        Some((thread, vruntime))
    }
}

/// A runnable thread that a CPU has run until now.
struct Prev {
    thread: ThreadId,
    process: u32,
    alone: Option<u32>,
    is_pinned: bool,
    place: u64,
    vruntime: u64,
}

/// A bench with the oracle beside it.
struct Trial {
    bench: Bench,
    oracle: Oracle,
    running: [Option<(ThreadId, u64)>; CPUS as usize],
    asleep: Vec<ThreadId>,
    requeues_at_the_tail: bool,
    draw: u64,
    dispatches: u32,
}

impl Trial {
    fn new(policy: &str, seed: u64, is_wrong: bool) -> Trial {
        let mut bench = Bench::new(policy, CPUS);
        let like = |process| Thread { process, ..THREAD };
        let mut asleep: Vec<ThreadId> =
            (0..18).map(|i| bench.thread_like(like(i % PROCESSES))).collect();
        for cpu in 0..CPUS {
            let pinned = Thread { only_on: Some(cpu), cpu, ..like(cpu % PROCESSES) };
            asleep.push(bench.thread_like(pinned));
        }
        let oracle = Oracle { is_wrong, ..Oracle::default() };
        Trial {
            bench,
            oracle,
            running: [None; CPUS as usize],
            asleep,
            requeues_at_the_tail: policy.contains("requeue=tail"),
            draw: seed,
            dispatches: 0,
        }
    }

    fn random(&mut self, below: usize) -> usize {
        self.draw = self.draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.draw >> 33) as usize % below
    }

    fn pool(&self, thread: ThreadId, queue: u32) -> Pool {
        let alone = self.bench.is_batch(thread).then_some(thread.0);
        (self.bench.toy.threads[thread.index()].process, alone, queue)
    }

    /// Tells the oracle where a thread now waits, as the toy's queues have it.
    fn entered(&mut self, thread: ThreadId) {
        let found = self.bench.toy.queues.iter().find_map(|(queue, entries)| {
            let entry = entries.iter().find(|entry| entry.1 == thread)?;
            Some((*queue, entry.0))
        });
        let (queue, place) = found.expect("an enqueued thread is in a queue");
        let vruntime = self.bench.vruntime(thread);
        self.oracle.enter(thread, self.pool(thread, queue), place, vruntime);
    }

    fn wake(&mut self) {
        if self.asleep.is_empty() {
            return;
        }
        let at = self.random(self.asleep.len());
        let thread = self.asleep.swap_remove(at);
        self.bench.toy.now += 1;
        self.bench.wake(thread);
        self.entered(thread);
    }

    /// A thread leaves its queue without being picked, as one whose affinity changes does.
    fn take_out(&mut self) {
        if self.oracle.waiting.is_empty() {
            return;
        }
        let at = self.random(self.oracle.waiting.len());
        let thread = self.oracle.waiting[at].0;
        for entries in self.bench.toy.queues.values_mut() {
            entries.retain(|entry| entry.1 != thread);
        }
        self.bench.policy.exit_thread(&mut self.bench.toy, thread);
        self.oracle.leave(thread);
        self.asleep.push(thread);
    }

    fn block(&mut self, cpu: usize) {
        let Some((thread, _)) = self.running[cpu].take() else { return };
        self.bench.policy.stopping(&mut self.bench.toy, thread, false);
        self.asleep.push(thread);
    }

    /// What the oracle says: of the shared queue and the CPU's own the one with the lesser vruntime first.
    fn expected(&mut self, cpu: u32, prev: Option<&Prev>) -> Option<(ThreadId, u64)> {
        let least =
            |queue| self.oracle.least(queue).map_or(u64::MAX, |at| self.oracle.vruntimes[at].0);
        let own = CPUS + cpu;
        let order = if least(0) <= least(own) { [0, own] } else { [own, 0] };
        let found = order.into_iter().find_map(|queue| self.oracle.choose(queue, prev));
        found.or_else(|| prev.map(|prev| (prev.thread, prev.vruntime)))
    }

    /// A CPU chooses. Answers whether policy and oracle agree.
    fn dispatch(&mut self, cpu: usize) -> bool {
        // No two places are equal.
        self.bench.toy.now += 1;
        let before = self.running[cpu];
        let prev = before.map(|(thread, place)| {
            // Charged as the policy will charge it, which needs no more than a tick.
            self.bench.policy.tick(&mut self.bench.toy, thread);
            let (process, alone, _) = self.pool(thread, 0);
            let again = alone.is_some() || self.requeues_at_the_tail;
            let place = if again { self.bench.toy.now } else { place };
            let is_pinned = self.bench.toy.threads[thread.index()].only_on.is_some();
            Prev { thread, process, alone, is_pinned, place, vruntime: self.bench.vruntime(thread) }
        });
        let expected = self.expected(cpu as u32, prev.as_ref());
        let next = self.bench.dispatch(cpu as u32, before.map(|(thread, _)| thread));
        if next != expected.map(|(thread, _)| thread) {
            return false;
        }
        let Some(next) = next else { return true };
        if let Some(prev) = prev.as_ref().filter(|prev| prev.thread != next) {
            self.bench.policy.stopping(&mut self.bench.toy, prev.thread, true);
            self.bench.policy.enqueue(&mut self.bench.toy, prev.thread, false);
            self.entered(prev.thread);
        }
        let place = match prev.filter(|prev| prev.thread == next) {
            Some(prev) => prev.place,
            None => self.bench.toy.taken.expect("a thread was moved"),
        };
        self.running[cpu] = Some((next, place));
        self.dispatches += 1;
        Some(self.bench.vruntime(next)) == expected.map(|(_, vruntime)| vruntime)
    }

    fn step(&mut self) -> bool {
        let cpu = self.random(CPUS as usize);
        match self.random(12) {
            0..5 => self.wake(),
            5 => self.take_out(),
            6 => self.block(cpu),
            7..9 => {
                let ns = self.random(9 * MS as usize) as u64;
                self.bench.toy.now += ns;
                for (thread, _) in self.running.into_iter().flatten() {
                    self.bench.toy.threads[thread.index()].exec_ns += ns;
                }
            }
            _ => return self.dispatch(cpu),
        }
        true
    }
}

/// Steps until policy and oracle differ, and dispatches made.
fn agreement(policy: &str, seed: u64, is_wrong: bool) -> (usize, u32) {
    let mut trial = Trial::new(policy, seed, is_wrong);
    let steps = (0..20_000).take_while(|_| trial.step()).count();
    (steps, trial.dispatches)
}

#[test]
fn the_index_picks_as_a_scan_would() {
    for policy in [
        "cts",
        "cts:order=lcfs",
        "cts:requeue=tail",
        "cts:burst_limit=off",
        "cts:order=random:burst_limit=off",
    ] {
        for seed in 1..=5 {
            let (steps, dispatches) = agreement(policy, seed, false);
            assert_eq!(steps, 20_000, "{policy}, seed {seed}");
            assert!(dispatches > 4_000, "{policy}: {dispatches}");
        }
        let (steps, _) = agreement(policy, 1, true);
        assert!(steps < 1_000, "{policy}: the wrong oracle was not noticed");
    }
}
