/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. A request that arrives while other processes spin waits for the end of a slice, or of
 *          several.
 * Rule.    A waking thread ends the slice of the CPU of its queue that runs the greatest vruntime
 *          of another pool, if that is more than 1 ms ahead. Siblings never preempt each other by
 *          waking.
 * Why.     Preempting a sibling would be last come, first served. Below 1 ms a switch costs more
 *          than the wait.
 * Figure.  Beside spinning threads p99 grows about tenfold without: docs/reference/policies.md.
 * Limits.  Of more than 8 CPUs it asks the one that was last seen to run the greatest vruntime, and
 *          seven others in turn.
 */
#ifndef RG_PREEMPT_H
#define RG_PREEMPT_H

#include "vruntime.h"

#define RG_PREEMPT_GRANULARITY_NS 1000000
#define RG_PREEMPT_ASKED 8

/* The i-th CPU to ask: all of a small domain from home on, else a part. */
RG_INLINE s32 rg_preempt_candidate(struct rg_queue *queue, s32 home, u32 i)
{
	u32 at = queue->cursor + i;

	if (queue->cpus <= RG_PREEMPT_ASKED)
		return rg_cpu_in(home, RG_OPTION(queue), i);
	if (!i)
		return queue->victim;
	return rg_cpu_in(queue->cpu, RG_OPTION(queue), at < queue->cpus ? at : at - queue->cpus);
}

/* Whether a CPU runs a helper of the thread's own process: no request waits for it. */
RG_INLINE bool rg_is_own_helper(struct rg_cpu *cpu, struct rg_thread *thread)
{
	struct rg_thread *running = rg_thread_at(cpu->thread);

	return running->helper && !thread->helper && running->process == thread->process;
}

/* The CPU to preempt for a thread that has just been queued, -1: none. */
RG_INLINE s32 rg_preempt_victim(struct task_struct *t, struct rg_thread *thread,
				struct rg_queue *queue, s32 home)
{
	u32 asked = queue->cpus < RG_PREEMPT_ASKED ? queue->cpus : RG_PREEMPT_ASKED;
	u64 vruntime = rg_account(t, thread)->vruntime;
	u64 lead = RG_PREEMPT_GRANULARITY_NS;
	s32 victim = -1;

	RG_FOR(i, 0, asked) {
		s32 at = rg_preempt_candidate(queue, home, i);
		struct rg_cpu *cpu = at < 0 ? 0 : rg_cpu(at);
		u64 ahead;

		if (!cpu)
			break;
		if (!cpu->pool || cpu->pool == thread->pool || cpu->ordered ||
		    !rg_may_run_on(t, at))
			continue;
		ahead = rg_less(rg_vruntime_running(cpu, thread->queued_at), vruntime);
		if (ahead && ahead <= lead && rg_is_own_helper(cpu, thread))
			ahead = lead + 1;
		if (ahead > lead) {
			lead = ahead;
			victim = at;
		}
	}
	queue->cursor += RG_PREEMPT_ASKED - 1;
	if (queue->cursor >= queue->cpus)
		queue->cursor = 0;
	return victim;
}

RG_INLINE void rg_preempt(struct task_struct *t, struct rg_thread *thread, s32 home)
{
	struct rg_queue *queue = rg_queue(rg_queue_of(home));
	struct rg_cpu *cpu;
	s32 victim;

	if (!queue)
		return;
	victim = rg_preempt_victim(t, thread, queue, home);
	cpu = victim < 0 ? 0 : rg_cpu(victim);
	if (!cpu)
		return;
	cpu->ordered = 1;
	rg_kick(victim, RG_KICK_PREEMPT);
}

#endif
