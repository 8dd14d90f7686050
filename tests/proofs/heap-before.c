/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   Of two entries at most one goes before the other, and of three the order is
 *          transitive, also where vruntimes lie on both sides of 0 and stamps have wrapped.
 * Bound.   All vruntimes and stamps, three entries.
 * Assumed. Vruntimes are less than 2^63 apart, stamps of equal ones less than 2^31 pushes.
 * Run.     
 * Control. state.h | return (long long)(a - b) < 0; | return a < b;
 */
#include "proof.h"

#include "index/heap.h"

static u64 from;
static u32 stamp;

static struct rg_entry some_entry(void)
{
	return (struct rg_entry){ from + (nondet_u64() >> 1), 0, stamp + (nondet_u32() >> 1) };
}

int main(void)
{
	struct rg_entry a, b, c;

	from = nondet_u64();
	stamp = nondet_u32();
	a = some_entry();
	b = some_entry();
	c = some_entry();
	PROVE(!rg_heap_before(&a, &a));
	PROVE(!rg_heap_before(&a, &b) || !rg_heap_before(&b, &a));
	PROVE(!rg_heap_before(&a, &b) || !rg_heap_before(&b, &c) || rg_heap_before(&a, &c));
	PROVE(a.vruntime == b.vruntime ||
	      rg_heap_before(&a, &b) == (a.vruntime - from < b.vruntime - from));
	return 0;
}
