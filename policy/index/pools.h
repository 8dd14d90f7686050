/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. First come, first served inside a pool, whichever of its vruntimes is served.
 * Rule.    The waiting threads of each pool stand in a list by arrival, linked by numbers. A pool
 *          is a row of a table, found by a hash of its identity, its queue, and where its threads
 *          may run. The first waiting thread claims the row. The last to go leaves it to the same
 *          pool, or to another that finds no better.
 * Why.     A waking thread has the latest arrival, and one that returns an early one: from the
 *          nearer end both are found at once. A thread remembers the row where it was last, which
 *          is mostly still its pool's.
 * Figure.  One row is looked at, at most 17.
 * Limits.  Where all 8 rows of a bucket belong to other pools the thread is served from the queue
 *          alone. Keys that come in no order (order=random, order=vtime within a process) are
 *          looked for one by one.
 *
 * All of this runs under the queue's lock; rows of other queues stand beside, so a row is claimed,
 * by its own queue too, at once. A key includes the queue: no other CPU claims under the same one.
 */
#ifndef RG_INDEX_POOLS_H
#define RG_INDEX_POOLS_H

#include "../state.h"

#define RG_BUCKET_ROWS 8
#define RG_LIST_STEPS RG_THREADS
#define RG_POOL_EMPTY (1ULL << 63) /* in the key of a row: it has neither threads nor vruntimes */

/* Who a pool is (rg_pool: 41 bits), in which queue (13 bits), in which of its heaps (6 bits). */
RG_INLINE u64 rg_pool_key(u64 pool, u32 queue, u32 cpuset)
{
	return pool << 19 | (u64)(queue & (RG_QUEUES - 1)) << 6 | (cpuset & (RG_CPUSETS - 1));
}

/* The first row of a key's bucket (Fibonacci hashing). */
RG_INLINE u32 rg_pool_bucket(u64 key)
{
	return (u32)(key * 0x9e3779b97f4a7c15ULL >> 48) & (RG_POOLS - RG_BUCKET_ROWS);
}

/* Whether the row is the pool's of this key; if `again`, also if it was and becomes so now. */
RG_INLINE bool rg_pool_is(u32 row, u64 key, bool again)
{
	struct rg_pool *pool = rg_pool_at(row);
	u64 empty = key | RG_POOL_EMPTY;

	if (pool->key == key)
		return 1;
	return again && pool->key == empty && rg_compare_and_swap(&pool->key, empty, key) == empty;
}

/* The row of a key, `hint` if that is it. */
RG_INLINE rg_maybe rg_pool_find(u64 key, rg_maybe hint, bool again)
{
	u32 first = rg_pool_bucket(key);
	rg_maybe found = 0;

	if (hint && rg_pool_is(rg_number(hint), key, again))
		return hint;
	RG_FOR(i, 0, RG_BUCKET_ROWS) {
		if (!rg_pool_is(first + i, key, again))
			continue;
		found = rg_some(first + i);
		break;
	}
	return found;
}

/* Claims a row that is empty, if there is one. */
RG_INLINE rg_maybe rg_pool_claim(u64 key)
{
	u32 first = rg_pool_bucket(key);
	rg_maybe claimed = 0;

	RG_FOR(i, 0, RG_BUCKET_ROWS) {
		struct rg_pool *pool = rg_pool_at(first + i);
		u64 now = pool->key;

		if (now && !(now & RG_POOL_EMPTY))
			continue;
		if (rg_compare_and_swap(&pool->key, now, key) != now)
			continue;
		claimed = rg_some(first + i);
		break;
	}
	return claimed;
}

/* Leaves the row of a pool that has neither threads nor vruntimes. */
RG_INLINE void rg_pool_leave_if_empty(struct rg_pool *pool)
{
	if (!pool->waiting && !pool->vruntimes)
		rg_swap(&pool->key, pool->key | RG_POOL_EMPTY);
}

/* The thread that an arrival comes after, by slot; 0: before all. Equal ones: first come first. */
RG_INLINE u32 rg_pool_before(struct rg_pool *pool, u64 arrival)
{
	u64 first = rg_thread_at(pool->first)->arrival;
	u64 last = rg_thread_at(pool->last)->arrival;
	bool from_first = arrival < last && arrival - first < last - arrival;
	u32 at = from_first ? pool->first : pool->last;

	if (arrival < first)
		return 0;
	RG_FOR(i, 0, RG_LIST_STEPS) {
		u32 next = rg_thread_at(at)->next;

		if (from_first && next && rg_thread_at(next)->arrival <= arrival)
			at = next;
		else if (!from_first && rg_thread_at(at)->arrival > arrival)
			at = rg_thread_at(at)->prev;
		else
			break;
	}
	return at;
}

RG_INLINE void rg_pool_link(struct rg_pool *pool, u32 slot, struct rg_thread *thread)
{
	u32 before = pool->first ? rg_pool_before(pool, thread->arrival) : 0;
	u32 after = before ? rg_thread_at(before)->next : pool->first;

	thread->prev = before;
	thread->next = after;
	if (before)
		rg_thread_at(before)->next = slot;
	else
		pool->first = slot;
	if (after)
		rg_thread_at(after)->prev = slot;
	else
		pool->last = slot;
	pool->waiting++;
}

RG_INLINE void rg_pool_unlink(struct rg_pool *pool, struct rg_thread *thread)
{
	if (thread->prev)
		rg_thread_at(thread->prev)->next = thread->next;
	else
		pool->first = thread->next;
	if (thread->next)
		rg_thread_at(thread->next)->prev = thread->prev;
	else
		pool->last = thread->prev;
	thread->row = 0;
	pool->waiting--;
}

#endif
