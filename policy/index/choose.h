/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Which thread of the index is next for a CPU, when some may not run there, and the CPU
 *          has a runnable thread of its own?
 * Rule.    The pool of the least vruntime, of all heaps whose set of CPUs has this one. The CPU's
 *          own thread goes on if its vruntime is not greater, or if it comes first in that pool,
 *          and then takes the least vruntime for its own (CTS section 3). A pool whose first thread
 *          was not found a moment ago is passed over. Batch threads stay on their CPU while that
 *          lets them go early by no more than 10 ms of their CPU time, and not before threads that
 *          are bound to it.
 * Why.     A heap's threads have one set of CPUs, so its root answers for all of them. The two
 *          levels below it are for pools that are passed over and for batch threads that stay:
 *          nothing further down could be much better than the queue's order.
 * Figure.  Stickiness takes four fifths of the migrations inside a cache:
 *          docs/reference/policies.md.
 * Limits.  Where all of the 7 are passed over, the CPU asks again.
 */
#ifndef RG_INDEX_CHOOSE_H
#define RG_INDEX_CHOOSE_H

#include "../vruntime.h"

enum rg_verdict {
	RG_NOBODY,
	RG_STAYS, /* the CPU's own thread is the best */
	RG_TAKEN, /* another was popped, or has been moved */
};

/* What a decision changes in the index. */
enum rg_act {
	RG_ACT_NONE,
	RG_EXCHANGE,    /* the CPU's own thread takes the vruntime at a position for its own */
	RG_POP,         /* that vruntime, and the first thread of its pool, are taken out */
	RG_POP_SIBLING, /* the first thread of a row is; it runs on the vruntime of the CPU's own */
};

/* Which thread is next: a value that nothing has been changed for yet. */
struct rg_decision {
	u32 verdict; /* an rg_verdict */
	u32 act;     /* an rg_act */
	u32 cpuset;  /* the heap */
	u32 at;      /* a position in it; of RG_POP_SIBLING the row of the pool */
};

/* The best of a queue for a CPU: which heap and which position in it; RG_TOP: none. */
struct rg_best {
	u64 vruntime;
	u32 cpuset;
	u32 at;
};

/* Whether a pool has a thread that was not found missing just now. */
RG_INLINE bool rg_may_take(struct rg_cpu *here, u32 row)
{
	bool may = rg_pool_at(row)->waiting;

	RG_FOR(i, 0, RG_TRIES) {
		if (i >= here->ask.tries)
			break;
		if (here->ask.tried[rg_masked(i, RG_TRIES)] == row)
			may = 0;
	}
	return may;
}

/*
 * Whether a thread may be kept where it ran: it is batch, does not yield, and is no event loop that
 * is busy for most of the time, whose wake-ups would then wait for the end of slices.
 */
RG_INLINE bool rg_is_sticky(struct rg_cpu *here, struct rg_thread *thread)
{
	return thread->batch && !thread->owes_ns && !rg_yields(thread) &&
	       rg_less(here->ask.now, thread->woke_at) > RG_OPTION(burst_limit_ns);
}

/* A thread to be kept that ran last on this CPU (near) or on another. */
RG_INLINE bool rg_is_batch_of(struct rg_cpu *here, struct rg_entry *entry, bool near)
{
	struct rg_thread *first = rg_thread_at(rg_pool_at(entry->row)->first);

	return rg_is_sticky(here, first) && (first->cpu == here->ask.cpu) == near;
}

/* The CPU's own thread; meaningful where it has one. */
RG_INLINE struct rg_thread *rg_mine(struct rg_cpu *here)
{
	return rg_thread_at(here->ask.mine);
}

/*
 * The position of the least vruntime that the CPU may take, of batch threads that ran here last if
 * `near`; RG_TOP: none.
 */
