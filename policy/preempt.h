/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. A request that arrives while other processes spin waits for the end of a slice, or of
 *          several.
 * Rule.    A waking thread ends the slice of the CPU of its queue that runs the greatest vruntime
 *          of another pool, if that is more than 1 ms ahead. Where its queue has none, it goes to
 *          the queue of the CPU of the machine that has. Siblings never preempt each other by
 *          waking, nor do threads that hand on work to each other (hand_on.h). What a promise
 *          makes urgent preempts what is not, and not the other way (urgent.h).
 * Why.     Preempting a sibling would be last come, first served. Below 1 ms a switch costs more
 *          than the wait. A cache may be full of siblings while others run batch threads.
 * Figure.  Beside spinning threads p99 grows about tenfold without: docs/reference/policies.md.
 * Limits.  Of more than 8 CPUs of its queue it asks the one that was last seen to run the greatest
 *          vruntime, its own, and six others in turn. Of those beyond it asks the next 8 and, where
 *          there are more, 8 in turn.
 */
#ifndef RG_PREEMPT_H
#define RG_PREEMPT_H

#include "hand_on.h"
#include "vruntime.h"

#define RG_PREEMPT_GRANULARITY_NS 1000000
#define RG_PREEMPT_URGENT (1ULL << 62) /* above any lead in virtual time */
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

/* How many CPUs of the queue to ask. */
RG_INLINE u32 rg_preempt_asked(struct rg_queue *queue)
{
	return queue->cpus < RG_PREEMPT_ASKED ? queue->cpus : RG_PREEMPT_ASKED;
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

/* By how much what a CPU runs is ahead of a waking thread of another pool that may run there. */
RG_SUBPROGRAM u64 rg_preempt_lead(struct task_struct *t RG_TRUSTED, s32 at)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_cpu *cpu = at < 0 ? 0 : rg_cpu(at);
	u64 ahead;

	if (!thread || !cpu || !cpu->pool || cpu->pool == thread->pool || cpu->ordered ||
	    !rg_may_run_on(t, at))
		return 0;
	ahead = rg_lead(rg_vruntime_running(cpu, thread->queued_at),
			rg_account(t, thread)->vruntime);
	if (RG_OPTION(promises) && thread->lent != rg_thread_at(cpu->thread)->lent)
		return thread->lent > rg_thread_at(cpu->thread)->lent ? ahead + RG_PREEMPT_URGENT
								      : 0;
	if (rg_is_same_work(thread, rg_thread_at(cpu->thread)))
		return 0;
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

/* Of the CPUs of the thread's queue the one to preempt, -1: none. */
RG_SUBPROGRAM s32 rg_preempt_in(struct task_struct *t RG_TRUSTED, s32 home)
{
	struct rg_queue *queue = rg_queue(rg_queue_of(home));
	u64 lead = rg_opaque(RG_PREEMPT_GRANULARITY_NS);
	s32 victim = rg_opaque(-1);
	u32 asked;

	if (!queue)
		return -1;
	asked = rg_preempt_asked(queue);
	RG_FOR(i, 0, asked) {
		s32 at = rg_preempt_near(queue, home, i);
		u64 ahead = rg_preempt_lead(t, at);

		if (ahead > lead) {
			lead = ahead;
			victim = at;
		}
	}
	return victim;
}

/* The same of the other CPUs of the machine. */
RG_SUBPROGRAM s32 rg_preempt_beyond(struct task_struct *t RG_TRUSTED, s32 home)
{
	u32 id = rg_queue_of(home);
	struct rg_queue *queue = rg_queue(id);
	u64 lead = rg_opaque(RG_PREEMPT_GRANULARITY_NS);
	s32 victim = rg_opaque(-1);

	if (!queue || queue->cpus >= RG_OPTION(cpus))
		return -1;
	RG_FOR(i, 0, RG_PREEMPT_BEYOND) {
		s32 at = rg_preempt_far(queue, home, i);
		u64 ahead = at < 0 || rg_queue_of(at) == id ? 0 : rg_preempt_lead(t, at);

		if (ahead > lead) {
			lead = ahead;
			victim = at;
		}
	}
	return victim;
}

/* The CPU to preempt for a waking thread, -1: none. */
RG_INLINE s32 rg_preempt_victim(struct task_struct *t, s32 home)
{
	struct rg_queue *queue = rg_queue(rg_queue_of(home));
	s32 victim = rg_preempt_in(t, home);

	if (victim < 0 && RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE)
		victim = rg_preempt_beyond(t, home);
	if (queue)
		rg_preempt_turn(queue);
	return victim;
}

/* The same of a thread that may run on one CPU alone. */
RG_INLINE s32 rg_preempt_home(struct task_struct *t, s32 home)
{
	return rg_preempt_lead(t, home) > RG_PREEMPT_GRANULARITY_NS ? home : -1;
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
