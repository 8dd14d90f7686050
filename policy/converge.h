/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Threads bound to an overloaded CPU can never receive what their weight is due of the
 *          machine. Their virtual time falls behind that of the others without end, and with it
 *          grows what they are owed: once their load is gone, the last of them would have the CPU
 *          to itself for as long as the overload had lasted. One that is alone on its CPU for most
 *          of the time gets ahead without end, by what nobody else wanted.
 * Rule.    At each tick a CPU compares the virtual times of what waits for it and of what it runs.
 *          A set of several CPUs that is behind another such set by more than what that gets ahead
 *          in a turn and 300 ms is raised so far, with all vruntimes in it. The threads that are
 *          bound to this CPU are moved as a whole, forward or back, until they are no further from
 *          the sets. A thread that was placed before its min_vruntime does not put its virtual time
 *          behind. What the CPU runs is raised alone only where its virtual time has none that
 *          waits.
 * Why.     Nothing that a weight means is lost: inside a virtual time all distances stay. Between
 *          two of them lag is bounded by a number that is independent of how long the machine runs.
 *          A set competes on many CPUs: if it followed what one bound thread finds left over on one
 *          CPU, it would come late on all others, and what is bound there would follow it.
 * Figure.  A service that runs where it likes beside a thread of nice 19 bound to one of two CPUs,
 *          and one of nice 19 and a spinner bound to the other: p99.9 1.01 of the ideal, EEVDF 4.6.
 *          When sets followed, it was 5.5, and the second of nice 19 had 11.6% of a due 0.7%. A
 *          bound service of a heavy group that ran when its virtual time moved was raised to the
 *          floor alone, and lost what it was owed: p99.9 10.5, now 1.00.
 *          docs/evidence/production-node.md.
 * Limits.  A CPU that has its tick off compares when it is on again. It compares sets of CPUs of
 *          which a tick has met a thread there. Sets of several CPUs still follow each other.
 */
#ifndef RG_CONVERGE_H
#define RG_CONVERGE_H

#include "vruntime.h"

/* The least vruntime of a set at a CPU, and the weight that it has: of those that wait or run. */
struct rg_foremost {
	u64 vruntime;
	u64 weight;
};

/* Under the lock: that of the i-th set of a queue, in which a thread waits. */
RG_INLINE struct rg_foremost rg_foremost(struct rg_queue *queue, struct rg_vtime *vtime,
					 struct rg_cpu *here, u32 i)
{
	u32 id = queue->is_own ? RG_VTIME_OF_QUEUE(here->own) : i;
	struct rg_heap *heap = rg_heap_of(queue, i);
	struct rg_foremost least = { .vruntime = rg_heap_vruntime(heap, 0, vtime) };

	least.weight = rg_thread_at(rg_heap_first(heap))->weight;
	if (here->vtime == id && rg_before(here->vruntime, least.vruntime)) {
		least.vruntime = here->vruntime;
		least.weight = here->weight;
	}
	return least;
}

/* Between which vruntimes the sets of several CPUs are that compete for one; RG_NEVER: none do. */
struct rg_span {
	u64 least;
	u64 floor; /* how far behind the foremost of them others may be */
};

/* Under the lock: takes in the sets of a queue in which threads wait. */
RG_INLINE void rg_span_of(struct rg_shared *shared, struct rg_queue *queue, struct rg_cpu *here,
			  struct rg_span *span)
{
	u64 waiting = queue->waiting;

	RG_FOR_WAITING(i, waiting) {
		struct rg_vtime *vtime = rg_vtime_waiting(shared, queue, i);
		struct rg_foremost first = rg_foremost(queue, vtime, here, i);
		u64 floor = rg_held_back(first.vruntime, first.weight);

		if (!rg_is_admitted(shared, here, i))
			continue;
		span->least = rg_earliest(span->least, first.vruntime);
		span->floor = span->floor == RG_NEVER ? floor : rg_latest(span->floor, floor);
	}
}

/* Under the lock: raises those that are behind the floor. */
RG_INLINE void rg_span_raise(struct rg_shared *shared, struct rg_queue *queue,
			     struct rg_cpu *here, u64 floor)
{
	u64 waiting = queue->waiting;

	RG_FOR_WAITING(i, waiting) {
		struct rg_vtime *vtime = rg_vtime_waiting(shared, queue, i);
		u64 first = rg_foremost(queue, vtime, here, i).vruntime;
		u64 least = rg_latest(first, vtime->min_vruntime);

		if (rg_is_admitted(shared, here, i) && rg_before(least, floor))
			rg_vtime_move(vtime, floor - least);
	}
}

/* The sets of a queue, which are no further apart then; and what the CPU runs of one of them. */
RG_INLINE struct rg_span rg_converge_sets(struct rg_shared *shared, u32 id, struct rg_cpu *here)
{
	struct rg_span span = { .least = RG_NEVER, .floor = RG_NEVER };
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);

	if (here->vtime < RG_CPUSETS)
		span.least = here->vruntime;
	if (!queue || !lock || queue->least == RG_NEVER)
		return span;
	rg_acquire(lock);
	rg_span_of(shared, queue, here, &span);
	if (span.floor != RG_NEVER) {
		rg_span_raise(shared, queue, here, span.floor);
		span.least = rg_latest(span.least, span.floor);
	}
	rg_queue_publish(shared, queue, 0);
	rg_release(lock);
	return span;
}

/*
 * The threads that are bound to the CPU, in whose virtual time no other CPU takes part: it moves to
 * where the sets are.
 */
RG_INLINE void rg_converge_own(struct rg_shared *shared, struct rg_cpu *here, struct rg_span *span)
{
	struct rg_queue *own = rg_queue(here->own);
	struct rg_lock *lock = rg_lock_of(here->own);
	struct rg_foremost first;
	u64 ahead, least;

	if (!own || !lock || own->least == RG_NEVER)
		return;
	rg_acquire(lock);
	first = rg_foremost(own, &own->vtime, here, 0);
	ahead = rg_held_back(first.vruntime, first.weight);
	least = rg_latest(first.vruntime, own->vtime.min_vruntime);
	if (span->floor != RG_NEVER && rg_before(least, span->floor))
		rg_vtime_move(&own->vtime, span->floor - least);
	else if (rg_precedes(span->least, ahead))
		rg_vtime_move(&own->vtime, span->least - ahead);
	rg_queue_publish(shared, own, 0);
	rg_release(lock);
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

/* Whether threads wait for the CPU in the virtual time of what it runs: that moves with theirs. */
RG_INLINE bool rg_is_moved(struct rg_queue *queue, struct rg_queue *own, struct rg_cpu *here)
{
	if (here->vtime >= RG_CPUSETS)
		return own->least != RG_NEVER;
	return queue->waiting >> here->vtime & 1;
}

/* The floor of the sets that wait for a CPU; RG_NEVER: none. What is behind it is raised. */
RG_SUBPROGRAM u64 rg_converge_at(s32 at)
{
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *here = rg_cpu(at);
	struct rg_span span;

	if (!shared || !here)
		return RG_NEVER;
	span = rg_converge_sets(shared, rg_queue_of(at), here);
	rg_converge_own(shared, here, &span);
	return span.floor;
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
	rg_account_sync(account);
	if (floor != RG_NEVER && !rg_is_moved(queue, own, here))
		account->vruntime = rg_latest(account->vruntime, floor);
	here->vruntime = account->vruntime;
}

#endif
