/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   Some class of bursts always comes first, and all do that together want less than they
 *          may. Those that do not are let in again after 256 periods at most, if they fit then.
 * Bound.   All quotas that the policy takes; each class wants up to 2,000 CPUs.
 * Assumed. What the budget says of its classes, of backing off and of waiting is within the bounds
 *          that the claim asks for again.
 * Run.     --unsigned-overflow-check --unwind 18
 * Control. expect.h | wanted_ns < most_ns ? RG_CLASSES : classes | classes
 * Control. expect.h | if (budget->backoff > RG_BACKOFF_MOST) | if (0)
 */
#include "proof.h"

#include "quota.h"

static void assume_within(struct rg_budget *budget)
{
	budget->classes = nondet_u32();
	budget->backoff = nondet_u32();
	budget->waits = nondet_u32();
	ASSUME(budget->classes >= 1 && budget->classes <= RG_CLASSES);
	ASSUME(budget->backoff <= RG_BACKOFF_MOST && budget->waits <= RG_BACKOFF_MOST);
}

int main(void)
{
	struct rg_budget budget = { .quota_ns = nondet_u64() };
	u64 most_ns = nondet_u64();
	u64 wanted_ns = 0;
	u32 classes, before;

	ASSUME(budget.quota_ns <= RG_QUOTA_MOST_NS && most_ns <= budget.quota_ns);
	for (u32 i = 0; i < RG_CLASSES; i++) {
		budget.wants_ns[i] = nondet_u64();
		ASSUME(budget.wants_ns[i] <= RG_QUOTA_MOST_NS);
		wanted_ns += budget.wants_ns[i];
	}
	classes = rg_expect_within(&budget, most_ns);
	PROVE(classes >= 1 && classes <= RG_CLASSES);
	PROVE(classes == RG_CLASSES || wanted_ns >= most_ns);

	assume_within(&budget);
	before = budget.classes;
	rg_expect_change(&budget, classes, classes);
	PROVE(budget.classes >= 1 && budget.classes <= RG_CLASSES);
	PROVE(budget.backoff <= RG_BACKOFF_MOST && budget.waits <= RG_BACKOFF_MOST);
	PROVE(budget.classes == classes || (budget.classes == before && classes > before));
	return 0;
}
