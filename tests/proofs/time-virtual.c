/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   CPU time becomes virtual time without overflow, and never more than at the least weight.
 *          4 minutes become no less than they should, at the lowest and the greatest weights.
 * Bound.   Up to 4 minutes at once; weights 1/65,536, 3, 15, 1,024, 88,761 and 102,400.
 * Assumed. None beyond the bound.
 * Run.     --unsigned-overflow-check --unwind 7
 * Control. weight.h | rg_div(ran_ns * RG_NORMAL | rg_div(8 * ran_ns * RG_NORMAL
 */
#include "proof.h"

#include "weight.h"

#define MOST_NS 240000000000ULL

static void prove_at(u64 weight)
{
	u64 a = nondet_u64(), got;

	ASSUME(a <= MOST_NS);
	got = rg_virtual(a, weight);
	PROVE(got <= a << 26 && (a < MOST_NS || got >= (MOST_NS << 10) / ((weight >> 16) + 1)));
}

int main(void)
{
	prove_at(1);
	prove_at(3ULL * RG_WEIGHT_ONE);
	prove_at(15ULL * RG_WEIGHT_ONE);
	prove_at(1024ULL * RG_WEIGHT_ONE);
	prove_at(88761ULL * RG_WEIGHT_ONE);
	prove_at(102400ULL * RG_WEIGHT_ONE);
	return 0;
}
