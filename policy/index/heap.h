/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. The least vruntime must be known without asking every waiting thread.
 * Rule.    Each queue has a binary heap of vruntimes in an array, each with its pool.
 * Why.     Vruntimes of a pool are interchangeable, so they need not stay with threads: no entry
 *          but those near the root is ever looked for, and an array needs no memory of its own.
 * Figure.  17 steps for 65,536 vruntimes.
 * Limits.  A full heap takes no more: the thread is then served from the queue alone.
 *
 * All of this runs under the queue's lock.
 */
#ifndef RG_INDEX_HEAP_H
#define RG_INDEX_HEAP_H

#include "../state.h"

#define RG_HEAP_LEVELS 18

RG_INLINE struct rg_entry *rg_heap_at(struct rg_queue *queue, u32 i)
{
	return rg_entry_at(queue->base + i);
}

RG_INLINE bool rg_heap_before(struct rg_entry *a, struct rg_entry *b)
{
	if (a->vruntime != b->vruntime)
		return a->vruntime < b->vruntime;
	return (s32)(a->stamp - b->stamp) < 0;
}

/* The first thread of the pool that holds the least vruntime; any thread where none waits. */
RG_INLINE struct rg_thread *rg_heap_first(struct rg_queue *queue)
{
	return rg_thread_at(rg_pool_at(rg_heap_at(queue, 0)->row)->first);
}

/* Others compare the least vruntime without the lock. */
RG_INLINE void rg_heap_publish(struct rg_queue *queue)
{
	queue->least = queue->count ? rg_heap_at(queue, 0)->vruntime : RG_NEVER;
}

/* Puts an entry at a free position or above. */
RG_INLINE void rg_heap_rise(struct rg_queue *queue, u32 i, struct rg_entry *entry)
{
	RG_FOR(step, 0, RG_HEAP_LEVELS) {
		struct rg_entry *above = rg_heap_at(queue, (i - 1) >> 1);

		if (!i || !rg_heap_before(entry, above))
			break;
		*rg_heap_at(queue, i) = *above;
		i = rg_opaque((i - 1) >> 1);
	}
	*rg_heap_at(queue, i) = *entry;
}

/* Puts an entry at a free position or below. */
RG_INLINE void rg_heap_sink(struct rg_queue *queue, u32 position, struct rg_entry *entry)
{
	u32 i = rg_opaque(position);

	RG_FOR(step, 0, RG_HEAP_LEVELS) {
		u32 child = 2 * i + 1;

		if (child >= queue->count)
			break;
		if (child + 1 < queue->count &&
		    rg_heap_before(rg_heap_at(queue, child + 1), rg_heap_at(queue, child)))
			child++;
		if (!rg_heap_before(rg_heap_at(queue, child), entry))
			break;
		*rg_heap_at(queue, i) = *rg_heap_at(queue, child);
		i = rg_opaque(child);
	}
	*rg_heap_at(queue, i) = *entry;
}

/* Adds a vruntime; there must be room. */
RG_INLINE void rg_heap_push(struct rg_queue *queue, u64 vruntime, u32 row)
{
	struct rg_entry entry = { .vruntime = vruntime, .row = row, .stamp = queue->stamp++ };

	rg_heap_rise(queue, queue->count++, &entry);
	rg_heap_publish(queue);
}

/* Takes the entry at a position out. */
RG_INLINE void rg_heap_remove(struct rg_queue *queue, u32 i)
{
	struct rg_entry last = *rg_heap_at(queue, --queue->count);

	if (i < queue->count) {
		if (i && rg_heap_before(&last, rg_heap_at(queue, (i - 1) >> 1)))
			rg_heap_rise(queue, i, &last);
		else
			rg_heap_sink(queue, i, &last);
	}
	rg_heap_publish(queue);
}

/* Puts a greater vruntime in the place of the one at a position; answers that. */
RG_INLINE u64 rg_heap_exchange(struct rg_queue *queue, u32 i, u64 vruntime)
{
	struct rg_entry entry = *rg_heap_at(queue, i);
	u64 least = entry.vruntime;

	entry.vruntime = vruntime;
	entry.stamp = queue->stamp++;
	rg_heap_sink(queue, i, &entry);
	rg_heap_publish(queue);
	return least;
}

#endif
