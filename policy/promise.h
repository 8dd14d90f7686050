/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. A fair scheduler makes an event loop at 80% wait for daemons that want 5%, for it has
 *          had its share. What helps today are real-time priorities, which bound nothing.
 * Rule.    A group may have a promise: a time within which its threads shall have been served that
 *          wake. Fair as always while they are young. A thread is urgent once its age, since it
 *          woke, would exceed half of that time before the next choice, a slice from now; of a
 *          promise of no more than two slices at once. It then goes before fair order, on a
 *          vruntime that its own is lowered to (urgent.h), if something is left of its group's
 *          budget. A budget fills by `at_most` of the machine's CPU time. All that the group
 *          receives while a thread waits is taken off. Below 0 the group is as fair as others.
 *          A thread that has computed for longer than the burst limit since it woke borrows from
 *          the upper half alone.
 * Why.     The other half is for siblings that came before, and for the service itself. A choice
 *          is certain only where a slice ends: to look between takes a timer a CPU. A budget that
 *          all is taken off bounds the group's share, due and borrowed together, without knowing
 *          what is due. What is lent is a gift: a loan would make the next requests late. A thread
 *          that computes for long is busy with something else, or an event loop with a backlog:
 *          half of the budget stays for those that serve.
 * Figure.  docs/reference/policies.md.
 * Limits.  A full budget, RG_PROMISE_SAVED_NS at that share, delays others once by so much. The age
 *          of an event loop is that of the first request since it slept, but with order=arrival.
 */
#ifndef RG_PROMISE_H
#define RG_PROMISE_H

#include "min_vruntime.h"
#include "order/arrival.h"

#define RG_MILLION 1000000
#define RG_PROMISE_SAVED_NS 100000000ULL /* the default period of cpu.max */
#define RG_PROMISE_SPAN_NS 1000000000ULL /* what a budget is filled for at most at once */

/* The promise that a thread's groups have, by the number of the group; 0: none. */
RG_SUBPROGRAM u32 rg_promise_of(u32 slot)
{
	u32 at = rg_thread_at(slot)->group;

	RG_FOR(i, 0, RG_DEPTH) {
		if (!at || rg_group_at(at)->promise.within_ns)
			break;
		at = rg_group_at(at)->parent;
	}
	return at;
}

/* Brings a budget up to date, after threads have run for so long; what is left. */
RG_INLINE long long rg_promise_settle(struct rg_promise *promise, u64 ran_ns)
{
	u64 now = rg_now();
	u64 since = promise->filled_at;
	u64 span_ns = rg_less(now, since);
	long long most_ns = promise->most_ns;
	long long left_ns;

	if (rg_compare_and_swap(&promise->filled_at, since, since + span_ns) != since)
		span_ns = 0;
	if (span_ns > RG_PROMISE_SPAN_NS)
		span_ns = RG_PROMISE_SPAN_NS;
	left_ns = rg_add(&promise->left_ns,
			 rg_div(span_ns * promise->share, RG_MILLION) - ran_ns);
	if (left_ns > most_ns)
		rg_add(&promise->left_ns, most_ns - left_ns);
	else if (left_ns < -most_ns)
		rg_add(&promise->left_ns, -most_ns - left_ns);
	return left_ns;
}

/* Whether a thread waits that could have what a CPU runs, or one was seen to wait elsewhere. */
RG_INLINE bool rg_is_contended(s32 at)
{
	struct rg_looking *looking = rg_looking_of(at);
	struct rg_queue *queue = rg_queue(rg_queue_of(at));
	struct rg_cpu *cpu = rg_cpu(at);
	struct rg_queue *own = cpu ? rg_queue(cpu->own) : 0;

	return (looking && looking->contended) || (queue && queue->least != RG_NEVER) ||
	       (own && own->least != RG_NEVER);
}

/* A thread has run for so long on a CPU. */
RG_SUBPROGRAM bool rg_promise_charge(u32 slot, s32 at, u64 ran_ns)
{
	struct rg_thread *thread = rg_thread_at(slot);

	if (!thread->promise || !rg_is_contended(at))
		return 0;
	rg_add(&rg_group_at(thread->promise)->promise.used_ns, ran_ns);
	rg_promise_settle(&rg_group_at(thread->promise)->promise, ran_ns);
	return 1;
}

/* When a thread that has not slept since becomes urgent. */
RG_INLINE u64 rg_urgent_at(struct rg_thread *thread, struct rg_promise *promise)
{
	return rg_asked_at(thread) + rg_less(promise->within_ns >> 1, RG_OPTION(slice_ns));
}

/* Whether it still serves what it woke for: it does not compute since. */
RG_INLINE bool rg_serves(struct rg_thread *thread, u64 now)
{
	return !thread->batch || rg_less(now, thread->woke_at) <= RG_OPTION(burst_limit_ns);
}

/* A thread has been served, whose wait began when it woke, or its request came. */
RG_SUBPROGRAM bool rg_promise_served(u32 slot, u64 now)
{
	struct rg_thread *thread = rg_thread_at(slot);
	struct rg_promise *promise = &rg_group_at(thread->promise)->promise;

	if (!thread->promise)
		return 0;
	rg_add(&promise->wakes, 1);
	if (rg_less(now, rg_asked_at(thread)) > promise->within_ns)
		rg_add(&promise->late, 1);
	return 1;
}

/* Whether a thread of a promised group may borrow. */
RG_INLINE bool rg_may_borrow(struct rg_thread *thread, struct rg_promise *promise, u64 now)
{
	long long kept_ns = rg_serves(thread, now) ? 0 : promise->most_ns >> 1;

	return rg_promise_settle(promise, 0) > kept_ns;
}

/*
 * A group has another promise: within_ns 0 is none; `share`: at_most, in millionths of a CPU. The
 * first one begins with a full budget, a later one with what is left, or owed, of the one before.
 */
RG_INLINE void rg_promise_make(u32 at, u64 within_ns, u64 share)
{
	struct rg_promise *promise = &rg_group_at(at)->promise;
	u64 most_ns = rg_div(share * RG_PROMISE_SAVED_NS, RG_MILLION);
	bool first = !promise->filled_at;

	rg_promise_settle(promise, 0);
	promise->share = share;
	if (share) /* what is owed outlives a promise */
		promise->most_ns = most_ns;
	if (first || (long long)promise->left_ns > (long long)most_ns)
		promise->left_ns = most_ns;
	promise->wakes = promise->late = promise->used_ns = 0;
	promise->within_ns = within_ns;
}

#endif
