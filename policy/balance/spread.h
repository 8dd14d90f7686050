/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. Threads that spin never wake up again: where they start decides for ever how many share
 *          a queue, and with whom.
 * Rule.    A new thread starts at the queue with the fewest threads that run or wait; of several
 *          the nearest.
 * Why.     What Linux does at fork (SD_BALANCE_FORK), so part of the dimension that CTS leaves to
 *          CFS (section 3). Members of a group are spread one by one, so that groups stand alike at
 *          every queue, and fair within each queue is fair between groups.
 * Figure.  Groups of 8 and 12 spinning threads on two caches: docs/policies.md.
 * Limits.  Once, at the start: what ends or sleeps later is not evened out. Caches count as equally
 *          large. Asks every CPU.
 */
#ifndef RG_BALANCE_SPREAD_H
#define RG_BALANCE_SPREAD_H

#include "../queue.h"

/* A CPU of the queue where a new thread shall start. */
RG_INLINE s32 rg_spread(struct task_struct *t, s32 home)
{
	u32 fewest = ~0U;
	s32 best = home;

	RG_FOR(i, 0, RG_MAX_CPUS) {
		s32 cpu = rg_cpu_in(home, RG_LEVEL_MACHINE, i);
		struct rg_queue *queue = cpu < 0 ? 0 : rg_queue(rg_queue_of(cpu));

		if (!queue)
			break;
		if (queue->threads >= fewest || !rg_may_run_on(t, cpu))
			continue;
		fewest = queue->threads;
		best = cpu;
	}
	return best;
}

#endif