RG_INLINE u32 rg_least_of_top(struct rg_heap *heap, struct rg_cpu *here, bool near)
{
	u32 best = rg_opaque(RG_TOP);

	RG_FOR(i, 0, RG_TOP) {
		struct rg_entry *entry = rg_heap_at(heap, i);

		if (i >= heap->count)
			break;
		if (!rg_may_take(here, entry->row) || (near && !rg_is_batch_of(here, entry, 1)))
			continue;
		if (best == RG_TOP || rg_heap_before(entry, rg_heap_at(heap, best)))
			best = i;
		if (!i)
			break;
	}
	return best;
}

/* The least vruntime of all heaps whose threads the CPU may take. */
RG_INLINE struct rg_best rg_best_of(struct rg_shared *shared, struct rg_queue *queue,
				    struct rg_cpu *here)
{
	struct rg_best best = {
		.vruntime = rg_opaque(RG_NEVER),
		.cpuset = rg_opaque(0),
		.at = rg_opaque(RG_TOP),
	};
	u64 waiting = queue->waiting;

	RG_FOR_WAITING(i, waiting) {
		struct rg_heap *heap = rg_heap_of(queue, i);
		u64 vruntime;
		u32 at;

		if (rg_is_refused(shared, here, i))
			continue;
		rg_index_tidy(heap);
		at = heap->count ? rg_least_of_top(heap, here, 0) : RG_TOP;
		if (at == RG_TOP && heap->count)
			here->ask.orphans |= !rg_pool_at(rg_heap_at(heap, 0)->row)->waiting;
		if (at == RG_TOP)
			continue;
		vruntime = rg_heap_vruntime(heap, at, rg_vtime_waiting(shared, queue, i));
		if (!rg_precedes(vruntime, best.vruntime))
			continue;
		best.vruntime = vruntime;
		best.cpuset = i;
		best.at = at;
	}
	return best;
}

/*
 * Whether a vruntime is so little later than another that the thread may go before it to stay. It
 * does not go before those that are bound to the CPU, which wait for this one alone.
 */
RG_INLINE bool rg_may_stick(struct rg_cpu *here, struct rg_thread *thread, u64 vruntime, u64 least)
{
	return !rg_precedes(here->ask.bound, vruntime) &&
	       !rg_before(least + rg_virtual(RG_OPTION(sticky_ns), thread->weight), vruntime);
}

/* Whom to prefer to a batch thread of another CPU: a position, RG_TOP for the CPU's own thread. */
RG_INLINE u32 rg_stick(struct rg_heap *heap, struct rg_cpu *here, struct rg_best *best)
{
	struct rg_entry *least = rg_heap_at(heap, best->at);
	struct rg_entry *entry;
	u32 near;

	if (!rg_is_batch_of(here, least, 0))
		return best->at;
	if (here->ask.mine && rg_is_sticky(here, rg_mine(here)) &&
	    rg_may_stick(here, rg_mine(here), here->ask.vruntime, best->vruntime))
		return RG_TOP;
	near = rg_least_of_top(heap, here, 1);
	if (near == RG_TOP)
		return best->at;
	entry = rg_heap_at(heap, near);
	if (!rg_may_stick(here, rg_thread_at(rg_pool_at(entry->row)->first), entry->vruntime,
			  least->vruntime))
		return best->at;
	return near;
}

/* Notes the first thread of a pool as picked and shows it, before it leaves the index. */
RG_INLINE void rg_pop_thread(struct rg_vtime *vtime, struct rg_cpu *here, u32 row, u64 vruntime)
{
	struct rg_pool *pool = rg_pool_at(row);
	struct rg_thread *thread = rg_thread_at(pool->first);
	struct rg_listing *pick = &here->ask.pick;

	pick->vruntime = vruntime;
	pick->key = pool->key;
	pick->cpuset = pool->cpuset;
	pick->slot = pool->first;
	pick->row = row;
	rg_cpu_set_curr(here, thread, vruntime + vtime->shift, here->ask.now);
	rg_vtime_note(vtime, thread, vruntime + vtime->shift, here->ask.now);
	rg_pool_unlink(pool, thread);
}

