/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   CPU time becomes virtual time without overflow, and never more than a quarter of a turn
 *          of it. A minute becomes no less than it should, at the lowest and the greatest weights.
 * Bound.   All CPU times; weights 1/65,536, 3, 15, 1,024, 88,761 and 102,400.
 * Assumed. None beyond the bound.
 * Run.     --unsigned-overflow-check --unwind 7
 * Control. weight.h | rg_div(ran_ns * RG_NORMAL | rg_div(8 * ran_ns * RG_NORMAL
 * Control. weight.h | if (ran_ns > RG_VIRTUAL_MOST_NS) | if (0)
 */
#include "proof.h"

#include "weight.h"

#define MINUTE_NS 60000000000ULL

static void prove_at(u64 weight)
{
	u64 ran = nondet_u64();
	u64 got = rg_virtual(ran, weight);

	PROVE(got <= 1ULL << 62);
	PROVE(ran > MINUTE_NS || got <= ran << 26);
	PROVE(ran < MINUTE_NS || got >= (MINUTE_NS << 10) / ((weight >> 16) + 1));
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
