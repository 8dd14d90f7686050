/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Threads bound to an overloaded CPU can never receive what their weight is due of the
 *          machine. Their virtual time falls behind that of the others without end, and with it
 *          grows what they are owed: once their load is gone, the last of them would have the CPU
 *          to itself for as long as the overload had lasted. One that is alone on its CPU for most
 *          of the time gets ahead without end, by what nobody else wanted.
 * Rule.    At each tick a CPU compares the virtual times of what waits for it and of what it runs.
 *          A set of which threads wait in another queue, too, is where the foremost of them is, as
 *          the last look has seen it.
 *          A set of several CPUs that is behind another such set by more than what that gets ahead
 *          in a turn and 300 ms is raised so far, with all vruntimes in it. Where several are
 *          behind, each takes part in what the others are raised by on CPUs that it may not use,
 *          and the last one may be as far behind the next one again. The threads that are bound to
 *          this CPU are moved as a whole, forward or back, until they are no further from the last
 *          of the sets. Where that is raised they are raised with it, as far as they are behind. A
 *          virtual time that has met no other for 300 ms has no lead to begin with: the others are
 *          raised to it, that of bound threads goes back to them. A thread that was placed before
 *          its min_vruntime does not put its virtual time behind. Where threads wait of the set of
 *          what the CPU runs, the set is where they are, and what runs is raised alone once it is
 *          behind them by more than 300 ms and their turn. Where none waits, the set is where it
 *          is.
 * Why.     Nothing that a weight means is lost: inside a virtual time all distances stay. Between
 *          two of them lag is bounded by a number that is independent of how long the machine runs.
 *          A set competes on many CPUs: if it followed what one bound thread finds left over on one
 *          CPU, it would come late on all others, and what is bound there would follow it. A set
 *          that cannot use what it is due is raised at every tick, on each of its CPUs. If bound
 *          threads, or another such set, were raised to the same floor by themselves, their weights
 *          would mean nothing: the set with a CPU of its own would be raised there, and the other
 *          one, which does not see that, would have what they share. A thread that has a CPU for
 *          all of the time cannot use more, however heavy it is: if its set were where it is, all
 *          others of the set would be raised as if they were owed what it is owed. Caches may be as
 *          far apart as sets: by what a CPU's own cache has of a set, others would be raised that
 *          wait for CPUs of a cache which is behind.
 * Figure.  A service that runs where it likes beside a thread of nice 19 bound to one of two CPUs,
 *          and one of nice 19 and a spinner bound to the other: p99.9 1.01 of the ideal, EEVDF 4.6.
 *          When sets followed, it was 5.5, and the second of nice 19 had 11.6% of a due 0.7%. A
 *          bound service of a heavy group that ran when its virtual time moved was raised to the
 *          floor alone, and lost what it was owed: p99.9 10.5, now 1.00. One that had its CPU to
 *          itself for 5 s when three spinners came: 187 while it kept 300 ms of its lead, now
 *          1.01. A group of weight 10,000 bound to one CPU of a set of 300, beside one of 50 that
 *          runs everywhere, has 100% of that CPU, with infeasible=off 37%. One of 100, due 75%, has
 *          78%, EEVDF 100%. Three groups of one weight in sets of two, three and two of three CPUs
 *          have 12.5% of the machine each, with infeasible=off 5.9, 14.8 and 16.8%, EEVDF 18.0,
 *          9.5 and 10.1%. A spinner of weight 300 and four that share a weight of 50, all in one
 *          set of two of four CPUs, have one each beside six others; when the set was where its
 *          foremost thread is, the four had 0.16. 100 draws of sets over two caches: the share
 *          furthest from its due is off by 0.2% of the machine, 1.0% when threads of all CPUs did
 *          not count beyond a queue, 3.2% when no set did. 24 draws over four caches: 0.4%, 1.8%
 *          when a set was where a CPU's own queue had it. docs/evidence/production-node.md.
 * Limits.  A CPU that has its tick off compares when it is on again. It compares sets of CPUs of
 *          which a tick has met a thread there, or to which one has come that waits near, and of
 *          other queues the next 8. Those that meet again within 300 ms keep their leads.
 */
#ifndef RG_CONVERGE_H
#define RG_CONVERGE_H

#include "balance/steal.h"
#include "meet.h"

/* The looks of a tick at the sets that wait for its CPU. */
enum rg_converging { RG_CONVERGE_NOTE, RG_CONVERGE_JOIN, RG_CONVERGE_RAISE };

/*
 * Where the i-th set of a queue is, of which threads may wait in others, too: there it may be
 * further behind. False: none of it waits any more, and none runs.
 */
