/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler: three dimensions put together, its callbacks in the kernel's order.
 *
 *   balance   which CPU gets work      balance/
 *   pick      which pool is next       pick/
 *   order     which of its threads     order/
 *
 * The frame is CTS's (section 3). token.h holds the account that pick compares, bucket.h what
 * belongs to a pool, weight.h the shares of groups, preempt.h who may interrupt whom.
 */
#ifndef RG_SCHEDULER_H
#define RG_SCHEDULER_H

#include "balance/credit.h"
#include "balance/gvts.h"
#include "balance/spread.h"
#include "balance/steal.h"
#include "order/order.h"
#include "preempt.h"

RG_CALLBACK s32 rg_init(void)
{
	return rg_queues_create();
}

RG_CALLBACK void rg_init_group(u32 at, u32 parent, u32 weight)
{
	struct rg_group *group = rg_group_at(at);

	group->share.active = 0;
	group->share.counted = 0;
	group->parent = parent;
	group->weight = weight;
}

RG_CALLBACK void rg_weigh_group(u32 at, u32 weight)
{
	rg_weight_of_group(at, weight);
}

/* Its row is another's as soon as init_group names it again. */
RG_CALLBACK void rg_exit_group(u32 at)
{
	(void)at;
}

RG_CALLBACK s32 rg_init_thread(struct task_struct *t, u32 group)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_thread blank = {};

	if (!thread)
		return -12; /* ENOMEM */
	*thread = blank;
	thread->exec_seen = rg_exec_ns(t);
	thread->slept_at = rg_now();
	thread->weight = RG_NORMAL_WEIGHT * RG_WEIGHT_ONE;
	rg_account_open(thread);
	thread->fresh = 1;
	thread->group = group;
	return 0;
}

RG_CALLBACK void rg_move_thread_group(struct task_struct *t, u32 group)
{
	struct rg_thread *thread = rg_thread(t);

	if (thread)
		thread->group = group;
}

/* An idle CPU takes the thread at once: a CPU idles only where no queue has work for it. */
RG_CALLBACK s32 rg_select_cpu(struct task_struct *t, s32 prev_cpu, u64 flags)
{
	struct rg_thread *thread = rg_thread(t);
	bool idle = 0;
	s32 cpu;

	if (RG_CHOSEN(balance) != RG_BALANCE_NONE && thread && thread->fresh)
		prev_cpu = rg_spread(t, prev_cpu);
	cpu = rg_default_cpu(t, prev_cpu, flags, &idle);
	if (idle)
		rg_insert_local(t, RG_CHOSEN(slice_ns), 0);
	return cpu;
}

RG_INLINE void rg_place(struct rg_account *account, struct rg_thread *thread, u64 edge)
{
	if (RG_CHOSEN(balance) == RG_BALANCE_GVTS)
		rg_gvts_place(account, thread);
	else if (RG_CHOSEN(balance) == RG_BALANCE_DWRR)
		rg_dwrr_place(account);
	else
		rg_token_place(account, edge);
}

/*
 * The one callback that every wake-up passes, pinned threads' too: here the thread gets its token
 * and its place.
 */
RG_CALLBACK void rg_runnable(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);
	s32 cpu = rg_thread_cpu(t);
	struct rg_account *account;
	u64 edge;

	if (!thread)
		return;
	edge = rg_token_edge(cpu);
	account = rg_account(t, thread);
	rg_utilisation_wake(thread);
	rg_bucket_drain(thread, rg_less(rg_now(), thread->slept_at));
	rg_token_enter(t, thread, rg_queue_of(cpu));
	thread->fresh = 0;
	if (RG_CHOSEN(balance) == RG_BALANCE_CREDIT)
		rg_account_wake(t, thread);
	if (rg_weight_join(t, thread))
		rg_place(account, thread, edge);
	if (RG_CHOSEN(balance) == RG_BALANCE_CREDIT)
		rg_account_change(thread, thread->counted, 1);
	thread->weight = rg_weight_effective(t, thread);
	thread->place = rg_order_place(thread);
}

RG_INLINE void rg_preempt_by(struct task_struct *t, struct rg_thread *thread, s32 home)
{
	if (RG_CHOSEN(pick) == RG_PICK_CREDIT)
		rg_preempt_credit(t, thread, home);
	else
		rg_preempt(t, thread, home);
}

