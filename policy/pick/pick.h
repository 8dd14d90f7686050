/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. The index names the next thread; only the kernel can say whether that thread is still in
 *          the queue, or already.
 * Rule.    Pop the next thread, move it, and put it back if the move fails; then try the next
 *          pool, or the next set of CPUs where this one does not admit the CPU, until all were
 *          tried. Threads that the index has no room for are found by a walk through the queue:
 *          the one of the least vruntime, if that is less than those of the index. A CPU that has
 *          met a thread that it may not take wakes the idle ones; one that may just have been too
 *          early asks again.
 * Why.     A thread that waits is in its queue whatever the index says, so no CPU may sleep on
 *          the index's word, nor on a failed move.
 * Figure.  docs/reference/policies.md.
 * Limits.  A walk is as long as the queue.
 */
#ifndef RG_PICK_H
#define RG_PICK_H

#include "../index/choose.h"
#include "../urgent.h"
#include "../vruntime.h"
#include "credit.h"
#include "starvation.h"

#define RG_AGAIN 8
#define RG_DEFERRED 16 /* threads that a choice lets wait on for what they owe */

/*
 * The thread has been moved: it runs on the vruntime that it was picked with. A thread alone may
 * have left a lesser one behind when it was taken from the queue without the index: its own counts.
 */
RG_SUBPROGRAM u32 rg_pick_settle(s32 cpu, u32 id)
{
	struct rg_shared *shared = rg_shared();
	struct rg_queue *queue = rg_queue(id);
	struct rg_cpu *here = rg_cpu(cpu);
	struct rg_account *account;
	struct rg_thread *thread;
	struct rg_vtime *vtime;
	u64 vruntime;
	bool alone;

	if (!shared || !queue || !here)
		return RG_NOBODY;
	thread = rg_thread_at(here->ask.pick.slot);
	account = &thread->account;
	vtime = rg_vtime_waiting(shared, queue, here->ask.pick.cpuset);
	vruntime = here->ask.pick.vruntime + vtime->shift;
	thread->waits = 0;
	rg_batch_leave(queue, thread);
	thread->cpu = cpu;
	rg_cpuset_count(shared, queue, here->ask.pick.cpuset, -1ULL);
	if (rg_extent_is_idle(rg_heap_of(queue, here->ask.pick.cpuset)))
		rg_extent_fit(id, here->ask.pick.cpuset);
	rg_weight_refresh(thread);
	if (RG_OPTION(fair) == RG_FAIR_THREAD) {
		alone = rg_pool_is_alone(thread->pool);
		rg_account_shift(account, vtime);
		if (!alone && account->vruntime != vruntime)
			here->inversions++;
		if (!alone || rg_before(account->vruntime, vruntime))
			account->vruntime = vruntime;
		if (RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_QUEUE)
			rg_renormalise(account, thread, rg_queue_of(cpu));
		vruntime = account->vruntime;
	}
	here->ask.gone |= here->ordered;
	rg_cpu_set_curr(here, thread, vruntime, here->ask.now);
	return RG_TAKEN;
}

/* The CPU's own thread, if it has one, is what it shows again. */
RG_INLINE void rg_pick_restore_curr(struct rg_cpu *here)
{
	if (here->ask.mine)
		rg_cpu_set_curr(here, rg_mine(here), here->ask.vruntime, here->ask.now);
	else
		here->pool = 0;
}

/* Wakes the idle CPUs of a queue: one of them may run what this one could not take. */
RG_INLINE void rg_pick_wake_others(struct rg_queue *queue, s32 here)
{
	RG_FOR(i, 0, RG_MAX_CPUS) {
		s32 at = rg_cpu_in(queue->cpu, RG_OPTION(queue), i);
		struct rg_cpu *cpu = at < 0 ? 0 : rg_cpu(at);

		if (!cpu)
			break;
		if (!cpu->pool && at != here)
			rg_kick(at, RG_KICK_IDLE);
	}
}

/*
 * Decides under the queue's lock. This and what follows are programs of their own because the
 * verifier multiplies the paths of whatever stands in one loop.
 */
RG_SUBPROGRAM u32 rg_pick_choose(s32 cpu, u32 id)
{
	struct rg_shared *shared = rg_shared();
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);
	struct rg_cpu *here = rg_cpu(cpu);
	u32 verdict, cpuset;
	u64 key = 0;

	if (!shared || !queue || !lock || !here)
		return RG_NOBODY;
	cpuset = queue->is_own ? 0 : rg_mine(here)->cpuset;
	if (here->ask.mine && here->ask.home == id)
		key = rg_pool_key(rg_mine(here)->pool, id, cpuset);
	here->ask.orphans = 0;
	rg_acquire(lock);
	verdict = rg_choose(shared, queue, here, key);
	rg_release(lock);
	return verdict;
}

