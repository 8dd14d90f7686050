/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   On the way from any position to the root, and from the root to any leaf, the steps of
 *          a heap are enough for the greatest one.
 * Bound.   All positions of 2^19 entries.
 * Assumed. No heap has more (index-parts, index-extents).
 * Run.     --unwind 21
 * Control. index/heap.h | #define RG_HEAP_LEVELS 20 | #define RG_HEAP_LEVELS 18
 */
#include "state.h"

u32 nondet_u32(void);

static struct rg_entry at_hand, entry;
static u32 last;

/* The row that was asked for last is the one that is written at the end. */
struct rg_entry *rg_entry_at(u32 row)
{
	last = row;
	return &at_hand;
}

const volatile struct rg_options *rg_options(void)
{
	static struct rg_options options;

	return &options;
}

#include "index/heap.h"

int main(void)
{
	struct rg_heap heap = { .count = nondet_u32() };
	u32 at = nondet_u32();

	__CPROVER_assume(heap.count > 0 && heap.count <= RG_ENTRIES >> 1 && at < heap.count);
	at_hand.vruntime = 2;
	entry.vruntime = 1;
	rg_heap_rise(&heap, at, &entry);
	__CPROVER_assert(last == 0, "it rises to the root");
	at_hand.vruntime = 0;
	rg_heap_sink(&heap, at, &entry);
	__CPROVER_assert(2 * last + 1 >= heap.count && last < heap.count, "it sinks to a leaf");
	return 0;
}
