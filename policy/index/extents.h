/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Each queue has a heap for each set of CPUs, and one table has the rows of all. Equal
 *          parts are small: 64 rows where there are 32 caches. Where more threads wait in a
 *          container's heap, the order of their arrival would be lost.
 * Rule.    A quarter of the table is shared out among the queues that serve domains, and a quarter
 *          among those of single CPUs: half of a queue's part is for the threads that may run
 *          everywhere, the rest in equal parts for those of sets. The other half of the table is 64
 *          extents. A heap that has filled its part moves into one, and back when it is empty.
 * Why.     Few heaps are large at a time, and which ones nobody knows before. An entry's row is
 *          still one addition away, so what a heap does costs no more than without extents.
 * Figure.  2,000 threads in a cpuset of a cache's four CPUs are served in the order of their
 *          arrival, without extents 300 were not: tests/swarm/tests/crowds.rs.
 * Limits.  8,192 vruntimes in a heap, and 64 large heaps at a time. Further threads wait in the
 *          queue alone. A move copies up to 4,096 entries under the lock, once until the heap is
 *          empty.
 *
 * A heap changes its rows under the lock of its queue. Which extents are free is the machine's.
 */
#ifndef RG_INDEX_EXTENTS_H
#define RG_INDEX_EXTENTS_H

#include "heap.h"

#define RG_SHARES (RG_ENTRIES >> 2) /* the rows that one kind of queues shares out */
#define RG_EXTENTS 64
#define RG_EXTENTS_BEGIN (RG_ENTRIES >> 1)
#define RG_EXTENT_SHIFT 13
#define RG_EXTENT (1 << RG_EXTENT_SHIFT)

/* Gives an empty heap the rows that are its part of the queue's. */
RG_INLINE void rg_heap_settle(struct rg_queue *queue, u32 cpuset)
{
	struct rg_heap *heap = rg_heap_of(queue, cpuset);
	u32 half = queue->capacity >> 1;
	u32 part = queue->capacity >> 7; /* by 2 * RG_CPUSETS */

	heap->base = cpuset ? queue->base + half + cpuset * part : queue->base;
	heap->capacity = cpuset ? part : queue->is_own ? queue->capacity : half;
}

/* Claims an extent that no heap has. */
RG_INLINE rg_maybe rg_extent_claim(struct rg_shared *shared)
{
	rg_maybe claimed = 0;

	RG_FOR(i, 0, RG_EXTENTS) {
		u64 now = shared->extents;

		if (now >> i & 1 ||
		    rg_compare_and_swap(&shared->extents, now, now | 1ULL << i) != now)
			continue;
		claimed = rg_some(i);
		break;
	}
	return claimed;
}

/* Moves a heap that has filled its part into an extent, if there is one. Under the lock. */
RG_INLINE void rg_extent_fill(struct rg_shared *shared, struct rg_heap *heap)
{
	rg_maybe extent = rg_extent_claim(shared);
	u32 base = RG_EXTENTS_BEGIN + (rg_number(extent) << RG_EXTENT_SHIFT);

	if (!extent)
		return;
	RG_FOR(i, 0, heap->count)
		*rg_entry_at(base + i) = *rg_heap_at(heap, i);
	heap->base = base;
	heap->capacity = RG_EXTENT;
}

/* An empty heap gives its extent back. Under the lock. */
RG_INLINE void rg_extent_empty(struct rg_shared *shared, struct rg_queue *queue, u32 cpuset)
{
	u32 base = rg_heap_of(queue, cpuset)->base;

	rg_add(&shared->extents, -(1ULL << ((base - RG_EXTENTS_BEGIN) >> RG_EXTENT_SHIFT)));
	rg_heap_settle(queue, cpuset);
}

/* Whether a heap has filled its part and may have an extent. */
RG_INLINE bool rg_extent_is_due(struct rg_heap *heap, u32 cpuset)
{
	return cpuset != RG_CPUSET_NONE && heap->capacity < RG_EXTENT &&
	       heap->count >= heap->capacity;
}

/* Whether a heap has an extent and no more use for it. */
RG_INLINE bool rg_extent_is_idle(struct rg_heap *heap)
{
	return !heap->count && heap->base >= RG_EXTENTS_BEGIN;
}

/*
 * A heap that is full takes an extent, and an empty one leaves its own: before a thread is listed,
 * and after one has left. A program of its own, since it is seldom needed.
 */
RG_SUBPROGRAM bool rg_extent_fit(u32 id, u32 cpuset)
{
	struct rg_shared *shared = rg_shared();
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);
	struct rg_heap *heap;

	if (!shared || !queue || !lock)
		return 0;
	heap = rg_heap_of(queue, cpuset);
	rg_acquire(lock);
	if (rg_extent_is_due(heap, cpuset))
		rg_extent_fill(shared, heap);
	else if (rg_extent_is_idle(heap))
		rg_extent_empty(shared, queue, cpuset);
	rg_release(lock);
	return 1;
}

#endif