/* Whether the thread that was popped is still of the set that it waited in: it may be back. */
RG_SUBPROGRAM bool rg_pick_is_of_its_set(s32 cpu)
{
	struct rg_cpu *here = rg_cpu(cpu);

	return here && rg_thread_at(here->ask.pick.slot)->cpuset == here->ask.pick.cpuset;
}

/*
 * The thread that was picked is not there, or may not run here: it goes back, and is not popped
 * again for this question.
 */
RG_SUBPROGRAM bool rg_pick_failed(s32 cpu, u32 id, u32 moved)
{
	struct rg_shared *shared = rg_shared();
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);
	struct rg_cpu *here = rg_cpu(cpu);
	u32 cpuset;

	if (!shared || !queue || !lock || !here)
		return 0;
	cpuset = here->ask.pick.cpuset;
	if (moved == RG_REFUSED && cpuset)
		rg_refuse(shared, here, cpuset);
	else
		here->ask.tried[rg_masked(here->ask.tries++, RG_TRIES)] = here->ask.pick.row;
	if (moved != RG_REFUSED)
		here->ask.gone = 1;
	rg_index_put_back(shared, lock, queue, id, &here->ask.pick);
	rg_pick_restore_curr(here);
	if (moved == RG_REFUSED)
		rg_pick_wake_others(queue, cpu);
	return here->ask.tries < RG_TRIES;
}

/* What a thread that was picked and owes runs on: the vruntime after an instalment, or all. */
RG_INLINE u64 rg_pick_pay(struct rg_cpu *here, struct rg_thread *thread, u64 vruntime)
{
	thread->instalments++;
	if (here->ask.deferred++ < RG_DEFERRED)
		return rg_debt_pay(thread, vruntime, vruntime);
	return rg_debt_pay_all(thread, vruntime);
}

/*
 * Whether the thread that was picked owes: it then pays and waits on. An idle CPU that missed it
 * meanwhile asks again.
 */
RG_SUBPROGRAM bool rg_pick_defers(s32 cpu, u32 id)
{
	struct rg_shared *shared = rg_shared();
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);
	struct rg_cpu *here = rg_cpu(cpu);
	struct rg_thread *thread;
	struct rg_vtime *vtime;

	if (!shared || !queue || !lock || !here)
		return 0;
	thread = rg_thread_at(here->ask.pick.slot);
	if (!thread->owes_ns || here->ask.deferred >= 2 * RG_DEFERRED)
		return 0;
	vtime = rg_vtime_waiting(shared, queue, here->ask.pick.cpuset);
	rg_weight_refresh(thread);
	here->ask.pick.vruntime = rg_pick_pay(here, thread, here->ask.pick.vruntime);
	if (rg_pool_is_alone(thread->pool)) {
		rg_account_shift(&thread->account, vtime);
		thread->account.vruntime = here->ask.pick.vruntime + vtime->shift;
	}
	rg_index_put_back(shared, lock, queue, id, &here->ask.pick);
	rg_pick_restore_curr(here);
	rg_pick_wake_others(queue, cpu);
	return 1;
}

/* Brings the next thread of a queue, as the index knows it: of each set of CPUs until one comes. */
RG_INLINE u32 rg_pick_indexed(u32 id, s32 cpu, struct rg_cpu *here)
{
	RG_FOR(i, 0, RG_TRIES + RG_CPUSETS) {
		u32 verdict = rg_pick_choose(cpu, id);
		u32 moved;

		if (verdict == RG_NOBODY && here->ask.orphans)
			continue; /* some of them are gone now */
		if (verdict != RG_TAKEN)
			return verdict;
		if (rg_pick_defers(cpu, id))
			continue;
		moved = rg_move_thread(id, here->ask.pick.slot);
		if (moved == RG_MOVED)
			return rg_pick_settle(cpu, id);
		if (moved == RG_REFUSED && !rg_pick_is_of_its_set(cpu))
			moved = RG_GONE;
		if (!rg_pick_failed(cpu, id, moved))
			break;
	}
	here->ask.gone |= here->ask.orphans;
	return RG_NOBODY;
}

