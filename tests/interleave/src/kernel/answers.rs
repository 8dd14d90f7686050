//! What the seam asks of the kernel, and what it orders.

use super::{Hands, Kernel, Lock, Place, Target, Thread};
use crate::seam::Moved;

impl Hands<'_> {
    fn thread<R>(self, thread: usize, ask: impl FnOnce(&Thread) -> R) -> R {
        self.with(|kernel| ask(&kernel.threads[thread]))
    }

    pub(crate) fn process(self, thread: usize) -> u32 {
        self.thread(thread, |thread| thread.process)
    }

    pub(crate) fn weight(self, thread: usize) -> u32 {
        self.thread(thread, |thread| thread.weight)
    }

    pub(crate) fn cpu_of(self, thread: usize) -> usize {
        self.thread(thread, |thread| thread.cpu)
    }

    pub(crate) fn admits(self, thread: usize, cpu: usize) -> bool {
        self.thread(thread, |thread| thread.mask >> cpu & 1 == 1)
    }

    pub(crate) fn is_pinned(self, thread: usize) -> bool {
        self.thread(thread, |thread| thread.mask.count_ones() == 1)
    }

    /// 0 for all CPUs.
    pub(crate) fn affinity(self, thread: usize) -> u32 {
        let mask = self.thread(thread, |thread| thread.mask);
        let all = (0..self.world.machine.cpus).fold(0, |all, cpu| all | 1 << cpu);
        if mask & all == all { 0 } else { (mask.wrapping_mul(0x9e37_79b9) as u32) | 1 }
    }

    pub(crate) fn is_runnable(self, prev: usize) -> bool {
        self.with(|kernel| {
            kernel.agents[self.agent].dispatch.is_some_and(|(_, runnable)| runnable == Some(prev))
        })
    }

    /// Each look at the clock takes a little.
    pub(crate) fn now(self) -> u64 {
        self.with(|kernel| {
            kernel.now += 10;
            kernel.now
        })
    }

    /// Exact where the thread's own CPU asks.
    pub(crate) fn exec(self, thread: usize) -> u64 {
        self.with(|kernel| kernel.exec_ns(thread, kernel.threads[thread].cpu == self.agent))
    }

    pub(crate) fn claim_idle(self, thread: usize, from: usize) -> Option<usize> {
        self.world.point();
        let found = self.with(|kernel| {
            let mask = kernel.threads[thread].mask;
            let count = kernel.cpus.len();
            let near = (0..count).map(|i| (from + i) % count);
            let found = near.into_iter().find(|&cpu| kernel.cpus[cpu].idle && mask >> cpu & 1 == 1);
            found.inspect(|&cpu| kernel.cpus[cpu].idle = false)
        });
        self.world.say(|| match found {
            Some(cpu) => format!("claims the idle CPU {cpu}"),
            None => "finds no idle CPU".to_string(),
        });
        found
    }

    /// Sent when interrupts are on again; several to one CPU become one.
    pub(crate) fn order_kick(self, cpu: usize, preempts: bool) {
        self.world
            .say(|| format!("orders a kick of CPU {cpu}{}", if preempts { " off" } else { "" }));
        self.with(|kernel| {
            let kicks = &mut kernel.agents[self.agent].kicks;
            match kicks.iter_mut().find(|(to, _)| *to == cpu) {
                Some((_, already)) => *already |= preempts,
                None => kicks.push((cpu, preempts)),
            }
        });
    }

    pub(crate) fn create(self, queue: u32) {
        self.with(|kernel| {
            kernel.queues.entry(queue).or_default();
        });
    }

    pub(crate) fn order_insert(self, thread: usize, queue: u32, slice_ns: u64, key: u64) {
        let known = self.with(|kernel| kernel.queues.contains_key(&queue));
        if !known {
            self.world.fail(format!("an insertion into queue {queue}, which does not exist"));
        }
        self.order(thread, slice_ns, Target::Queue(queue, key));
    }

    pub(crate) fn order_local(self, thread: usize, slice_ns: u64, head: bool, preempt: bool) {
        self.order(thread, slice_ns, Target::Local { head, preempt });
    }

    fn order(self, thread: usize, slice_ns: u64, target: Target) {
        let twice = self.with(|kernel| {
            let insertion = &mut kernel.agents[self.agent].insertion;
            insertion.replace((thread, slice_ns, target)).is_some()
        });
        if twice {
            self.world.fail(format!("thread {thread} is inserted twice"));
        }
    }

    pub(crate) fn waiting(self, queue: u32) -> Vec<usize> {
        self.world.point();
        self.with(|kernel| kernel.queues.get(&queue).cloned().unwrap_or_default())
    }

    /// How many insertions there were: what an iterator that begins now knows of.
    pub(crate) fn seq(self) -> u64 {
        self.with(|kernel| kernel.seq)
    }

    /// The next thread of a visit that knows of insertions up to `seq`; the last one it met, plus 1.
    pub(crate) fn visit(self, queue: u32, seq: u64, last: usize) -> Option<usize> {
        self.world.point();
        self.with(|kernel| {
            let place = |thread: usize| (kernel.threads[thread].key, kernel.threads[thread].seq);
            let waiting = kernel.queues.get(&queue)?.iter().copied();
            let mut known = waiting.filter(|&thread| kernel.threads[thread].seq <= seq);
            known.find(|&thread| last == 0 || place(thread) > place(last - 1))
        })
    }

    /// `scx_bpf_dsq_move`, with an iterator that knows of insertions up to `seq`: lets go of the CPU's own
    /// runqueue to lock the thread's, and does not find what came meanwhile.
    pub(crate) fn move_thread(self, queue: u32, thread: usize, seq: u64) -> Moved {
        let Some((cpu, _)) = self.with(|kernel| kernel.agents[self.agent].dispatch) else {
            self.world.fail("a move outside of dispatch".to_string());
            return Moved::Gone;
        };
        self.world.point();
        let exists = self.with(|kernel| thread < kernel.threads.len());
        if !exists {
            return Moved::Gone;
        }
        if !self.admits(thread, cpu) {
            return Moved::Refused;
        }
        self.unlock(Lock::Rq(cpu));
        let of = self.cpu_of(thread);
        self.lock(Lock::Rq(of));
        let found = self.with(|kernel| kernel.leave_queue(queue, thread, cpu, of, seq));
        self.unlock(Lock::Rq(of));
        self.lock(Lock::Rq(cpu));
        if found {
            self.with(|kernel| {
                kernel.threads[thread].place = Place::Local(cpu);
                kernel.cpus[cpu].local.push_back(thread);
            });
        }
        self.world.say(|| {
            format!(
                "thread {thread} {} from queue {queue}",
                if found { "moves" } else { "is not to be had" }
            )
        });
        if found { Moved::Moved } else { Moved::Gone }
    }

    pub(crate) fn set_slice(self, thread: usize, slice_ns: u64) {
        self.with(|kernel| kernel.threads[thread].slice_ns = slice_ns);
    }

    pub(crate) fn acquire(self, lock: Lock) {
        if self.with(|kernel| kernel.locks.get(&lock) == Some(&self.agent)) {
            self.world.fail(format!("{lock:?} is locked twice"));
        }
        self.lock(lock);
    }

    pub(crate) fn release(self, lock: Lock) {
        if self.with(|kernel| kernel.locks.get(&lock) != Some(&self.agent)) {
            self.world.fail(format!("{lock:?} is released by a stranger"));
        }
        self.unlock(lock);
    }
}

impl Kernel {
    /// The thread is on its way to another CPU, if it was in the queue and may go there.
    fn leave_queue(&mut self, queue: u32, thread: usize, cpu: usize, of: usize, seq: u64) -> bool {
        let row = &self.threads[thread];
        let known = row.place == Place::Queue(queue) && row.seq <= seq;
        let there = known && row.cpu == of && row.mask >> cpu & 1 == 1;
        if there {
            self.remove(thread);
            self.threads[thread].cpu = cpu;
        }
        there
    }
}
