//! Quotas of groups (`struct cfs_bandwidth`): a pool for each group, filled once a period, from which its
//! queue on each CPU takes slices.

use std::collections::{BTreeSet, VecDeque};

use model::scenario::{Group, Quota};
use model::seed::derive;
use model::{CpuId, Nanos};

use super::tree::QueueId;

/// What a queue takes from the pool at once (`sched_cfs_bandwidth_slice()`).
const SLICE: i64 = 5_000_000;
/// What a queue keeps when its last thread leaves (`min_cfs_rq_runtime`).
const KEPT: i64 = 1_000_000;
/// When what was handed back goes to queues that wait for it (`cfs_bandwidth_slack_period`), unless the pool
/// is filled by then or soon after (`min_bandwidth_expiration`).
const SLACK_PERIOD: Nanos = Nanos::from_millis(5);
const SLACK_MARGIN: Nanos = Nanos::from_millis(2);

/// The pool of a group.
#[derive(Clone, Debug, Default)]
struct Pool {
    quota: Option<Quota>,
    /// What is left of the period's quota and of the burst, nanoseconds.
    runtime: i64,
    /// Where in a period it is filled: each group at another moment.
    phase: Nanos,
    /// When next; `None`: nothing was used in the last period.
    fills_at: Option<Nanos>,
    slack_at: Option<Nanos>,
    /// Nothing has been taken since it was filled last.
    unused: bool,
    /// Queues that wait for it, first come, first served.
    throttled: VecDeque<QueueId>,
}

/// What a group's queue on one CPU has of the pool.
#[derive(Clone, Copy, Debug, Default)]
struct Local {
    remaining: i64,
    throttled: bool,
}

/// The quotas of all groups.
pub struct Bandwidth {
    pools: Vec<Pool>,
    locals: Vec<Local>,
    /// Moments at which something is due, and for which group.
    timers: BTreeSet<(Nanos, usize)>,
    /// Whether any group has a quota, or had one.
    used: bool,
}

impl Bandwidth {
    /// Pools without quotas.
    pub fn new(groups: &[Group], cpus: u32, seed: u64) -> Bandwidth {
        let pool =
            |index| Pool { phase: Nanos(derive(seed, &[u64::MAX, 2, index])), ..Pool::default() };
        Bandwidth {
            pools: (0..groups.len() as u64).map(pool).collect(),
            locals: vec![Local::default(); (groups.len() + 1) * cpus as usize],
            timers: BTreeSet::new(),
            used: false,
        }
    }

    /// Whether any group has a quota, or had one.
    pub fn is_used(&self) -> bool {
        self.used
    }

    fn group_of(&self, queue: QueueId) -> Option<usize> {
        (queue.0 as usize % (self.pools.len() + 1)).checked_sub(1)
    }

    /// The queue of a group on a CPU.
    fn queue_on(&self, cpu: CpuId, group: usize) -> QueueId {
        QueueId((cpu.index() * (self.pools.len() + 1) + group + 1) as u32)
    }

    /// The pool that a queue takes from, if there is a quota.
    fn limited(&self, queue: QueueId) -> Option<usize> {
        self.group_of(queue).filter(|&group| self.pools[group].quota.is_some())
    }

    /// Whether a queue waits for its pool.
    pub fn is_throttled(&self, queue: QueueId) -> bool {
        self.locals[queue.0 as usize].throttled
    }

    /// A queue's thread has run. True: nothing is left for it (`account_cfs_rq_runtime()`).
    pub fn spend(&mut self, now: Nanos, queue: QueueId, ran: Nanos) -> bool {
        let Some(group) = self.limited(queue) else { return false };
        let local = &mut self.locals[queue.0 as usize];
        local.remaining -= ran.0 as i64;
        local.remaining <= 0 && !local.throttled && !self.take(now, group, queue, SLICE)
    }

    /// Fills what a queue has up to a target, as far as the pool goes. True: it has something
    /// (`__assign_cfs_rq_runtime()`).
    fn take(&mut self, now: Nanos, group: usize, queue: QueueId, target: i64) -> bool {
        self.start(now, group);
        let (pool, local) = (&mut self.pools[group], &mut self.locals[queue.0 as usize]);
        let taken = (target - local.remaining).min(pool.runtime).max(0);
        if taken > 0 {
            pool.unused = false;
        }
        pool.runtime -= taken;
        local.remaining += taken;
        local.remaining > 0
    }

