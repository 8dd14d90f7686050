/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Two sets of CPUs may come to compete at any moment: the CPUs of one become others, or a
 *          thread is the first that wakes for long. Their virtual times differ by whatever each
 *          has come to meanwhile. What is behind by seconds runs on, and each waking thread of the
 *          other set waits for it, until a tick compares them (converge.h).
 * Rule.    Where a thread wakes at a CPU that runs one of another set, and one of the two sets has
 *          met no other for 300 ms, that which is further behind than 300 ms is raised to the
 *          other.
 * Why.     That is what the tick does, and nothing is lost by it: inside a virtual time all
 *          distances stay, and sets that have not met owe each other nothing. A request waits less
 *          by up to a tick, and by the turn that had begun before it.
 * Figure.  Spinners' CPUs become those of a service: its p99.9 is 1.01 of the ideal, EEVDF 2.1, and
 *          was 17. docs/evidence/production-node.md, `set-meets-service`.
 * Limits.  Of another CPU that runs a thread of the raised set the next tick there says where that
 *          is. Pinned threads are compared in ticks alone.
 */
#ifndef RG_MEET_H
#define RG_MEET_H

#include "span.h"

/* Says to other CPUs where the threads are that wait in a queue, once their virtual times moved. */
RG_INLINE void rg_publish_moved(u32 id)
{
	struct rg_shared *shared = rg_shared();
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);

	if (!shared || !queue || !lock || queue->least == RG_NEVER)
		return;
	rg_acquire(lock);
	rg_queue_publish(shared, queue, 0);
	rg_release(lock);
}

/* Raises a set that is too far behind another one; answers by how much. */
RG_INLINE u64 rg_meet_raise(struct rg_vtime *behind, struct rg_vtime *ahead)
{
	u64 lag = rg_lead(ahead->min_vruntime, behind->min_vruntime);

	if (lag <= RG_HELD_BACK_NS)
		return 0;
	rg_vtime_move(behind, lag);
	return lag;
}

/* A thread of a set wakes at a CPU: what that runs may be of one that it has not met yet. */
RG_INLINE void rg_sets_meet(s32 at, struct rg_cpu *cpu, struct rg_vtime *waking)
{
	bool is_set = cpu->pool && cpu->vtime < RG_CPUSETS;
	struct rg_vtime *running = is_set ? rg_vtime_at(cpu->vtime) : 0;
	u64 now = rg_now();
	u64 raised;

	if (!running || !(rg_is_newcomer(waking, now) || rg_is_newcomer(running, now)))
		return;
	raised = rg_meet_raise(running, waking);
	if (raised)
		rg_add(&cpu->vruntime, raised);
	else if (!rg_meet_raise(waking, running))
		return;
	waking->met_at = now;
	running->met_at = now;
	rg_publish_moved(rg_queue_of(at));
}

#endif
