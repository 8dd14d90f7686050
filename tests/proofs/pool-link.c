/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A thread that joins a pool stands in its list behind all that arrived no later and
 *          before all others, whose order stays.
 * Bound.   4 threads, and one more. Any list in order is the start, so any number of steps.
 * Assumed. The thread is in no list. Arrivals are 0 to 15.
 * Run.     --unwind 7
 * Control. index/pools.h | (next)->arrival <= arrival | (next)->arrival < arrival
 * Control. index/pools.h | if (arrival < first) | if (arrival <= first)
 */
#include "any_pool.h"

/* The last thread of `order` is to stand at its place by arrival, behind equal ones. */
static void expect(u32 count)
{
	u32 slot = order[count];

	for (u32 i = LISTED; i > 0; i--) {
		if (i > count || threads[order[i - 1]]->arrival <= threads[slot]->arrival)
			continue;
		order[i] = order[i - 1];
		order[i - 1] = slot;
	}
}

int main(void)
{
	u32 count = nondet_u32();

	ASSUME(count <= LISTED);
	any_pool(count);
	rg_pool_link(&pool, order[count], rg_thread_at(order[count]));
	expect(count);
	PROVE(is_listed(count + 1));
	return 0;
}
