/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which queue serves which CPUs: one each (as CTS's prototype), one a last-level cache, or one for
 * the machine. Such a queue is numbered as the domain that it serves. Only a shared queue lets more
 * workers shorten the tail (Tales section 2.3).
 *
 * Beside it each CPU has a queue of its own, for threads that may run there alone, numbered from
 * RG_OPTION(cpus) on: in a shared queue they would stand in the way of free threads.
 * Where a queue serves one CPU both are the same.
 */
#ifndef RG_QUEUE_H
#define RG_QUEUE_H

#include "balance/target.h"
#include "index/extents.h"

/* The queue that serves a CPU with others. */
RG_INLINE u32 rg_queue_of(s32 cpu)
{
	return rg_domain(cpu, RG_OPTION(queue));
}

/* Rows of each of `count` queues that share a quarter of the table: a power of two. */
RG_INLINE u32 rg_queue_capacity(u32 count)
{
	u32 capacity = RG_SHARES;

	RG_FOR(i, 0, 16) {
		if (capacity * count > RG_SHARES)
			capacity >>= 1;
	}
	return capacity;
}

/* A queue's own rows, and its heaps in them. A CPU's own queue has one heap. */
RG_INLINE void rg_queue_share_out(struct rg_queue *queue, u32 base, u32 capacity)
{
	queue->base = base;
	queue->capacity = capacity;
	rg_heap_settle(queue, 0);
	if (queue->is_own)
		return;
	RG_FOR(i, 1, RG_CPUSETS - 1)
		rg_heap_settle(queue, i);
}

RG_INLINE void rg_vtime_init(struct rg_vtime *vtime)
{
	vtime->min_vruntime = RG_VTIME_BEGIN;
	vtime->least = RG_NEVER;
	vtime->settled = RG_NEVER;
	vtime->floor = RG_NEVER;
	vtime->last = RG_NEVER;
}

RG_INLINE s32 rg_queue_init(u32 id, s32 cpu, u32 base, u32 capacity)
{
	struct rg_queue *queue = rg_queue(id);
	s32 error;

	if (!queue || queue->capacity)
		return 0;
	error = rg_queue_create(id);
	if (error)
		return error;
	queue->cpu = cpu;
	queue->is_own = id >= RG_OPTION(cpus);
	queue->least = RG_NEVER;
	queue->urgent_at = RG_NEVER;
	queue->looking.cpu = cpu;
	rg_vtime_init(&queue->vtime);
	rg_queue_share_out(queue, base, capacity);
	return 0;
}

/* How many queues serve domains: one more than the greatest number. */
RG_INLINE u32 rg_queue_count(void)
{
	u32 count = 0;

	RG_FOR(cpu, 0, RG_OPTION(cpus)) {
		if (rg_queue_of(cpu) >= count)
			count = rg_queue_of(cpu) + 1;
	}
	return count;
}

/* In init: a CPU finds its queues, which come into being with their first one. */
RG_INLINE s32 rg_queue_join(s32 cpu, u32 queues)
{
	bool alone = rg_cpu_in(cpu, RG_OPTION(queue), 1) < 0;
	u32 capacity = rg_queue_capacity(queues);
	u32 own_capacity = rg_queue_capacity(RG_OPTION(cpus));
	u32 id = rg_queue_of(cpu);
	struct rg_queue *queue = rg_queue(id);
	struct rg_cpu *row = rg_cpu(cpu);
	s32 error;

	if (!queue || !row)
		return 0;
	row->own = alone ? id : RG_OPTION(cpus) + cpu;
	error = rg_queue_init(id, cpu, id * capacity, capacity);
	if (error)
		return error;
	queue->cpus++;
	rg_target_create(cpu);
	return rg_queue_init(row->own, cpu, RG_SHARES + cpu * own_capacity, own_capacity);
}

/* In init. */
RG_INLINE s32 rg_queues_create(void)
{
	struct rg_shared *shared = rg_shared();
	s32 error = 0;

	if (!shared)
		return 0;
	shared->queues = rg_queue_count();
	shared->least_target = RG_VTIME_BEGIN;
	RG_FOR(i, 0, RG_CPUSETS) {
		rg_vtime_init(&shared->cpusets[rg_masked(i, RG_CPUSETS)].vtime);
	}
	RG_FOR(cpu, 0, RG_OPTION(cpus)) {
		error = rg_queue_join(cpu, shared->queues);
		if (error)
			break;
	}
	return error;
}

/* The queue that follows another by less than `queues` steps, round and round. */
RG_INLINE u32 rg_queue_after(u32 id, u32 steps, u32 queues)
{
	id += steps;
	return id < queues ? id : id - queues;
}

/* Whether a thread waits in a queue, as far as the index knows. */
RG_INLINE bool rg_is_waited_in(u32 id)
{
	struct rg_queue *queue = rg_queue(id);

	return queue && queue->capacity && (queue->least != RG_NEVER || queue->unlisted);
}

/* The row of the thread in a CPU's local queue that passed all others; 0: none is known. */
RG_INLINE u32 rg_follower(struct rg_cpu *cpu)
{
	return RG_OPTION(direct) && cpu->follower != cpu->thread ? cpu->follower : 0;
}

/* The thread belongs to this queue from now on, or to none. */
RG_INLINE void rg_queue_move(struct rg_thread *thread, rg_maybe next)
{
	struct rg_queue *from, *to;

	if (thread->queue == next)
		return;
	from = thread->queue ? rg_queue(rg_number(thread->queue)) : 0;
	to = next ? rg_queue(rg_number(next)) : 0;
	if (from && !rg_add(&from->threads, -1))
		rg_target_queue_idle(from->cpu);
	if (to && rg_add(&to->threads, 1) == 1)
		rg_target_queue_busy(to->cpu);
	thread->queue = next;
}

#endif
