/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A push keeps the heap in order, adds its vruntime to the entries and nothing else, and
 *          touches no row outside of the heap.
 * Bound.   7 entries. Any heap in order is the start, so any number of steps.
 * Assumed. There is room. Vruntimes of a heap are less than 2^63 apart.
 * Run.     --unwind 9 --unwindset rg_heap_rise.0:4,rg_heap_sink.0:4
 * Control. index/heap.h | if (!i || !rg_heap_before(entry, above)) | if (!i)
 * Control. index/heap.h | rise(heap, heap->count++, &entry) | rise(heap, ++heap->count, &entry)
 */
#include "any_heap.h"

int main(void)
{
	struct rg_entry one = some_entry(), in = { some_vruntime(), one.row, 0 };
	u32 before;

	any_heap();
	ASSUME(heap.count < CAPACITY);
	in.stamp = heap.stamp;
	before = times(&one);
	rg_heap_push(&heap, in.vruntime, in.row);
	PROVE(times(&one) == before + same(&in, &one));
	prove_order();
	return 0;
}
