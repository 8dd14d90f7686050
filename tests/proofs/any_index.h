/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any heap in order whose vruntimes belong to two pools, each with threads that wait. The list of a
 * pool is any: that its order is kept is what pool-link.c and pool-unlink.c prove.
 */
#ifndef ANY_INDEX_H
#define ANY_INDEX_H

#define CAPACITY 4
#define PROOF_ENTRIES CAPACITY
#define PROOF_THREADS 4 /* the first of each pool, another, and no thread */
#define POOLS 2

#include "proof.h"

#include "index/choose.h"

PROOF_TABLE(struct rg_pool, pools);
static struct rg_shared shared;
static struct rg_queue queue;
static struct rg_heap *const heap = &queue.heaps[0];

struct rg_pool *rg_pool_at(u32 row)
{
	PROOF_ROW(pools, POOLS, row);
}

struct rg_shared *rg_shared(void)
{
	return &shared;
}

/* How often the heap holds a vruntime, of a pool. */
static u32 times(u64 vruntime, u32 row)
{
	u32 count = 0;

	for (u32 i = 0; i < CAPACITY; i++)
		count += i < heap->count && entries[i]->vruntime == vruntime &&
			 entries[i]->row == row;
	return count;
}

/* How many vruntimes of a pool the heap holds. */
static u32 held(u32 row)
{
	u32 count = 0;

	for (u32 i = 0; i < CAPACITY; i++)
		count += i < heap->count && entries[i]->row == row;
	return count;
}

/* What index/pools.h says of a pool: as many vruntimes as threads, or more, and all in the heap. */
static bool consistent(u32 row)
{
	return pools[row]->vruntimes == held(row) && pools[row]->vruntimes >= pools[row]->waiting &&
	       !pools[row]->waiting == !pools[row]->first;
}

static void any_pool(u32 row)
{
	struct rg_pool *pool = pools[row];

	pool->key = row + 1;
	pool->pool = 2 * (row + 1);
	pool->vruntimes = nondet_u32();
	pool->waiting = nondet_u32() & 3;
	pool->first = pool->waiting ? row + 1 : 0;
	pool->last = pool->waiting > 1 ? 3 : pool->first;
	threads[row + 1]->next = pool->waiting > 1 ? 3 : 0;
	threads[row + 1]->slot = row + 1;
	threads[row + 1]->row = rg_some(row);
	ASSUME(consistent(row));
}

static void any_index(void)
{
	heap->capacity = CAPACITY;
	heap->count = nondet_u32();
	ASSUME(heap->count <= CAPACITY);
	for (u32 i = 0; i < CAPACITY; i++) {
		entries[i]->vruntime = nondet_u32() & 7;
		entries[i]->row = nondet_u32() & 1;
		entries[i]->stamp = nondet_u32() & 7;
		ASSUME(!i || i >= heap->count ||
		       entries[(i - 1) >> 1]->vruntime <= entries[i]->vruntime);
	}
	any_pool(0);
	any_pool(1);
}

#endif
