/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A pop takes one vruntime out of the heap and the first thread out of its pool, and
 *          shows that thread with that vruntime. All other vruntimes stay, and so does what pools
 *          say of them.
 * Bound.   4 vruntimes of 2 pools. Any consistent index is the start.
 * Assumed. Vruntimes are 0 to 7. The pool of the vruntime has a waiting thread.
 * Run.     --unwind 9 --unwindset rg_heap_rise.0:3,rg_heap_sink.0:3,rg_offer.0:5
 * Control. index/choose.h | rg_heap_remove(heap, best); | rg_heap_remove(heap, 0);
 * Control. index/choose.h | pick->vruntime = vruntime; | pick->vruntime = vruntime + 1;
 * Control. index/choose.h | pool->vruntimes--; | ;
 */
#include "any_index.h"

int main(void)
{
	u64 one = nondet_u32() & 7;
	u32 row = nondet_u32() & 1, at = nondet_u32(), before;
	struct rg_vtime vtime = { .shift = nondet_u32() };
	struct rg_entry entry;
	struct rg_cpu here;
	u32 first;

	any_index();
	ASSUME(at < heap->count);
	entry = *rg_entry_at(at);
	first = rg_pool_at(entry.row)->first;
	ASSUME(first);
	before = times(one, row);
	rg_pop(heap, &vtime, &here, at);
	PROVE(times(one, row) + (one == entry.vruntime && row == entry.row) == before);
	PROVE(here.ask.pick.vruntime == entry.vruntime && here.ask.pick.slot == first);
	PROVE(here.vruntime == entry.vruntime + vtime.shift && here.thread == first);
	PROVE(!rg_thread_at(first)->row);
	PROVE(consistent(0) && consistent(1));
	return 0;
}
