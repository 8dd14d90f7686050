/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread becomes active and ceases to be: where every account begins and ends, for those that
 * wake and block and for those that a quota holds.
 */
#ifndef RG_ACTIVATE_H
#define RG_ACTIVATE_H

#include "balance/balance.h"
#include "meet.h"
#include "order/order.h"
#include "urgent.h"

/* The vruntime of a thread that wakes, which no look may overlook; `idle`: its account was. */
RG_SUBPROGRAM bool rg_place(struct task_struct *t RG_TRUSTED, s32 at, bool idle)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_cpu *cpu = rg_cpu(at);
	struct rg_queue *queue = cpu ? rg_queue(rg_queue_for(t, cpu, at)) : 0;
	struct rg_account *account;
	struct rg_vtime *vtime;

	if (!thread || !queue)
		return 0;
	account = rg_account(t, thread);
	vtime = rg_vtime_of_account(account);
	if (!vtime)
		return 0;
	if (idle && !queue->is_own && RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE)
		rg_sets_meet(at, cpu, vtime);
	if (idle)
		rg_balance_place(account, thread, cpu, queue);
	thread->cut_off = 0;
	rg_vtime_offer(vtime, account->vruntime);
	return 1;
}

/*
 * The thread begins to want a CPU, at this one: here it gets its vruntime and its arrival. `near`:
 * CPUs near it know of a set that is new to it.
 */
RG_INLINE void rg_activate_at(struct task_struct *t, struct rg_thread *thread, s32 at, u64 now,
			      bool near)
{
	struct rg_cpu *cpu = rg_cpu(at);

	if (!cpu)
		return;
	if (!thread->cut_off) /* it keeps its distance: no look comes between those of a group */
		rg_look_around(at, cpu, now);
	rg_burst_drain(t, thread, rg_less(now, thread->slept_at));
	rg_cpuset_refresh(t, thread, now);
	if (near)
		rg_attach_near(t, at);
	else
		rg_attach(t, at);
	thread->fresh = 0;
	if (thread->exec_seen == RG_NEVER)
		thread->exec_seen = rg_exec_ns(t);
	rg_balance_wake(t, thread, now);
	rg_place(t, at, rg_weight_join(t, thread));
	if (rg_has_quotas())
		rg_burst_begin(thread, now);
	rg_quota_join(thread);
	rg_balance_join(thread);
	rg_weight_refresh(thread);
	thread->woke_at = now;
	thread->arrival = rg_order_arrival(thread, rg_asked_at(thread));
	thread->pool = rg_pool(t, thread);
	rg_urgent_ask(thread, now);
}

RG_INLINE void rg_activate(struct task_struct *t, struct rg_thread *thread, s32 at, u64 now)
{
	rg_activate_at(t, thread, at, now, 1);
}

/* The thread counts no more among those that want a CPU. */
RG_INLINE void rg_withdraw(struct task_struct *t, struct rg_thread *thread)
{
	u64 now = rg_now();

	thread->slept_at = now;
	rg_balance_leave(thread, now);
	rg_weight_leave(t, thread);
	rg_quota_leave(thread);
	rg_queue_move(thread, 0);
}

/* The thread ceases to want a CPU. */
RG_INLINE void rg_deactivate(struct task_struct *t, struct rg_thread *thread)
{
	rg_burst_end(t, thread);
	if (RG_OPTION(promises))
		rg_promise_served(thread->slot, rg_now());
	rg_withdraw(t, thread);
}

#endif
