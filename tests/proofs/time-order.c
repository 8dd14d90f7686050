/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   Vruntimes that wrap are in one order, and none is after all of them. A lead is how far
 *          one is after another, or 0.
 * Bound.   All inputs.
 * Assumed. Vruntimes are less than 2^63 apart.
 * Run.
 * Control. state.h | return (long long)(a - b) < 0; | return a < b;
 * Control. state.h | a != RG_NEVER && (b == RG_NEVER || rg_before(a, b)) | rg_before(a, b)
 * Control. state.h | rg_before(b, a) ? a - b : 0 | a > b ? a - b : 0
 */
#include "proof.h"

static u64 from;

/* A vruntime or none, and its place in the order. */
static u64 some_vruntime(u64 *place)
{
	bool none = nondet_bool();
	u64 after = nondet_u64() >> 1;

	ASSUME(from + after != RG_NEVER);
	*place = none ? RG_NEVER : after;
	return none ? RG_NEVER : from + after;
}

int main(void)
{
	u64 a, b, at_a, at_b;

	from = nondet_u64();
	a = some_vruntime(&at_a);
	b = some_vruntime(&at_b);
	PROVE(rg_precedes(a, b) == (at_a < at_b));
	if (a != RG_NEVER && b != RG_NEVER) {
		PROVE(rg_before(a, b) == (at_a < at_b));
		PROVE(rg_lead(a, b) == rg_less(at_a, at_b));
	}
	return 0;
}
