/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which queue serves which CPUs: one each (as CTS's prototype), one a last-level cache, or one for
 * the machine. A queue is numbered as the domain that it serves. Only a shared queue lets more
 * workers shorten the tail (Tales section 2.3).
 */
#ifndef RG_QUEUE_H
#define RG_QUEUE_H

#include "balance/target.h"

RG_INLINE u32 rg_queue_of(s32 cpu)
{
	return rg_domain(cpu, RG_CHOSEN(scope));
}

/* In init: one queue for each domain. */
RG_INLINE s32 rg_queues_create(void)
{
	s32 error = 0;

	RG_FOR(cpu, 0, RG_CHOSEN(cpus)) {
		u32 id = rg_queue_of(cpu);
		struct rg_queue *queue = rg_queue(id);

		rg_target_create(cpu);
		if (!queue)
			break;
		queue->cpus++;
		if (queue->created)
			continue;
		error = rg_queue_create(id);
		if (error)
			break;
		queue->created = 1;
		queue->cpu = cpu;
		queue->least = RG_NEVER;
	}
	return error;
}

/* The thread belongs to this queue from now on; `next` is its number plus 1, 0: to none. */
RG_INLINE void rg_queue_move(struct rg_thread *thread, u32 next)
{
	struct rg_queue *from = thread->queue ? rg_queue(thread->queue - 1) : 0;
	struct rg_queue *to = next ? rg_queue(next - 1) : 0;

	if (thread->queue == next)
		return;
	if (from && !rg_add(&from->threads, -1))
		rg_target_queue_idle(from->cpu);
	if (to && rg_add(&to->threads, 1) == 1)
		rg_target_queue_busy(to->cpu);
	thread->queue = next;
}

/* A thread with this token is about to wait in the queue. */
RG_INLINE void rg_queue_least(u32 id, u64 token)
{
	struct rg_queue *queue = rg_queue(id);

	if (queue && token < queue->least)
		queue->least = token;
}

/* Whoever is left in the queue has this token or a greater one. */
RG_INLINE void rg_queue_set_least(u32 id, u64 token)
{
	struct rg_queue *queue = rg_queue(id);

	if (queue)
		queue->least = token;
}

#endif
