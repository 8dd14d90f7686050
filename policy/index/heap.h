/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Which thread's turn it is by vruntime must be known without asking every waiting thread.
 * Rule.    Each queue has a binary heap of vruntimes for each set of CPUs, in an array, each
 *          vruntime with its pool. Entries are without the shift of their virtual time, so that a
 *          raise (converge.h) changes no heap.
 * Why.     Vruntimes of a pool are interchangeable, so they need not stay with threads: no entry
 *          but those near the root is ever looked for, and an array needs no memory of its own.
 * Figure.  17 steps for 65,536 vruntimes.
 * Limits.  A full heap takes no more: index/extents.h.
 *
 * All of this runs under the queue's lock.
 */
#ifndef RG_INDEX_HEAP_H
#define RG_INDEX_HEAP_H

#include "cpusets.h"

#define RG_HEAP_LEVELS 20
#define RG_TOP 7 /* the root and two levels below */

RG_INLINE struct rg_heap *rg_heap_of(struct rg_queue *queue, u32 cpuset)
{
	return &queue->heaps[rg_masked(cpuset, RG_CPUSETS)];
}

RG_INLINE struct rg_entry *rg_heap_at(struct rg_heap *heap, u32 i)
{
	return rg_entry_at(heap->base + i);
}

/*
 * The vruntime of the entry at a position, with what its virtual time was raised by. One that would
 * read as none is a nanosecond less.
 */
RG_INLINE u64 rg_heap_vruntime(struct rg_heap *heap, u32 i, struct rg_vtime *vtime)
{
	u64 vruntime = rg_heap_at(heap, i)->vruntime + vtime->shift;

	return vruntime == RG_NEVER ? vruntime - 1 : vruntime;
}

RG_INLINE bool rg_heap_before(struct rg_entry *a, struct rg_entry *b)
{
	if (a->vruntime != b->vruntime)
		return rg_before(a->vruntime, b->vruntime);
	return (s32)(a->stamp - b->stamp) < 0;
}

/* The first thread of the pool that holds the heap's least vruntime; any thread if it is empty. */
RG_INLINE u32 rg_heap_first(struct rg_heap *heap)
{
	return rg_pool_at(rg_heap_at(heap, 0)->row)->first;
}

/* Puts an entry at a free position or above. */
RG_INLINE void rg_heap_rise(struct rg_heap *heap, u32 i, struct rg_entry *entry)
{
	RG_FOR(step, 0, RG_HEAP_LEVELS) {
		struct rg_entry *above = rg_heap_at(heap, (i - 1) >> 1);

		if (!i || !rg_heap_before(entry, above))
			break;
		*rg_heap_at(heap, i) = *above;
		i = rg_opaque((i - 1) >> 1);
	}
	*rg_heap_at(heap, i) = *entry;
}

/* Puts an entry at a free position or below. */
RG_INLINE void rg_heap_sink(struct rg_heap *heap, u32 position, struct rg_entry *entry)
{
	u32 i = rg_opaque(position);

	RG_FOR(step, 0, RG_HEAP_LEVELS) {
		u32 child = 2 * i + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
		    rg_heap_before(rg_heap_at(heap, child + 1), rg_heap_at(heap, child)))
			child++;
		if (!rg_heap_before(rg_heap_at(heap, child), entry))
			break;
		*rg_heap_at(heap, i) = *rg_heap_at(heap, child);
		i = rg_opaque(child);
	}
	*rg_heap_at(heap, i) = *entry;
}

/* Adds a vruntime; there must be room. */
RG_INLINE void rg_heap_push(struct rg_heap *heap, u64 vruntime, u32 row)
{
	struct rg_entry entry = { .vruntime = vruntime, .row = row, .stamp = heap->stamp++ };

	rg_heap_rise(heap, heap->count++, &entry);
}

/* Takes the entry at a position out. */
RG_INLINE void rg_heap_remove(struct rg_heap *heap, u32 i)
{
	struct rg_entry last = *rg_heap_at(heap, --heap->count);

	if (i >= heap->count)
		return;
	if (i && rg_heap_before(&last, rg_heap_at(heap, (i - 1) >> 1)))
		rg_heap_rise(heap, i, &last);
	else
		rg_heap_sink(heap, i, &last);
}

/* Puts a greater vruntime in the place of the one at a position; answers that. */
RG_INLINE u64 rg_heap_exchange(struct rg_heap *heap, u32 i, u64 vruntime)
{
	struct rg_entry entry = *rg_heap_at(heap, i);
	u64 least = entry.vruntime;

	entry.vruntime = vruntime;
	entry.stamp = heap->stamp++;
	rg_heap_sink(heap, i, &entry);
	return least;
}

/*
 * Other CPUs compare what waits in a queue without the lock: after each change of a heap of it. A
 * look for the best may have emptied other heaps, too.
 */
RG_INLINE void rg_queue_publish(struct rg_shared *shared, struct rg_queue *queue, u32 cpuset)
{
	u64 bit = 1ULL << (cpuset & (RG_CPUSETS - 1));
	u64 waiting = rg_heap_of(queue, cpuset)->count ? queue->waiting | bit :
							 queue->waiting & ~bit;
	u64 least = rg_opaque(RG_NEVER);
	u32 first = rg_opaque(0);

	queue->waiting = waiting;
	RG_FOR_WAITING(i, waiting) {
		struct rg_heap *heap = rg_heap_of(queue, i);
		u64 vruntime = rg_heap_vruntime(heap, 0, rg_vtime_waiting(shared, queue, i));

		if (!heap->count)
			queue->waiting &= ~(1ULL << i);
		if (!heap->count || !rg_precedes(vruntime, least))
			continue;
		least = vruntime;
		first = rg_heap_first(heap);
	}
	queue->least = least;
	queue->first = first;
}

#endif
