/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Threads bound to an overloaded CPU can never receive what their weight is due of the
 *          machine. Their virtual time falls behind that of the others without end, and with it
 *          grows what they are owed: once their load is gone, the last of them would have the CPU
 *          to itself for as long as the overload had lasted.
 * Rule.    At each tick a CPU compares the virtual times that wait for it. One that is behind the
 *          least waiting vruntime of another by more than what that gets ahead in a turn and 300 ms
 *          is raised so far, with all vruntimes in it. A thread that was placed before its
 *          min_vruntime does not put its virtual time behind.
 * Why.     Nothing that a weight means is lost: inside a virtual time all distances stay. Between
 *          two of them lag is bounded by a number that is independent of how long the machine runs.
 * Figure.  docs/evidence/production-node.md.
 * Limits.  A CPU that has its tick off compares when it is on again. It compares sets of CPUs of
 *          which a tick has met a thread there.
 */
#ifndef RG_CONVERGE_H
#define RG_CONVERGE_H

#include "vruntime.h"

RG_INLINE void rg_vtime_raise(struct rg_vtime *vtime, u64 by)
{
	rg_add(&vtime->shift, by);
	rg_add(&vtime->min_vruntime, by);
}

/*
 * Under the lock: how far the sets of a queue may be behind the foremost of them; if `raise`, those
 * that are behind the floor are raised to it.
 */
RG_INLINE u64 rg_converge_sets(struct rg_shared *shared, struct rg_queue *queue,
			       struct rg_cpu *here, u64 floor, bool raise)
{
	u64 waiting = queue->waiting;

	RG_FOR_WAITING(i, waiting) {
		struct rg_heap *heap = rg_heap_of(queue, i);
		struct rg_vtime *vtime = rg_vtime_waiting(shared, queue, i);
		u64 least = rg_heap_vruntime(heap, 0, vtime);

		if (!queue->is_own && !rg_is_admitted(shared, here, i))
			continue;
		if (raise && rg_before(least, vtime->min_vruntime))
			least = vtime->min_vruntime;
		if (raise && rg_before(least, floor))
			rg_vtime_raise(vtime, floor - least);
		if (raise)
			continue;
		least = rg_held_back(least, rg_thread_at(rg_heap_first(heap))->weight);
		floor = floor == RG_NEVER || rg_before(floor, least) ? least : floor;
	}
	return floor;
}

/* The same of the queue of this number. */
RG_INLINE u64 rg_converge_queue(struct rg_shared *shared, u32 id, struct rg_cpu *here, u64 floor,
				bool raise)
{
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);

	if (!queue || !lock || !rg_precedes(queue->least, raise ? floor : RG_NEVER))
		return floor;
	rg_acquire(lock);
	floor = rg_converge_sets(shared, queue, here, floor, raise);
	if (raise)
		rg_queue_publish(shared, queue, 0);
	rg_release(lock);
	return floor;
}

/* Whether all that waits for the CPU and what it runs share one virtual time. */
RG_INLINE bool rg_is_converged(struct rg_queue *queue, struct rg_queue *own, struct rg_cpu *here)
{
	if (queue == own)
		return 1;
	if (own->least != RG_NEVER)
		return queue->least == RG_NEVER && here->vtime == RG_VTIME_OF_QUEUE(here->own);
	return here->vtime < RG_CPUSETS && !(queue->waiting & ~(1ULL << here->vtime));
}

/* The floor of all that waits for a CPU, RG_NEVER: none; what is behind it is raised. */
RG_SUBPROGRAM u64 rg_converge_at(s32 at)
{
	u32 id = rg_queue_of(at);
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *here = rg_cpu(at);
	u64 floor;

	if (!shared || !here)
		return RG_NEVER;
	floor = rg_converge_queue(shared, id, here, RG_NEVER, 0);
	floor = rg_converge_queue(shared, here->own, here, floor, 0);
	rg_converge_queue(shared, id, here, floor, 1);
	rg_converge_queue(shared, here->own, here, floor, 1);
	return floor;
}

/* In tick: no virtual time of those that compete for this CPU is left behind without bound. */
RG_INLINE void rg_converge(struct rg_cpu *here, s32 at, struct task_struct *t,
			   struct rg_thread *thread)
{
	struct rg_queue *queue = rg_queue(rg_queue_of(at));
	struct rg_queue *own = rg_queue(here->own);
	struct rg_account *account = rg_account(t, thread);
	struct rg_shared *shared = rg_shared();
	u64 floor;

	if (RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_MACHINE || !queue || !own || !shared)
		return;
	rg_admit(shared, here, thread->cpuset);
	if (rg_is_converged(queue, own, here))
		return;
	floor = rg_converge_at(at);
	if (floor != RG_NEVER && rg_before(account->vruntime, floor))
		account->vruntime = floor;
}

#endif