RG_INLINE bool rg_foremost_of(u32 id, struct rg_vtime *vtime, struct rg_cpu *here, u32 i,
			      struct rg_foremost *first)
{
	bool beyond = here->span.beyond >> (i & (RG_CPUSETS - 1)) & 1;
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);
	bool waits;

	if (!queue || !lock)
		return 0;
	rg_acquire(lock);
	waits = queue->waiting >> (i & (RG_CPUSETS - 1)) & 1;
	if (waits)
		*first = rg_foremost(queue, vtime, here, i);
	else if (beyond)
		*first = rg_foremost_beyond(vtime, i);
	else
		*first = rg_foremost_running(here);
	rg_release(lock);
	if (beyond)
		rg_foremost_move(first, -rg_lead(first->vruntime, rg_waits_at(vtime)));
	return waits || beyond || here->vtime == i;
}

/*
 * Takes in the i-th set that competes for a CPU, or raises it. The verifier looks at one set by
 * itself: all of them in one loop would be more than it takes.
 */
RG_SUBPROGRAM bool rg_converge_set(s32 at, u32 i, enum rg_converging step)
{
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *here = rg_cpu(at);
	u32 id = rg_queue_of(at);
	struct rg_foremost first = {};
	struct rg_vtime *vtime;

	if (!shared || !here || !rg_is_admitted(shared, here, i))
		return 0;
	vtime = &shared->cpusets[rg_masked(i, RG_CPUSETS)].vtime;
	if (!rg_foremost_of(id, vtime, here, i, &first))
		return 0;
	if (step == RG_CONVERGE_NOTE) {
		rg_span_add(&here->span, vtime, first.vruntime);
		rg_span_note(&here->span, &first, here->vtime == i);
	} else if (step == RG_CONVERGE_JOIN) {
		rg_span_note_raised(&here->span, vtime, &first);
	} else {
		rg_span_raise_set(&here->span, vtime, &first);
		rg_span_note_last(&here->span, &first, here->vtime == i);
	}
	return 1;
}

/* The sets of what waits for a CPU, in its queue and beyond, and of what that runs. */
RG_INLINE u64 rg_sets_at(struct rg_queue *queue, struct rg_cpu *here)
{
	return queue->waiting | here->span.beyond |
	       (here->vtime < RG_CPUSETS ? 1ULL << here->vtime : 0);
}

/* Notes the sets that wait in the next of the other queues for a CPU. */
RG_SUBPROGRAM bool rg_look_beyond(s32 at)
{
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *here = rg_cpu(at);
	u64 waiting = rg_opaque(0);

	if (!shared || !here)
		return 0;
	RG_FOR(i, 1, RG_STEAL_ASKED + 1) {
		struct rg_queue *queue =
			rg_queue(rg_queue_after(rg_queue_of(at), i, shared->queues));

		if (i >= shared->queues)
			break;
		if (queue)
			waiting = rg_opaque(waiting | queue->waiting);
	}
	here->span.beyond = 0;
	RG_FOR_WAITING(i, waiting) {
		if (!rg_is_refused(shared, here, i))
			here->span.beyond |= 1ULL << i;
	}
	return 1;
}

/* The sets that compete for a CPU: they are no further apart then. */
RG_INLINE void rg_converge_sets(s32 at, struct rg_cpu *here)
{
	struct rg_queue *queue = rg_queue(rg_queue_of(at));
	u64 sets = queue ? rg_sets_at(queue, here) : 0;

	RG_FOR_WAITING(i, sets)
		rg_converge_set(at, i, RG_CONVERGE_NOTE);
	if (rg_are_behind(&here->span)) {
		RG_FOR_WAITING(i, sets)
			rg_converge_set(at, i, RG_CONVERGE_JOIN);
	}
	RG_FOR_WAITING(i, sets)
		rg_converge_set(at, i, RG_CONVERGE_RAISE);
	rg_publish_moved(rg_queue_of(at));
}

/* The foremost thread that is bound to the CPU, under the lock of its own queue. */
RG_INLINE struct rg_foremost rg_foremost_own(struct rg_queue *own, struct rg_cpu *here)
{
	struct rg_foremost running = { .vruntime = here->vruntime };

	running.floor = rg_held_back(here->vruntime, here->weight);
	return own->least == RG_NEVER ? running : rg_foremost(own, &own->vtime, here, 0);
}

/* How far behind bound threads may be. */
RG_INLINE u64 rg_own_floor(struct rg_span *span)
{
	return RG_OPTION(infeasible) ? span->last.floor : span->floor;
}

/*
 * How far bound threads that are behind the last of the sets take part in how far that was moved,
 * on whichever CPU: what they are behind it is what their weights mean. One that has woken since
 * was placed by where the set is now, so they do not get ahead of it.
 */
