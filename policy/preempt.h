/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. A request that arrives while other processes spin waits for the end of a slice, or of
 *          several.
 * Rule.    A waking thread ends the slice of the CPU of its queue that runs the greatest vruntime
 *          of another pool, if that is more than 1 ms ahead. Where its queue has none, it goes to
 *          the queue of the CPU of the machine that has. Siblings never preempt each other by
 *          waking.
 * Why.     Preempting a sibling would be last come, first served. Below 1 ms a switch costs more
 *          than the wait. A cache may be full of siblings while others run batch threads.
 * Figure.  Beside spinning threads p99 grows about tenfold without: docs/reference/policies.md.
 * Limits.  Of more than 8 CPUs of its queue it asks the one that was last seen to run the greatest
 *          vruntime, its own, and six others in turn. Of those beyond it asks the next 8 and, where
 *          there are more, 8 in turn.
 */
#ifndef RG_PREEMPT_H
#define RG_PREEMPT_H

#include "vruntime.h"

#define RG_PREEMPT_GRANULARITY_NS 1000000
#define RG_PREEMPT_ASKED 8
#define RG_PREEMPT_NEXT 8    /* CPUs of other queues that follow home */
#define RG_PREEMPT_BEYOND 16 /* these, and others by turns */

/* The i-th CPU to ask of the queue: all of a small domain from home on, else a part. */
RG_INLINE s32 rg_preempt_near(struct rg_queue *queue, s32 home, u32 i)
{
	u32 at = queue->cursor + i;

	if (queue->cpus <= RG_PREEMPT_ASKED)
		return rg_cpu_in(home, RG_OPTION(queue), i);
	if (i < 2)
		return i ? home : (s32)queue->victim;
	return rg_cpu_in(queue->cpu, RG_OPTION(queue), at < queue->cpus ? at : at - queue->cpus);
}

/* The i-th CPU to ask beyond the queue: all of a small machine from home on, else a part. */
RG_INLINE s32 rg_preempt_far(struct rg_queue *queue, s32 home, u32 i)
{
	u32 cpus = RG_OPTION(cpus);
	u32 at = i + 1;

	if (cpus > RG_PREEMPT_BEYOND && i >= RG_PREEMPT_NEXT)
		at = queue->beyond + i;
	return rg_cpu_in(home, RG_LEVEL_MACHINE, at < cpus ? at : at - cpus);
}

/* Whether a CPU runs a helper of the thread's own process: no request waits for it. */
RG_INLINE bool rg_is_own_helper(struct rg_cpu *cpu, struct rg_thread *thread)
{
	struct rg_thread *running = rg_thread_at(cpu->thread);

	return running->helper && !thread->helper && running->process == thread->process;
}

/* By how much what a CPU runs is ahead of a waking thread of another pool. */
RG_INLINE u64 rg_preempt_lead(struct rg_cpu *cpu, struct rg_thread *thread, u64 vruntime)
{
	u64 ahead;

	if (!cpu->pool || cpu->pool == thread->pool || cpu->ordered)
		return 0;
	ahead = rg_less(rg_vruntime_running(cpu, thread->queued_at), vruntime);
	if (ahead && ahead <= RG_PREEMPT_GRANULARITY_NS && rg_is_own_helper(cpu, thread))
		return RG_PREEMPT_GRANULARITY_NS + 1;
	return ahead;
}

/* The next looks for a victim begin elsewhere. */
RG_INLINE void rg_preempt_turn(struct rg_queue *queue)
{
	queue->cursor += RG_PREEMPT_ASKED - 2;
	if (queue->cursor >= queue->cpus)
		queue->cursor = 0;
	queue->beyond += RG_PREEMPT_BEYOND - RG_PREEMPT_NEXT;
	if (queue->beyond + RG_PREEMPT_BEYOND > RG_OPTION(cpus))
		queue->beyond = 0;
}

/* The CPU to preempt for a waking thread, -1: none. */
RG_INLINE s32 rg_preempt_victim(struct task_struct *t, struct rg_thread *thread, s32 home)
{
	u32 id = rg_queue_of(home);
	struct rg_queue *queue = rg_queue(id);
	u64 vruntime = rg_account(t, thread)->vruntime;
	u64 lead = RG_PREEMPT_GRANULARITY_NS;
	s32 victim = -1;
	u32 near, all;

	if (!queue)
		return -1;
	near = queue->cpus < RG_PREEMPT_ASKED ? queue->cpus : RG_PREEMPT_ASKED;
	all = near;
	if (RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE && queue->cpus < RG_OPTION(cpus))
		all += RG_PREEMPT_BEYOND;
	RG_FOR(i, 0, all) {
		s32 at = i < near ? rg_preempt_near(queue, home, i)
				  : rg_preempt_far(queue, home, i - near);
		struct rg_cpu *cpu = at < 0 ? 0 : rg_cpu(at);
		u64 ahead;

		if (!cpu || (i == near && victim >= 0))
			break;
		if ((i < near) != (rg_queue_of(at) == id) || !rg_may_run_on(t, at))
			continue;
		ahead = rg_preempt_lead(cpu, thread, vruntime);
		if (ahead > lead) {
			lead = ahead;
			victim = at;
		}
	}
	rg_preempt_turn(queue);
	return victim;
}

/* The same of a thread that may run on one CPU alone. */
RG_INLINE s32 rg_preempt_home(struct task_struct *t, struct rg_thread *thread, s32 home)
{
	struct rg_cpu *cpu = rg_cpu(home);

	if (!cpu || rg_preempt_lead(cpu, thread, rg_account(t, thread)->vruntime) <=
			    RG_PREEMPT_GRANULARITY_NS)
		return -1;
	return home;
}

RG_INLINE void rg_preempt(s32 victim)
{
	struct rg_cpu *cpu = victim < 0 ? 0 : rg_cpu(victim);

	if (!cpu)
		return;
	cpu->ordered = 1;
	rg_kick(victim, RG_KICK_PREEMPT);
}

#endif