/*
 * Of the threads that no heap has and that may run here, the one of the least vruntime, by slot, if
 * that is less than `limit`; 0: none.
 */
RG_SUBPROGRAM u32 rg_find_unlisted(s32 cpu, u32 id, u64 limit)
{
	struct task_struct *t;
	u64 least = rg_opaque(limit);
	u32 found = rg_opaque(0);

	RG_VISIT(t, id) {
		struct rg_thread *thread = rg_thread(t);

		if (!thread || !thread->unlisted ||
		    !rg_precedes(thread->account.vruntime, least) || !rg_may_run_on(t, cpu))
			continue;
		found = rg_slot(t);
		least = thread->account.vruntime;
	}
	return found;
}

/* The first of them of a pool, by slot. */
RG_SUBPROGRAM u32 rg_find_unlisted_of(s32 cpu, u32 id, u64 pool)
{
	struct task_struct *t;
	u32 found = 0;

	RG_VISIT(t, id) {
		struct rg_thread *thread = rg_thread(t);

		if (!thread || !thread->unlisted || thread->pool != pool || !rg_may_run_on(t, cpu))
			continue;
		found = rg_slot(t);
		break;
	}
	return found;
}

/* Brings a thread that no heap has, of a lesser vruntime than `limit`. */
RG_INLINE bool rg_pick_unlisted(s32 cpu, u32 id, u64 limit)
{
	u32 slot = rg_find_unlisted(cpu, id, limit);
	u64 pool = rg_thread_at(slot)->pool;

	if (slot && !rg_pool_is_alone(pool))
		slot = rg_find_unlisted_of(cpu, id, pool);
	return slot && rg_pick_row(cpu, id, slot);
}

/*
 * Brings the next thread of a queue to the CPU that has asked (rg_ask_for): an rg_verdict. One copy
 * for all callers, which share its stack.
 */
RG_SUBPROGRAM u32 rg_pick_from(s32 cpu, u32 id)
{
	struct rg_queue *queue = rg_queue(id);
	struct rg_cpu *here = rg_cpu(cpu);
	u32 verdict = RG_NOBODY;

	if (!queue || !here)
		return RG_NOBODY;
	if (queue->least != RG_NEVER)
		verdict = rg_pick_indexed(id, cpu, here);
	if (verdict != RG_NOBODY || here->ask.mine || !queue->unlisted)
		return verdict;
	return rg_pick_unlisted(cpu, id, RG_NEVER) ? RG_TAKEN : RG_NOBODY;
}

/* The CPU asks, with its own runnable thread or 0. */
RG_INLINE void rg_ask_for(struct rg_cpu *here, s32 cpu, struct task_struct *prev)
{
	struct rg_thread *mine = prev ? rg_thread(prev) : 0;
	struct rg_queue *own = rg_queue(here->own);

	here->ask.bound = own && own->is_own ? own->least : RG_NEVER;
	here->ask.mine = mine ? rg_slot(prev) : 0;
	here->ask.home = mine ? rg_queue_for(prev, here, cpu) : 0;
	here->ask.vruntime = mine ? rg_account(prev, mine)->vruntime : RG_NEVER;
	here->ask.cpu = cpu;
	here->ask.now = rg_now();
	here->ask.tries = 0;
	here->ask.deferred = 0;
	here->ask.gone = 0;
	here->ordered = 0;
	here->follower = 0; /* a CPU asks when its local queue is empty */
}

/*
 * A thread was found before it was in its queue, and popped for a moment. The CPU that was to be
 * preempted for it may have asked in that moment, and found none: whatever else this CPU got, it
 * asks again at once; at most RG_AGAIN times in a row, so that nothing can make it do so for ever.
 * The same if it was preempted after its choice, which the kernel forgets when it switches.
 */
RG_INLINE void rg_pick_again(struct rg_cpu *here)
{
	here->ask.again = here->ask.gone ? here->ask.again + 1 : 0;
	if (here->ask.again && here->ask.again <= RG_AGAIN)
		rg_kick(here->ask.cpu, RG_KICK_PREEMPT);
}

/*
 * Brings the next thread of another queue to this CPU, which has none of its own or leaves it.
 */
RG_SUBPROGRAM bool rg_pick_other(s32 cpu, u32 id)
{
	struct rg_cpu *here = rg_cpu(cpu);
	u32 verdict;

	if (!here)
		return 0;
	rg_ask_for(here, cpu, 0);
	verdict = rg_pick_from(cpu, id);
	rg_pick_again(here);
	return verdict == RG_TAKEN;
}

