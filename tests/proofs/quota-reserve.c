/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   What a budget keeps for brief threads is computed without overflow. It is at most the
 *          quota and an eighth of that, and nothing where none is expected.
 * Bound.   All quotas that the policy takes, of periods of 1 ms, 100 ms and 1 s; 30 years of
 *          uptime.
 * Assumed. The clock is at the beginning of the period or later.
 * Run.     --unsigned-overflow-check --unwind 7
 * Control. budget.h | if (reserve_ns > budget->quota_ns) | if (0)
 */
#include "proof.h"

static u64 clock_ns;

u64 rg_now(void)
{
	return clock_ns;
}

#include "quota.h"

static void prove_period(u64 period_ns)
{
	struct rg_budget budget = { .period_ns = period_ns };
	u64 reserve_ns;

	budget.quota_ns = nondet_u64();
	budget.expected_ns = nondet_u64();
	budget.filled_at = nondet_u64();
	clock_ns = nondet_u64();
	ASSUME(budget.quota_ns <= RG_QUOTA_MOST_NS);
	ASSUME(budget.expected_ns < YEARS_30);
	ASSUME(clock_ns < YEARS_30 && budget.filled_at <= clock_ns);
	reserve_ns = rg_budget_reserve(&budget);
	PROVE(reserve_ns <= budget.quota_ns + (budget.quota_ns >> 3));
	PROVE(budget.expected_ns || !reserve_ns);
}

int main(void)
{
	prove_period(1000000);
	prove_period(100000000);
	prove_period(1000000000);
	return 0;
}