    /// Whether a thread of a queue may go on, or the queue waits for its pool from now on
    /// (`check_cfs_rq_runtime()`, `throttle_cfs_rq()`).
    pub fn admits(&mut self, now: Nanos, queue: QueueId) -> bool {
        let Some(group) = self.limited(queue) else { return true };
        let local = self.locals[queue.0 as usize];
        if local.throttled || local.remaining > 0 {
            return !local.throttled;
        }
        let admitted = self.take(now, group, queue, SLICE);
        if !admitted {
            self.locals[queue.0 as usize].throttled = true;
            self.pools[group].throttled.push_back(queue);
        }
        admitted
    }

    /// A queue's last thread has left: what it has too much goes back (`__return_cfs_rq_runtime()`).
    pub fn hand_back(&mut self, now: Nanos, queue: QueueId) {
        let Some(group) = self.limited(queue) else { return };
        let local = &mut self.locals[queue.0 as usize];
        let slack = local.remaining - KEPT;
        if slack <= 0 {
            return;
        }
        local.remaining -= slack;
        let pool = &mut self.pools[group];
        pool.runtime += slack;
        let filled_soon = pool.fills_at.is_some_and(|at| at <= now + SLACK_PERIOD + SLACK_MARGIN);
        let wanted = pool.runtime > SLICE && !pool.throttled.is_empty();
        if wanted && !filled_soon && pool.slack_at.is_none() {
            pool.slack_at = Some(now + SLACK_PERIOD);
            self.timers.insert((now + SLACK_PERIOD, group));
        }
    }

    /// The pool is filled from now on (`start_cfs_bandwidth()`).
    fn start(&mut self, now: Nanos, group: usize) {
        let pool = &mut self.pools[group];
        let Some(Quota { period, .. }) = pool.quota.filter(|_| pool.fills_at.is_none()) else {
            return;
        };
        let phase = pool.phase.0 % period.0;
        let past = (now.0 + period.0 - phase) / period.0;
        let at = Nanos(phase + past * period.0);
        pool.fills_at = Some(at);
        self.timers.insert((at, group));
    }

    /// When the next timer is due.
    pub fn next_timer(&self) -> Nanos {
        self.timers.first().map_or(Nanos::NEVER, |(at, _)| *at)
    }

