/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dimension 1: which CPU gets work. One switch a question; each choice is a file beside this one.
 *
 *   rg_balance_fork    where a new thread begins
 *   rg_balance_wake    a thread wakes; its weight is in no sum yet
 *   rg_balance_place   the vruntime that it wakes with
 *   rg_balance_join    its weight is in the sums
 *   rg_balance_leave   it blocks, or leaves; its weight still is
 *   rg_balance_tick    a tick meets what a CPU runs
 *   rg_balance_before  a CPU is to choose: whether a thread of another queue goes before its own
 *   rg_balance_idle    a CPU has found no thread in its own queues: whether it has taken another
 */
#ifndef RG_BALANCE_H
#define RG_BALANCE_H

#include "credit.h"
#include "fork.h"
#include "gvts.h"
#include "steal.h"

RG_INLINE s32 rg_balance_fork(struct task_struct *t, s32 home)
{
	return RG_OPTION(balance) == RG_BALANCE_NONE ? home : rg_fork_cpu(t, home);
}

RG_INLINE void rg_balance_wake(struct task_struct *t, struct rg_thread *thread, u64 now)
{
	switch (RG_OPTION(balance)) {
	case RG_BALANCE_GVTS:
		rg_utilisation_wake(thread, now);
		break;
	case RG_BALANCE_CREDIT:
		rg_credits_wake(t, thread);
		break;
	}
}

RG_INLINE void rg_balance_place(struct rg_account *account, struct rg_thread *thread,
				struct rg_cpu *cpu, struct rg_queue *queue)
{
	if (RG_OPTION(balance) == RG_BALANCE_DWRR)
		rg_dwrr_place(account);
	else if (RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_TARGET)
		rg_gvts_place(account, thread);
	else
		rg_vruntime_place(account, thread, cpu, queue);
}

RG_INLINE void rg_balance_join(struct rg_thread *thread)
{
	if (RG_OPTION(balance) == RG_BALANCE_CREDIT)
		rg_credits_change(thread, thread->counted, 1);
}

RG_INLINE void rg_balance_leave(struct rg_thread *thread, u64 now)
{
	switch (RG_OPTION(balance)) {
	case RG_BALANCE_GVTS:
		rg_gvts_block(thread, now);
		break;
	case RG_BALANCE_CREDIT:
		rg_credits_change(thread, -(u64)thread->counted, -1);
		break;
	}
}

RG_INLINE void rg_balance_tick(struct rg_cpu *cpu, struct rg_thread *thread)
{
	if (RG_OPTION(balance) == RG_BALANCE_CREDIT)
		rg_credits_tick(cpu, thread);
}

/* `thread` is what the CPU could go on with, or 0. */
RG_INLINE bool rg_balance_before(s32 cpu, struct task_struct *prev, struct rg_thread *thread)
{
	switch (RG_OPTION(balance)) {
	case RG_BALANCE_GVTS:
		return rg_gvts_before(cpu, thread) || rg_gvts_far_behind(cpu, thread);
	case RG_BALANCE_DWRR:
		return rg_gvts_before(cpu, thread);
	case RG_BALANCE_CREDIT:
		return rg_credit_before(cpu, thread ? prev : 0);
	default:
		return 0;
	}
}

RG_INLINE bool rg_balance_idle(s32 cpu)
{
	return RG_OPTION(balance) != RG_BALANCE_CREDIT && rg_steal(cpu);
}

#endif
