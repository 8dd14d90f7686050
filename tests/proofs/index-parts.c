/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   The heaps' own parts of all queues lie in the first half of the table and share no row,
 *          and none has more than a quarter of it.
 * Bound.   All machines of up to 4,096 CPUs with any number of queues up to that.
 * Assumed. Numbers of queues that serve domains are below their count.
 * Run.     --unwind 66
 * Control. queue.h | capacity * count > RG_SHARES | capacity * count > RG_ENTRIES >> 1
 * Control. index/extents.h | part = queue->capacity >> 7; | part = queue->capacity >> 6;
 */
#include "proof.h"

#include "queue.h"

static struct rg_queue queue;

/* The heaps of a queue stand one behind the other in the part of the table that is the queue's. */
static void prove_parts(u32 base, u32 capacity, bool own)
{
	u32 end = 0;

	queue = (struct rg_queue){ .is_own = own };
	rg_queue_share_out(&queue, base, capacity);
	for (u32 i = 0; i < RG_CPUSETS; i++) {
		struct rg_heap *heap = &queue.heaps[i];
		u32 at = i ? (capacity >> 1) + i * heap->capacity : 0;

		if (!heap->capacity)
			continue;
		PROVE(heap->base == base + at);
		PROVE(at >= end);
		end = at + heap->capacity;
		PROVE(end <= capacity);
	}
	PROVE(!queue.heaps[RG_CPUSETS - 1].capacity);
}

int main(void)
{
	u32 count = nondet_u32(), id = nondet_u32(), share = RG_SHARES;
	u32 first = nondet_bool() ? 0 : share;

	ASSUME(count > 0 && count <= RG_MAX_CPUS && id < count);
	/* By cases, so that a capacity is a constant. */
	for (u32 i = 0; i <= 12; i++) {
		u32 capacity = share >> i;

		if (count <= 1U << i && count > 1U << i >> 1) {
			PROVE(rg_queue_capacity(count) == capacity);
			PROVE(first + id * capacity + capacity <= first + share);
		}
		/* A base is added to each row and asked nowhere: one stands for all. */
		prove_parts(share, capacity, 0);
		prove_parts(share, capacity, 1);
	}
	PROVE(2 * RG_SHARES <= RG_EXTENTS_BEGIN);
	PROVE(RG_MAX_CPUS + RG_MAX_CPUS <= RG_QUEUES);
	return 0;
}
