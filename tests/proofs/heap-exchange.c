/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   An exchange keeps the heap in order, gives out the vruntime at its position, puts the
 *          new one in its place with the same pool, and touches no row outside of the heap.
 * Bound.   7 entries. Any heap in order is the start, so any number of steps.
 * Assumed. The position holds an entry, and the new vruntime is greater than its. Vruntimes of a
 *          heap are less than 2^63 apart.
 * Run.     --unwind 9 --unwindset rg_heap_rise.0:4,rg_heap_sink.0:4
 * Control. index/heap.h | if (child + 1 < heap->count && | if (0 &&
 * Control. index/heap.h | u64 least = entry.vruntime; | u64 least = vruntime;
 */
#include "any_heap.h"

int main(void)
{
	struct rg_entry one = some_entry(), in = { some_vruntime(), 0, 0 }, taken;
	u32 at = nondet_u32(), before;

	any_heap();
	ASSUME(at < heap.count);
	taken = *rg_entry_at(BASE + at);
	ASSUME((long long)(in.vruntime - taken.vruntime) > 0);
	in.row = taken.row;
	in.stamp = heap.stamp;
	before = times(&one);
	PROVE(rg_heap_exchange(&heap, at, in.vruntime) == taken.vruntime);
	PROVE(times(&one) == before - same(&taken, &one) + same(&in, &one));
	prove_order();
	return 0;
}
