/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A thread that leaves a pool is in its list no more, and the order of all others stays.
 * Bound.   4 threads. Any list in order is the start, so any number of steps.
 * Assumed. The thread is in the list.
 * Run.     --unwind 7
 * Control. index/pools.h | pool->last = thread->prev | pool->last = thread->next
 * Control. index/pools.h | rg_thread_at(thread->next)->prev = thread->prev; | ;
 */
#include "any_pool.h"

int main(void)
{
	u32 count = nondet_u32(), at = nondet_u32();
	struct rg_thread *thread;

	ASSUME(count <= LISTED && at < count);
	any_pool(count);
	thread = rg_thread_at(order[at]);
	rg_pool_unlink(&pool, thread);
	PROVE(!thread->row);
	for (u32 i = 0; i < LISTED; i++)
		order[i] = i < at ? order[i] : order[i + 1];
	PROVE(is_listed(count - 1));
	return 0;
}
