/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. The min_vruntime is the least of the settled threads (min_vruntime.h), or of all where
 *          none is settled. Where all sleep often that is the one which is awake most. An event
 *          loop of 10% of a CPU then is the min_vruntime, and has no credit when it wakes, while
 *          each thread of a service that wakes rarely has all of it. What these receive moves
 *          virtual time nowhere, and the loop is late behind all of them.
 * Rule.    While no batch thread wants a CPU, virtual time goes on by what threads receive, divided
 *          by the weight of all that are awake, as under generalised processor sharing.
 * Why.     It then passes threads that use less than an equal part. They have their credit again
 *          when they wake. Batch threads hold the clock: they receive what is
 *          left over and so fall behind, and a request that is to preempt them would have no credit
 *          left. Virtual time is that of the least of them.
 * Figure.  An event loop of 10% of a CPU beside a service of 70% on four CPUs has its p99.9 at 10.1
 *          of the ideal, EEVDF 16.5, before 134: docs/evidence/production-node.md. When only batch
 *          threads held the clock that stood among the first of a queue, a group of 2,000 threads
 *          that take turns had twice its due.
 * Limits.  The weight of all that are awake is their number in this queue, as if others held as
 *          many, times the mean of those that ran when CPUs looked. A loop that is awake for long
 *          becomes a batch thread, and its own clock.
 */
#ifndef RG_CLOCK_H
#define RG_CLOCK_H

#include "min_vruntime.h"

#define RG_CLOCK_STEP_NS 100000 /* of virtual time: its line is written no more often */

/* Whether virtual time goes on by what all receive. */
RG_INLINE bool rg_has_clock(struct rg_vtime *vtime)
{
	return RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE &&
	       RG_OPTION(burst_limit_ns) != RG_NEVER && !vtime->has_batch;
}

/* Moves a virtual time on by what threads have received on a CPU. */
RG_INLINE void rg_clock_flush(struct rg_cpu *cpu)
{
	u64 advance = rg_swap(&cpu->advance, 0);
	struct rg_vtime *vtime = rg_vtime_at(cpu->advances);

	if (vtime && rg_has_clock(vtime))
		rg_add(&vtime->min_vruntime, advance);
}

/* By how much virtual time goes on while a thread of a queue runs for so long. */
RG_INLINE u64 rg_clock_advance(struct rg_vtime *vtime, struct rg_thread *thread, u64 ran_ns)
{
	struct rg_queue *queue = thread->queue ? rg_queue(rg_number(thread->queue)) : 0;
	struct rg_shared *shared = rg_shared();
	u64 weight = vtime->mean_weight;

	if (!queue || !shared)
		return 0;
	if (weight < thread->weight)
		weight = thread->weight;
	return rg_virtual(ran_ns, weight * queue->threads * shared->queues);
}

/* A thread has received so much, and is charged for it in this virtual time. */
RG_INLINE void rg_clock_charge(struct task_struct *t, struct rg_thread *thread, u32 id, u64 ran_ns)
{
	struct rg_vtime *vtime = id < RG_CPUSETS ? rg_vtime_at(id) : 0;
	struct rg_cpu *cpu = rg_cpu(rg_thread_cpu(t));

	if (!vtime || !cpu || !rg_has_clock(vtime))
		return;
	if (cpu->advances != id)
		rg_clock_flush(cpu);
	cpu->advances = id;
	cpu->advance += rg_clock_advance(vtime, thread, ran_ns);
	if (cpu->advance >= RG_CLOCK_STEP_NS)
		rg_clock_flush(cpu);
}

#endif
