/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A removal keeps the heap in order, takes the entry at its position out and no other,
 *          and touches no row outside of the heap.
 * Bound.   7 entries. Any heap in order is the start, so any number of steps.
 * Assumed. The position holds an entry. Vruntimes of a heap are less than 2^63 apart.
 * Run.     --unwind 9 --unwindset rg_heap_rise.0:4,rg_heap_sink.0:4
 * Control. index/heap.h | if (i && rg_heap_before(&last, rg_heap_at(heap, (i - 1) >> 1))) | if (0)
 * Control. index/heap.h | if (child >= heap->count) | if (child >= heap->count - 1)
 */
#include "any_heap.h"

int main(void)
{
	struct rg_entry one = some_entry(), taken;
	u32 at = nondet_u32(), before;

	any_heap();
	ASSUME(at < heap.count);
	taken = *rg_entry_at(BASE + at);
	before = times(&one);
	rg_heap_remove(&heap, at);
	PROVE(times(&one) == before - same(&taken, &one));
	prove_order();
	return 0;
}
