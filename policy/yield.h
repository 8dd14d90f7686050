/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Locks and barriers that spin call sched_yield, so that the thread that they wait for may
 *          run. First come, first served returns the CPU to the one that came first, which is the
 *          one that yields; and at the burst limit it is a pool of its own, that siblings do not
 *          take part in.
 * Rule.    A thread that yields arrives anew, behind all of its process that wait, and its slice
 *          ends. Until it has run for the burst limit without a yield it is in the pool of its
 *          process, batch or not. Its vruntime stays.
 * Why.     Threads of a pool run on each other's vruntimes, and these are conserved as a multiset:
 *          a sibling goes first, and the process neither gains nor loses by it. EEVDF's yield
 *          forfeits the rest of the request instead (yield_task_fair() since Linux 6.18): others
 *          gain what it loses.
 * Figure.  docs/reference/policies.md.
 * Limits.  A sibling that has computed for longer than the burst limit without a yield is in a pool
 *          of its own, which the one that yields meets by vruntime alone: the two share a CPU.
 */
#ifndef RG_YIELD_H
#define RG_YIELD_H

#include "state.h"

/* Whether the thread yielded lately. */
RG_INLINE bool rg_yields(struct rg_thread *thread)
{
	return thread->ran_ns < thread->yields_ns;
}

RG_INLINE void rg_yield_note(struct rg_thread *thread, u64 arrival)
{
	thread->arrival = arrival;
	if (RG_OPTION(burst_limit_ns) != RG_NEVER)
		thread->yields_ns = thread->ran_ns + RG_OPTION(burst_limit_ns);
}

#endif
