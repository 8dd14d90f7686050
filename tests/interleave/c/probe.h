/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must hold of the index of a queue (index/) when no callback runs: the number of the first
 * rule that does not, 0 where all do. Rust has the words (rules.rs).
 */
#ifndef RG_PROBE_H
#define RG_PROBE_H

enum rg_fault {
	RG_SOUND,
	RG_HEAP_ORDER,     /* a vruntime in a heap is less than the one above it */
	RG_POOL_LIST,      /* the list of a pool has other threads than it counts */
	RG_POOL_VRUNTIMES, /* a pool has fewer vruntimes than threads, or a heap other numbers */
	RG_LEAST,          /* the least vruntime that others see is not that of the heaps */
	RG_UNLISTED,       /* other threads are without a vruntime than the queue counts */
	RG_SPARE,          /* a pool has a vruntime that belongs to no thread */
};

RG_UNWATCHED static u32 rg_probe_pool(struct rg_pool *pool)
{
	u32 slot = pool->first, prev = 0, count = 0;

	while (slot && count <= pool->waiting) {
		struct rg_thread *thread = rg_thread_at(slot);

		if (thread->prev != prev || !thread->row || rg_pool_at(thread->row - 1) != pool)
			return RG_POOL_LIST;
		prev = slot;
		slot = thread->next;
		count++;
	}
	return count == pool->waiting && (!count || pool->last == prev) ? RG_SOUND : RG_POOL_LIST;
}

RG_UNWATCHED static u32 rg_probe_entry(struct rg_heap *heap, u32 i, bool exact)
{
	struct rg_entry *entry = rg_entry_at(heap->base + i);
	struct rg_entry *above = rg_entry_at(heap->base + (i - 1) / 2);
	struct rg_pool *pool = rg_pool_at(entry->row);
	u32 same = 0;

	if (i && (long long)(entry->vruntime - above->vruntime) < 0)
		return RG_HEAP_ORDER;
	for (u32 j = 0; j < heap->count; j++)
		same += rg_entry_at(heap->base + j)->row == entry->row;
	if (same != pool->vruntimes || pool->vruntimes < pool->waiting)
		return RG_POOL_VRUNTIMES;
	if (exact && pool->vruntimes > pool->waiting && !(pool->pool & 1))
		return RG_SPARE;
	return rg_probe_pool(pool);
}

/* `threads`: rows to look at; `exact`: no thread has left a queue but by dispatch. */
RG_UNWATCHED u32 rg_probe(u32 id, u32 threads, bool exact)
{
	struct rg_queue *queue = rg_queue(id);
	u32 unlisted = 0, listed = 0, waiting = 0;
	bool empty = 1;

	for (u32 at = 0; at < RG_CPUSETS; at++) {
		struct rg_heap *heap = &queue->heaps[at];

		empty = empty && !heap->count;
		for (u32 i = 0; i < heap->count; i++) {
			u32 fault = rg_probe_entry(heap, i, exact);

			if (fault)
				return fault;
		}
	}
	for (u32 slot = 1; slot <= threads; slot++) {
		struct rg_thread *thread = rg_thread_at(slot);

		if (thread->waits != id + 1)
			continue;
		waiting++;
		unlisted += thread->unlisted;
		listed += thread->row && rg_pool_at(thread->row - 1)->waiting;
	}
	if (unlisted != queue->unlisted || unlisted + listed != waiting)
		return RG_UNLISTED;
	return empty == (queue->least == RG_NEVER) ? RG_SOUND : RG_LEAST;
}

/* The queue in which a thread waits as the policy knows, plus 1. */
RG_UNWATCHED u32 rg_probe_waits(u32 slot)
{
	return rg_thread_at(slot)->waits;
}

#endif