RG_INLINE u64 rg_follow(struct rg_shared *shared, struct rg_queue *own, struct rg_span *span,
			u64 vruntime)
{
	u64 shift = shared->cpusets[rg_masked(span->last.set, RG_CPUSETS)].vtime.shift;
	bool follows = own->follows == rg_some(span->last.set);
	u64 moved = follows ? rg_lead(shift, own->followed) : 0;
	u64 behind = rg_lead(span->last.vruntime, vruntime);

	if (!RG_OPTION(infeasible) || span->last.vruntime == RG_NEVER)
		return 0;
	own->follows = rg_some(span->last.set);
	own->followed = shift;
	return moved < behind ? moved : behind;
}

/* How far bound threads are moved that are too far behind the sets, or ahead of them. */
RG_INLINE u64 rg_return(struct rg_queue *own, struct rg_span *span, struct rg_foremost *first,
			bool exact)
{
	u64 ahead = exact ? first->vruntime : first->floor;
	u64 least = rg_latest(first->vruntime, own->vtime.min_vruntime);
	u64 sets = rg_span_least(span);
	u64 floor = rg_own_floor(span);

	if (floor != RG_NEVER && rg_before(least, floor))
		return floor - least;
	return rg_precedes(sets, ahead) ? sets - ahead : 0;
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
	bool exact;
	u64 moved;

	if (!own || !lock || span->count < 2)
		return;
	exact = span->known == RG_NEVER || rg_is_newcomer(&own->vtime, span->now);
	rg_meet(&own->vtime, span);
	rg_acquire(lock);
	first = rg_foremost_own(own, here);
	moved = exact ? 0 : rg_follow(shared, own, span, first.vruntime);
	rg_vtime_move(&own->vtime, moved);
	rg_foremost_move(&first, moved);
	if (own->least != RG_NEVER || exact)
		rg_vtime_move(&own->vtime, rg_return(own, span, &first, exact));
	rg_queue_publish(shared, own, 0);
	if (own->least != RG_NEVER && rg_precedes(own->least, span->bound.vruntime))
		span->bound = (struct rg_foremost){ .vruntime = own->least };
	rg_release(lock);
}

/* Whether all that waits for the CPU and what it runs share one virtual time. */
RG_INLINE bool rg_is_converged(struct rg_queue *queue, struct rg_queue *own, struct rg_cpu *here)
{
	if (queue == own)
		return 1;
	if (own->least != RG_NEVER)
		return queue->least == RG_NEVER && here->vtime == RG_VTIME_OF_QUEUE(here->own);
	return here->vtime < RG_CPUSETS && !(rg_sets_at(queue, here) & ~(1ULL << here->vtime));
}

/*
 * Compares them. Answers how far behind what the CPU runs may be by itself: behind those that wait
 * of its set, or the sets, if it is bound and none waits with which it is raised; RG_NEVER: as it
 * is.
 */
RG_SUBPROGRAM u64 rg_converge_at(s32 at)
{
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *here = rg_cpu(at);
	struct rg_queue *own = here ? rg_queue(here->own) : 0;
	bool bound;

	if (!shared || !own)
		return RG_NEVER;
	bound = own->is_own && (here->vtime >= RG_CPUSETS || own->least != RG_NEVER);
	rg_span_begin(&here->span, bound);
	rg_converge_sets(at, here);
	if (bound)
		rg_converge_own(shared, here, &here->span);
	if (here->vtime < RG_CPUSETS)
		return here->span.alone;
	return own->least == RG_NEVER ? rg_own_floor(&here->span) : RG_NEVER;
}

/*
 * In tick: no virtual time of those that compete for this CPU is left behind without bound. Answers
 * whether there are several.
 */
RG_INLINE bool rg_converge(struct rg_cpu *here, s32 at, struct task_struct *t,
			   struct rg_thread *thread)
{
	struct rg_queue *queue = rg_queue(rg_queue_of(at));
	struct rg_queue *own = rg_queue(here->own);
	struct rg_account *account = rg_account(t, thread);
	struct rg_shared *shared = rg_shared();
	u64 floor;

	if (RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_MACHINE || !queue || !own || !shared)
		return 0;
	rg_admit(shared, here, thread->cpuset);
	rg_look_beyond(at);
	if (rg_is_converged(queue, own, here))
		return 0;
	floor = rg_converge_at(at);
	rg_account_sync(account);
	if (floor != RG_NEVER)
		account->vruntime = rg_latest(account->vruntime, floor);
	here->vruntime = account->vruntime;
	return 1;
}

#endif