/* Pops a vruntime and the first thread of its pool. */
RG_INLINE void rg_pop(struct rg_heap *heap, struct rg_vtime *vtime, struct rg_cpu *here, u32 best)
{
	struct rg_entry entry = *rg_heap_at(heap, best);
	struct rg_pool *pool = rg_pool_at(entry.row);

	rg_pop_thread(vtime, here, entry.row, entry.vruntime);
	rg_heap_remove(heap, best);
	pool->vruntimes--;
	rg_pool_leave_if_empty(pool);
}

/*
 * The CPU's own thread holds the least vruntime. If a sibling arrived earlier it takes over that
 * vruntime; its own stays and is adopted when the other is enqueued.
 */
RG_INLINE struct rg_decision rg_decide_for_sibling(struct rg_cpu *here, u64 key)
{
	rg_maybe row = rg_pool_find(key, rg_mine(here)->last_row, 0);
	struct rg_pool *pool = rg_pool_at(rg_number(row));
	struct rg_decision stays = { .verdict = RG_STAYS };
	struct rg_decision yields = { .verdict = RG_TAKEN, .act = RG_POP_SIBLING };

	if (!row || !rg_may_take(here, rg_number(row)))
		return stays;
	if (rg_thread_at(pool->first)->arrival >= rg_mine(here)->arrival)
		return stays;
	yields.cpuset = pool->cpuset;
	yields.at = rg_number(row);
	return yields;
}

/* Whether the CPU's own thread comes first in the pool of the best. */
RG_INLINE bool rg_arrived_first(struct rg_heap *heap, struct rg_cpu *here, u32 at, u64 key)
{
	struct rg_pool *pool = rg_pool_at(rg_heap_at(heap, at)->row);

	return pool->key == key && rg_mine(here)->arrival <= rg_thread_at(pool->first)->arrival;
}

/* Under the lock: which thread is next. `key`: of the pool of the CPU's own thread. */
RG_INLINE struct rg_decision rg_decide(struct rg_queue *queue, struct rg_cpu *here,
				       struct rg_best *best, u64 key)
{
	struct rg_decision decision = { .verdict = RG_NOBODY, .cpuset = best->cpuset };
	struct rg_heap *heap = rg_heap_of(queue, best->cpuset);
	u32 at = best->at;

	if (at == RG_TOP)
		return decision;
	decision.verdict = RG_STAYS;
	if (here->ask.mine && !rg_before(best->vruntime, here->ask.vruntime))
		return rg_decide_for_sibling(here, key);
	if (here->ask.mine && !rg_mine(here)->owes_ns && rg_arrived_first(heap, here, at, key)) {
		decision.act = RG_EXCHANGE;
		decision.at = at;
		return decision;
	}
	if (RG_OPTION(sticky_ns))
		at = rg_stick(heap, here, best);
	if (at == RG_TOP)
		return decision;
	decision.verdict = RG_TAKEN;
	decision.act = RG_POP;
	decision.at = at;
	return decision;
}

/* Under the lock: decides, does so in the index, and answers the verdict. */
RG_INLINE u32 rg_choose(struct rg_shared *shared, struct rg_queue *queue, struct rg_cpu *here,
			u64 key)
{
	struct rg_best best = rg_best_of(shared, queue, here);
	struct rg_decision decision = rg_decide(queue, here, &best, key);
	struct rg_heap *heap = rg_heap_of(queue, decision.cpuset);
	struct rg_vtime *vtime = rg_vtime_waiting(shared, queue, decision.cpuset);

	switch (decision.act) {
	case RG_EXCHANGE:
		here->ask.vruntime = rg_heap_exchange(heap, decision.at,
						      here->ask.vruntime - vtime->shift) +
				     vtime->shift;
		break;
	case RG_POP:
		rg_pop(heap, vtime, here, decision.at);
		break;
	case RG_POP_SIBLING:
		rg_pop_thread(vtime, here, decision.at, here->ask.vruntime - vtime->shift);
		break;
	}
	rg_queue_publish(shared, queue, decision.cpuset);
	return decision.verdict;
}

#endif
