/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A raise of a virtual time raises its vruntimes and its min_vruntime alike, wherever they
 *          stand. No vruntime reads as none.
 * Bound.   All inputs.
 * Assumed. None beyond the bound.
 * Run.     --unwind 9
 * Control. vruntime.h | rg_add(&vtime->min_vruntime, by); | ;
 * Control. index/heap.h | return vruntime == RG_NEVER ? vruntime - 1 : vruntime; | return vruntime;
 */
#include "proof.h"

#include "converge.h"

int main(void)
{
	struct rg_vtime vtime = { .min_vruntime = nondet_u64(), .shift = nondet_u64() };
	struct rg_heap heap = { .base = 0, .capacity = 1, .count = 1 };
	u64 min_vruntime = vtime.min_vruntime, shift = vtime.shift, raise = nondet_u64();
	u64 vruntime;

	entries[0]->vruntime = nondet_u64();
	rg_vtime_move(&vtime, raise);
	vruntime = rg_heap_vruntime(&heap, 0, &vtime);
	PROVE(vruntime != RG_NEVER);
	PROVE(vruntime == RG_NEVER - 1 || vruntime == entries[0]->vruntime + (shift + raise));
	PROVE(vtime.min_vruntime == min_vruntime + raise);
	return 0;
}
