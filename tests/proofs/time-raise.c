/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A raise of a virtual time leaves the order of its vruntimes and their distances to its
 *          min_vruntime, and nothing overflows.
 * Bound.   All inputs.
 * Assumed. Virtual times, shifts and raises are below 2^61: 30 years in ns are below 2^60.
 * Run.     --unsigned-overflow-check --unwind 9
 * Control. converge.h | rg_add(&vtime->min_vruntime, by); | ;
 */
#define PROOF_ENTRIES 2

#include "proof.h"

#include "converge.h"

static u64 some_time(void)
{
	return nondet_u64() >> 3;
}

int main(void)
{
	struct rg_heap heap = { .base = 0, .capacity = 2, .count = 2 };
	struct rg_vtime vtime = { .min_vruntime = some_time(), .shift = some_time() };
	u64 a, b, raise = some_time(), min_vruntime = vtime.min_vruntime;

	entries[0]->vruntime = some_time();
	entries[1]->vruntime = some_time();
	a = rg_heap_vruntime(&heap, 0, &vtime);
	b = rg_heap_vruntime(&heap, 1, &vtime);
	rg_vtime_raise(&vtime, raise);
	PROVE(rg_heap_vruntime(&heap, 0, &vtime) == a + raise);
	PROVE(rg_heap_vruntime(&heap, 1, &vtime) == b + raise);
	PROVE(vtime.min_vruntime == min_vruntime + raise);
	return 0;
}