    /// Timers that are due: pools are filled, and queues that waited for them may go on.
    pub fn expire(&mut self, now: Nanos) -> Vec<QueueId> {
        let mut freed = Vec::new();
        while let Some((_, group)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(now, group));
            self.timers.retain(|(at, of)| *at > now || *of != group);
            let pool = &mut self.pools[group];
            pool.slack_at = pool.slack_at.filter(|at| *at > now);
            if pool.fills_at.is_some_and(|at| at <= now) {
                self.fill(now, group);
            }
            self.distribute(group, &mut freed);
        }
        freed
    }

    /// One more period (`do_sched_cfs_period_timer()`).
    fn fill(&mut self, now: Nanos, group: usize) {
        let pool = &mut self.pools[group];
        pool.fills_at = None;
        let Some(Quota { quota, period, burst }) = pool.quota else { return };
        pool.runtime = (pool.runtime + quota.0 as i64).min((quota + burst).0 as i64);
        if std::mem::replace(&mut pool.unused, true) && pool.throttled.is_empty() {
            return;
        }
        pool.fills_at = Some(now + period);
        self.timers.insert((now + period, group));
    }

    /// Gives what is there to the queues that wait, each just so much that it may go on
    /// (`distribute_cfs_runtime()`).
    fn distribute(&mut self, group: usize, freed: &mut Vec<QueueId>) {
        let pool = &mut self.pools[group];
        while let Some(queue) = pool.throttled.front().copied().filter(|_| pool.runtime > 0) {
            pool.unused = false;
            let local = &mut self.locals[queue.0 as usize];
            let given = (1 - local.remaining).min(pool.runtime);
            pool.runtime -= given;
            local.remaining += given;
            if local.remaining > 0 {
                local.throttled = false;
                pool.throttled.pop_front();
                freed.push(queue);
            }
        }
    }

    /// A group has another quota, or none: no queue of it waits (`tg_set_cfs_bandwidth()`).
    pub fn set(&mut self, cpus: u32, group: usize, quota: Option<Quota>) -> Vec<QueueId> {
        self.used |= quota.is_some();
        let phase = self.pools[group].phase;
        let runtime = quota.map_or(0, |quota| quota.quota.0 as i64);
        let before = std::mem::replace(
            &mut self.pools[group],
            Pool { quota, phase, runtime, ..Pool::default() },
        );
        self.timers.retain(|(_, of)| *of != group);
        for cpu in (0..cpus).map(CpuId) {
            let queue = self.queue_on(cpu, group);
            self.locals[queue.0 as usize] = Local::default();
        }
        before.throttled.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: QueueId = QueueId(1);

    fn bandwidth(quota_ms: u64, burst_ms: u64) -> Bandwidth {
        let mut one = Bandwidth::new(&[Group::new("g", None, 100)], 2, 0);
        let ms = Nanos::from_millis;
        let quota = Quota { burst: ms(burst_ms), ..Quota::new(ms(quota_ms), ms(100)) };
        one.set(2, 0, Some(quota));
        one.pools[0].phase = Nanos::ZERO;
        one
    }

    #[test]
    fn a_queue_takes_slices_until_the_pool_is_empty_and_pays_its_debt_first() {
        let mut one = bandwidth(12, 0);
        let now = Nanos::from_millis(1);
        assert!(one.admits(now, QUEUE));
        assert_eq!((one.locals[1].remaining, one.pools[0].runtime), (SLICE, 7_000_000));
        assert!(!one.spend(now, QUEUE, Nanos::from_millis(11)), "the pool has one more slice");
        assert_eq!((one.locals[1].remaining, one.pools[0].runtime), (1_000_000, 0));
        assert!(one.spend(now, QUEUE, Nanos::from_millis(3)));
        assert!(!one.admits(now, QUEUE) && one.is_throttled(QUEUE));
        assert_eq!(one.next_timer(), Nanos::from_millis(100));
        assert_eq!(one.expire(Nanos::from_millis(100)), [QUEUE]);
        assert_eq!((one.locals[1].remaining, one.pools[0].runtime), (1, 12_000_000 - 2_000_001));
    }

    #[test]
    fn an_unused_quota_is_kept_up_to_the_burst_and_its_timer_stops() {
        for (burst_ms, kept_ms) in [(0, 12), (5, 17)] {
            let mut one = bandwidth(12, burst_ms);
            one.start(Nanos::ZERO, 0);
            for _ in 0..2 {
                let at = one.next_timer();
                assert!(one.expire(at).is_empty());
            }
            assert_eq!(one.next_timer(), Nanos::NEVER);
            assert_eq!(one.pools[0].runtime, kept_ms * 1_000_000);
        }
    }

    #[test]
    fn what_an_idle_cpu_has_left_is_handed_to_one_that_waits() {
        let mut one = bandwidth(13, 0);
        let other = QueueId(3);
        let now = Nanos::from_millis(10);
        assert!(one.admits(now, QUEUE) && one.admits(now, other));
        assert!(one.spend(now, other, Nanos::from_millis(9)));
        assert!(!one.admits(now, other));
        one.locals[1].remaining = 9_000_000;
        one.hand_back(now, QUEUE);
        assert_eq!(one.next_timer(), now + SLACK_PERIOD);
        assert_eq!(one.expire(now + SLACK_PERIOD), [other]);
    }

    #[test]
    fn another_quota_frees_queues_that_wait() {
        let mut one = bandwidth(1, 0);
        let now = Nanos::from_millis(1);
        assert!(one.admits(now, QUEUE) && one.spend(now, QUEUE, Nanos::from_millis(2)));
        assert!(!one.admits(now, QUEUE));
        assert_eq!(one.set(2, 0, None), [QUEUE]);
        assert!(one.admits(now, QUEUE) && one.next_timer() == Nanos::NEVER);
    }
}