/* Wakes an idle CPU for the thread, or preempts one for a thread that has just woken. */
RG_INLINE void rg_announce(struct task_struct *t, struct rg_thread *thread, s32 home, u64 flags)
{
	s32 idle = rg_pick_idle(t);

	if (idle >= 0)
		rg_kick(idle, RG_KICK_IDLE);
	else if (RG_CHOSEN(preempt) && (flags & RG_ENQUEUE_WAKEUP))
		rg_preempt_by(t, thread, home);
}

RG_CALLBACK void rg_enqueue(struct task_struct *t, u64 flags)
{
	struct rg_thread *thread = rg_thread(t);
	s32 home = rg_thread_cpu(t);
	u32 queue = rg_queue_of(home);

	if (!thread || rg_is_percpu_kthread(t)) {
		rg_insert_local(t, RG_CHOSEN(slice_ns), RG_INSERT_HEAD | RG_INSERT_PREEMPT);
		return;
	}
	rg_token_enter(t, thread, queue);
	if (!(flags & RG_ENQUEUE_WAKEUP))
		rg_order_again(thread);
	thread->queued_at = rg_now();
	rg_queue_least(queue, rg_account(t, thread)->token);
	rg_insert_ordered(t, queue, RG_CHOSEN(slice_ns), thread->place);
	rg_announce(t, thread, home, flags);
}

/* Whether balance has brought a thread that goes before all of this CPU's own. */
RG_INLINE bool rg_balance_before(s32 cpu, struct task_struct *prev, struct rg_thread *thread)
{
	if (rg_is_global())
		return rg_gvts_before(cpu, thread);
	if (RG_CHOSEN(balance) == RG_BALANCE_CREDIT)
		return rg_credit_before(cpu, thread ? prev : 0);
	return 0;
}

/*
 * Compares prev, which is in no queue now, with those who wait; whoever is best gets the next
 * slice.
 */
RG_CALLBACK void rg_dispatch(s32 cpu, struct task_struct *prev)
{
	struct rg_thread *thread = prev ? rg_thread(prev) : 0;

	if (thread && !rg_is_runnable(prev))
		thread = 0;
	if (thread) {
		rg_token_charge(prev, thread);
		rg_order_again(thread);
	}
	if (rg_balance_before(cpu, prev, thread))
		return;
	if (rg_pick_next(cpu, rg_queue_of(cpu), thread ? prev : 0))
		return;
	if (thread)
		rg_set_slice(prev, RG_CHOSEN(slice_ns));
	else if (RG_CHOSEN(balance) != RG_BALANCE_NONE && RG_CHOSEN(balance) != RG_BALANCE_CREDIT)
		rg_steal(cpu);
}

RG_CALLBACK void rg_running(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);

	if (!thread)
		return;
	thread->weight = rg_weight_effective(t, thread);
	rg_token_bring(rg_thread_cpu(t), t, thread);
	rg_class_show(rg_thread_cpu(t), t, thread);
}

RG_CALLBACK void rg_tick(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);
	s32 cpu = rg_thread_cpu(t);

	if (!thread)
		return;
	rg_token_charge(t, thread);
	thread->weight = rg_weight_effective(t, thread);
	rg_token_show(cpu, t, thread);
	rg_class_show(cpu, t, thread);
	rg_token_edge(cpu);
}

RG_CALLBACK void rg_stopping(struct task_struct *t, bool runnable)
{
	struct rg_thread *thread = rg_thread(t);
	s32 at = rg_thread_cpu(t);
	struct rg_cpu *cpu = rg_cpu(at);

	(void)runnable;
	if (!thread || !cpu)
		return;
	rg_token_charge(t, thread);
	if (cpu->thread != rg_thread_id(t))
		return; /* dispatch has already announced the next one */
	rg_token_show(at, t, thread);
	rg_token_edge(at);
	cpu->pool = 0;
}

/* The thread is no longer active. */
RG_INLINE void rg_cease(struct task_struct *t, struct rg_thread *thread)
{
	if (RG_CHOSEN(balance) == RG_BALANCE_CREDIT)
		rg_account_change(thread, -(u64)thread->counted, -1);
	rg_weight_leave(t, thread);
	rg_queue_move(thread, 0);
}

RG_CALLBACK void rg_quiescent(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);

	if (!thread)
		return;
	thread->slept_at = rg_now();
	rg_gvts_block(thread);
	rg_cease(t, thread);
}

/* Whoever goes to sleep has asked every queue that feeds it. */
RG_CALLBACK void rg_idle(s32 cpu)
{
	(void)cpu;
}

RG_CALLBACK void rg_exit_thread(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);

	if (!thread || !thread->counted)
		return;
	rg_cease(t, thread);
}

#endif
