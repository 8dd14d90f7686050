/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A thread that is listed brings its vruntime where its pool has none left, and else
 *          adopts one. No vruntime is lost, none is counted twice, and a pool has one for each
 *          waiting thread.
 * Bound.   4 vruntimes of 2 pools, and one thread more. Any consistent index is the start.
 * Assumed. Vruntimes are 0 to 7. The pool is not that of a thread alone, and its row is
 *          remembered.
 * Run.     --unwind 9 --unwindset rg_heap_rise.0:3,rg_heap_sink.0:3,rg_offer.0:5
 * Control. index/index.h | (pool->vruntimes <= pool->waiting | (pool->vruntimes < pool->waiting
 * Control. index/index.h | pool->vruntimes++; | ;
 */
#include "any_index.h"

int main(void)
{
	u64 one = nondet_u32() & 7;
	u32 row = nondet_u32() & 1, other = nondet_u32() & 1, before;
	struct rg_thread *thread = threads[3];
	struct rg_listing pick = { .vruntime = nondet_u32() & 7, .key = row + 1, .slot = 3 };
	bool brings, full;

	any_index();
	ASSUME(pools[0]->waiting < 2 && pools[1]->waiting < 2);
	ASSUME(pools[row]->waiting || pools[row]->vruntimes);
	thread->last_row = rg_some(row);
	thread->pool = pools[row]->pool;
	before = times(one, other);
	full = heap->count == CAPACITY;
	brings = !full && pools[row]->vruntimes == pools[row]->waiting;
	rg_index_add(&shared, &queue, thread, &pick);
	PROVE(thread->unlisted == full && queue.unlisted == full && !thread->row == full);
	PROVE(times(one, other) ==
	      before + (brings && one == pick.vruntime && other == row));
	PROVE(consistent(0) && consistent(1));
	return 0;
}
