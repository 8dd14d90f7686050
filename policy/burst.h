/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. First come, first served needs a bound. A thread that spins keeps its arrival for ever,
 *          starves its siblings, and lives on the vruntimes that they bring when they wake.
 * Rule.    A leaky bucket a thread: its burst grows by CPU time and drains with sleep. At the burst
 *          limit (50 ms or 4 slices, the larger) the thread is batch: a pool of its own, until the
 *          burst is 0.
 * Why.     A burst that a wake-up resets can be gamed by a short sleep. This one measures what the
 *          thread does.
 * Figure.  A spinner among 200 sleeping siblings beside a foreign hog: 0.50 with it, starving the
 *          hog without: docs/reference/policies.md.
 * Limits.  A request longer than the limit loses its arrival. So does a worker that serves more
 *          than half of the time without a pause.
 */
#ifndef RG_BURST_H
#define RG_BURST_H

#include "pick/pool.h"

RG_INLINE void rg_burst_fill(struct rg_thread *thread, u64 ran_ns)
{
	u64 limit = RG_OPTION(burst_limit_ns);

	thread->burst += ran_ns;
	if (thread->burst < limit)
		return;
	thread->burst = limit;
	thread->batch = 1;
}

RG_INLINE void rg_burst_drain(struct rg_thread *thread, u64 slept_ns)
{
	thread->burst = rg_less(thread->burst, slept_ns);
	if (!thread->burst)
		thread->batch = 0;
}

#endif
