/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that a promise makes urgent (promise.h): how they come to the front. Their vruntime is
 * lowered below that of any thread that wakes fairly, by what makes it preempt. What virtual time
 * that is worth is what their group borrows: no surplus either. The pick, preemption and balance
 * need no other rule. A thread that becomes urgent while it waits is fetched by the next choice of
 * a CPU of its queue: of several, the one of the earliest deadline. The queue stands by arrival, so
 * of one promise that is the first.
 */
#ifndef RG_URGENT_H
#define RG_URGENT_H

#include "pick/starvation.h"
#include "preempt.h"

#define RG_URGENT_LEAD_NS (2 * RG_PREEMPT_GRANULARITY_NS)
#define RG_URGENT_SEEN 16 /* promised threads that are asked once one was found */
#define RG_URGENT_RETRY_NS 1000000ULL /* until a budget is asked again that had nothing */

/* What a thread's groups have received beyond their due is forgiven. */
RG_INLINE void rg_surplus_forgive(u32 at)
{
	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_group *group;

		if (!at)
			break;
		group = rg_group_at(at);
		if ((long long)group->surplus_ns > 0)
			group->surplus_ns = 0;
		at = group->parent;
	}
}

/* The thread goes before fair order, if it is urgent and its budget has something; whether so. */
RG_SUBPROGRAM bool rg_urgent_lend(u32 slot, u64 now)
{
	struct rg_thread *thread = rg_thread_at(slot);
	struct rg_promise *promise = &rg_group_at(thread->promise)->promise;
	struct rg_account *account = &thread->account;
	struct rg_vtime *vtime = rg_vtime_of_account(account);
	u64 front;

	thread->lent = RG_LENT_NOTHING;
	if (!thread->promise || !vtime || now < rg_urgent_at(thread, promise) ||
	    !rg_may_borrow(thread, promise, now))
		return 0;
	rg_account_shift(account, vtime);
	front = vtime->min_vruntime - RG_OPTION(wakeup_credit_ns) - RG_URGENT_LEAD_NS;
	if (rg_before(front, account->vruntime))
		account->vruntime = front;
	thread->owes_ns = 0;
	thread->lent = rg_serves(thread, now) ? RG_LENT_SERVES : RG_LENT_BUSY;
	rg_surplus_forgive(thread->group);
	return 1;
}

/*
 * A thread has woken, and has its vruntime, or its CPU is about to choose: one that computes all
 * the while learns there what its groups are promised now.
 */
RG_INLINE void rg_urgent_ask(struct rg_thread *thread, u64 now)
{
	if (!RG_OPTION(promises))
		return;
	thread->lent = RG_LENT_NOTHING;
	thread->promise = thread->group ? rg_promise_of(thread->slot) : 0;
	if (thread->promise)
		rg_urgent_lend(thread->slot, now);
}

/* When a choice shall look for a waiting thread: once it is urgent, whatever the heap says. */
RG_INLINE u64 rg_urgent_next(struct rg_thread *thread, u64 now)
{
	u64 urgent_at = rg_urgent_at(thread, &rg_group_at(thread->promise)->promise);

	if (thread->lent)
		return now;
	return urgent_at > now ? urgent_at : now + RG_URGENT_RETRY_NS;
}

/* In enqueue: a thread is about to wait in this queue. */
RG_SUBPROGRAM bool rg_urgent_wait(u32 slot, u32 id, u64 now)
{
	struct rg_thread *thread = rg_thread_at(slot);
	struct rg_queue *queue = rg_queue(id);

	if (!thread->promise || !queue)
		return 0;
	rg_urgent_lend(slot, now);
	rg_offer(&queue->urgent_at, rg_urgent_next(thread, now));
	return 1;
}

/*
 * Until when an urgent thread shall have been served; RG_NEVER: it is none. One that computes comes
 * after all that serve.
 */
RG_INLINE u64 rg_deadline(struct rg_thread *thread, u64 now)
{
	struct rg_promise *promise = &rg_group_at(thread->promise)->promise;

	if (!thread->promise || now < rg_urgent_at(thread, promise) ||
	    !rg_may_borrow(thread, promise, now))
		return RG_NEVER;
	return rg_serves(thread, now) ? rg_asked_at(thread) + promise->within_ns : RG_NEVER - 1;
}

/*
 * The thread of the earliest deadline that is urgent and may run here, by slot; 0: none, or the
 * CPU's own thread comes before it. Notes when to look again.
 */
RG_SUBPROGRAM u32 rg_find_urgent(s32 cpu, u32 id)
{
	struct rg_queue *queue = rg_queue(id);
	struct rg_cpu *here = rg_cpu(cpu);
	u64 first, next = rg_opaque(RG_NEVER);
	u32 found = rg_opaque(0), seen = rg_opaque(0);
	struct task_struct *t;
	u64 now;

	if (!queue || !here)
		return 0;
	now = here->ask.now;
	first = rg_deadline(rg_thread_at(here->ask.mine), now);
	RG_VISIT(t, id) {
		struct rg_thread *thread = rg_thread(t);
		u64 deadline, again;

		if (!thread || !thread->promise)
			continue;
		deadline = rg_deadline(thread, now);
		again = deadline == RG_NEVER ? rg_urgent_next(thread, now) : now;
		if (deadline < first && rg_may_run_on(t, cpu)) {
			again = found ? now : next;
			first = deadline;
			found = rg_slot(t);
		}
		if (again < next)
			next = again;
		if (found && ++seen == RG_URGENT_SEEN) {
			next = now;
			break;
		}
	}
	rg_offer(&queue->urgent_at, next);
	return found;
}

/* Brings an urgent thread of a queue, if one is. */
RG_SUBPROGRAM bool rg_pick_urgent_of(s32 cpu, u32 id)
{
	struct rg_queue *queue = rg_queue(id);
	struct rg_cpu *here = rg_cpu(cpu);
	u32 slot;

	if (!queue || !here || here->ask.now < queue->urgent_at)
		return 0;
	rg_swap(&queue->urgent_at, RG_NEVER);
	slot = rg_find_urgent(cpu, id);
	if (!slot || !rg_urgent_lend(slot, here->ask.now) || !rg_pick_row(cpu, id, slot))
		return 0;
	return 1;
}

/* The same of both queues of a CPU. */
RG_INLINE bool rg_pick_urgent(s32 cpu, struct rg_cpu *here, u32 shared)
{
	if (!RG_OPTION(promises))
		return 0;
	return (here->own != shared && rg_pick_urgent_of(cpu, here->own)) ||
	       rg_pick_urgent_of(cpu, shared);
}

#endif
