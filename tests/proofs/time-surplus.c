/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   What a group earns, and what its surplus delays, is computed without overflow. A surplus
 *          of a second above its tolerance delays by no less than it should.
 * Bound.   All advances of virtual time and all surpluses; weights 1/65,536 to 102,400 for what is
 *          earned, these two and 1,024 for delays.
 * Assumed. A tolerance is below 2^62.
 * Run.     --unsigned-overflow-check --unwind 7
 * Control. surplus.h | if (advance > RG_EARNED_MOST_NS) | if (0)
 * Control. weight.h | if (ran_ns > RG_VIRTUAL_MOST_NS) | if (0)
 */
#include "proof.h"

#include "surplus.h"

#define SECOND_NS 1000000000ULL

struct rg_shared *rg_shared(void)
{
	return 0;
}

static void prove_delay_at(u64 weight)
{
	struct rg_group group = { .flat = weight };
	u64 above;

	group.tolerance_ns = nondet_u64() >> 2;
	above = nondet_u64() >> 1;
	ASSUME(above <= RG_NEVER / 2 - 2 * group.tolerance_ns);
	group.surplus_ns = 2 * group.tolerance_ns + above;
	PROVE(above < SECOND_NS ||
	      rg_surplus_wait(&group) >= (SECOND_NS << 10) / ((weight >> 16) + 1));
}

int main(void)
{
	u64 weight = nondet_u64();

	ASSUME(weight && weight <= 102400ULL * RG_WEIGHT_ONE);
	rg_earned(nondet_u64(), weight);
	prove_delay_at(1);
	prove_delay_at(1024ULL * RG_WEIGHT_ONE);
	prove_delay_at(102400ULL * RG_WEIGHT_ONE);
	return 0;
}
