/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Two threads of one CPU that wake each other by turns pay twice a round trip for the way
 *          through the queue and its index, although no other thread waits.
 * Rule.    A thread that wakes where it alone may run enters the CPU's local queue at once, if no
 *          thread waits there, it sleeps again soon, and it would be next in any case: as a later
 *          sibling of what the CPU runs, or with a vruntime that this passes before the end of a
 *          slice. It does not preempt. An earlier sibling goes on past the end of its slice, as the
 *          order wants it.
 * Why.     Pick, balance and starvation limit do not reach a thread in a local queue, and a slice
 *          that ends gives way to it. So only one thread goes there, and only one that is due. Let
 *          in with any vruntime, a thread of nice 19 that naps would take half of a CPU. Made to
 *          wait there for all of lesser vruntime, one waited for 46 s.
 * Figure.  A pipe round trip with one pair: docs/evidence/kernel.md, Cost. When threads of long
 *          bursts went there, too, the requests of a service waited for a slice each time that
 *          eight threads of a fork-join woke: p99.9 71 of the ideal, with the shorter credit of
 *          these (vruntime.h) now 1.02.
 * Limits.  A thread of lesser vruntime that comes after it waits for one turn of it, for a slice
 *          where that runs for longer than it has before.
 */
#ifndef RG_DIRECT_H
#define RG_DIRECT_H

#include "preempt.h"

#define RG_DIRECT_BURST_NS 100000 /* of a thread that runs longer the way is no more than 1% */

/* Whether a thread sleeps again soon, as far as is known. */
RG_INLINE bool rg_sleeps_soon(struct rg_thread *thread)
{
	return thread->burst_mean_ns < RG_DIRECT_BURST_NS;
}

/* Whether the thread comes after what the CPU runs, and right after. */
RG_INLINE bool rg_follows(struct rg_cpu *cpu, struct rg_thread *thread)
{
	u64 vruntime = thread->account.vruntime;
	u64 running = rg_vruntime_running(cpu, thread->queued_at);

	if (cpu->pool == thread->pool)
		return rg_thread_at(cpu->thread)->arrival <= thread->arrival;
	return !rg_before(vruntime + RG_PREEMPT_GRANULARITY_NS, running) &&
	       !rg_before(running + rg_virtual(RG_OPTION(slice_ns), cpu->weight), vruntime);
}

/* In enqueue, for a waking thread: whether it has entered the local queue. */
RG_INLINE bool rg_direct(struct task_struct *t, struct rg_thread *thread, struct rg_cpu *cpu,
			 s32 home)
{
	u32 shared = rg_queue_of(home);

	if (!cpu->pool || rg_follower(cpu) || !rg_is_pinned(t) || !rg_sleeps_soon(thread) ||
	    rg_is_waited_in(cpu->own) || (cpu->own != shared && rg_is_waited_in(shared)) ||
	    !rg_follows(cpu, thread))
		return 0;
	cpu->follower = thread->slot;
	thread->cpu = home;
	rg_insert_local(t, RG_OPTION(slice_ns), 0);
	return 1;
}

/* In stopping: the kernel runs the follower without asking. */
RG_INLINE void rg_direct_set_curr(struct rg_cpu *cpu)
{
	struct rg_thread *thread = rg_thread_at(cpu->follower);

	rg_cpu_set_curr(cpu, thread, thread->account.vruntime, rg_now());
}

/* Whether the least vruntime of a queue is less and another pool's. It may change at any moment. */
RG_INLINE bool rg_is_outdone_in(u32 id, struct rg_thread *thread)
{
	struct rg_queue *queue = rg_queue(id);

	return queue && rg_precedes(queue->least, thread->account.vruntime) &&
	       rg_thread_at(queue->first)->pool != thread->pool;
}

/* In tick: whether the thread that runs goes on before its follower. */
RG_INLINE bool rg_outlasts(struct rg_cpu *cpu, struct rg_thread *thread)
{
	u32 slot = rg_follower(cpu);
	struct rg_thread *follower = rg_thread_at(slot);

	return slot && follower->pool == thread->pool && follower->arrival >= thread->arrival &&
	       !rg_is_outdone_in(cpu->own, thread) &&
	       !rg_is_outdone_in(rg_queue_of(thread->cpu), thread);
}

#endif