/* The CPU's own thread goes on, perhaps on another vruntime. */
RG_INLINE void rg_pick_keep(struct rg_cpu *here)
{
	struct rg_thread *mine = rg_mine(here);

	if (RG_OPTION(fair) == RG_FAIR_THREAD)
		mine->account.vruntime = here->ask.vruntime;
	rg_cpu_set_curr(here, mine, here->ask.vruntime, here->ask.now);
}

/* Brings a thread of one of the CPU's queues that has waited too long, where it is time to look. */
RG_INLINE bool rg_pick_starving(s32 cpu, struct rg_cpu *here, u32 shared)
{
	if (!RG_OPTION(starvation_limit) ||
	    here->choices & (RG_STARVATION_CHOICES - 1) & ~here->hurry)
		return 0;
	here->hurry = 0;
	return (here->own != shared && rg_pick_overdue(cpu, here->own)) ||
	       rg_pick_overdue(cpu, shared);
}

/* The least vruntime of the index whose thread the CPU may well take. */
RG_SUBPROGRAM u64 rg_least_for(s32 cpu, u32 id)
{
	struct rg_shared *shared = rg_shared();
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);
	struct rg_cpu *here = rg_cpu(cpu);
	u64 least = rg_opaque(RG_NEVER);
	u64 waiting;

	if (!shared || !queue || !lock || !here)
		return RG_NEVER;
	rg_acquire(lock);
	waiting = queue->waiting;
	RG_FOR_WAITING(i, waiting) {
		struct rg_heap *heap = rg_heap_of(queue, i);
		u64 vruntime = rg_heap_vruntime(heap, 0, rg_vtime_waiting(shared, queue, i));

		if (rg_precedes(vruntime, least) && !rg_is_refused(shared, here, i))
			least = vruntime;
	}
	rg_release(lock);
	return least;
}

/* The same of one that no heap has, and whose vruntime is the least. */
RG_INLINE bool rg_pick_least_unlisted(s32 cpu, struct rg_cpu *here, u32 shared)
{
	struct rg_queue *own = rg_queue(here->own);
	struct rg_queue *common = rg_queue(shared);
	u64 limit = here->ask.vruntime;
	u64 least;

	if (!own || !common || !(own->unlisted | common->unlisted))
		return 0;
	least = rg_least_for(cpu, shared);
	limit = rg_earliest(rg_earliest(limit, least), own->least);
	if (own->unlisted && rg_pick_unlisted(cpu, here->own, limit))
		return 1;
	return own != common && common->unlisted && rg_pick_unlisted(cpu, shared, limit);
}

/*
 * Of the two queues of a CPU, which may be one, the one with the lesser vruntime. Threads that are
 * bound to the CPU and come later may wait for one that could go to a CPU that idles soon.
 */
RG_INLINE u32 rg_pick_queue(struct rg_cpu *here, u32 shared)
{
	struct rg_queue *common = rg_queue(shared);

	if (here->own == shared || !common)
		return shared;
	if (rg_precedes(here->ask.bound, common->least))
		return here->own;
	if (here->ask.bound != RG_NEVER)
		common->crowded = rg_some(here->ask.cpu);
	return shared;
}

/*
 * Brings the next thread of the CPU's queues, the one that it shares and its own; `prev` is its
 * runnable thread or 0. Answers whether one was moved.
 */
RG_INLINE bool rg_pick_own(s32 cpu, struct task_struct *prev)
{
	struct rg_cpu *here = rg_cpu(cpu);
	u32 shared = rg_queue_of(cpu);
	u32 verdict = RG_NOBODY;
	u32 first;

	if (!here)
		return 0;
	if (RG_OPTION(pick) == RG_PICK_CREDIT)
		return rg_pick_credit(cpu, shared, prev);
	rg_ask_for(here, cpu, prev);
	here->choices++;
	if (rg_pick_starving(cpu, here, shared) || rg_pick_urgent(cpu, here, shared) ||
	    rg_pick_least_unlisted(cpu, here, shared))
		return 1;
	first = rg_pick_queue(here, shared);
	verdict = rg_pick_from(cpu, first);
	if (verdict == RG_NOBODY && here->own != shared)
		verdict = rg_pick_from(cpu, first == shared ? here->own : shared);
	rg_pick_again(here);
	if (verdict == RG_STAYS)
		rg_pick_keep(here);
	return verdict == RG_TAKEN;
}

#endif
