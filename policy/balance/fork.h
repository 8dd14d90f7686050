/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Threads that spin never wake up again: where they start decides for ever how many share
 *          a queue, and which.
 * Rule.    A new thread starts where its parent is if that queue is empty, else at the queue with
 *          the fewest threads that run or wait. Of several it takes the first by strides of 0.62 of
 *          the machine.
 * Why.     What Linux does at fork (SD_BALANCE_FORK), so part of the dimension that CTS leaves to
 *          CFS (section 3). Members of a group are spread one by one, so that groups stand alike at
 *          every queue, and fair within each queue is fair between groups. The golden section
 *          divides any circle evenly: of 20 threads on 16 queues the last four lie two to each
 *          cache, where the nearest four would all lie in one.
 * Figure.  Groups of 8 and 12 spinning threads on two caches: docs/reference/policies.md.
 * Limits.  Once, at the start: what ends or sleeps later is not evened out. Caches count as equally
 *          large. Of more than 32 CPUs 32 are asked, other ones each time.
 */
#ifndef RG_BALANCE_FORK_H
#define RG_BALANCE_FORK_H

#include "../queue.h"

#define RG_FORK_ASKED 32

/* A CPU of the queue where a new thread shall start. */
RG_INLINE s32 rg_fork_cpu(struct task_struct *t, s32 home)
{
	struct rg_queue *own = rg_queue(rg_queue_of(home));
	struct rg_shared *shared = rg_shared();
	u32 cpus = RG_OPTION(cpus);
	u32 fewest = ~0U;
	s32 best = home;
	u32 at;

	if (!shared || shared->queues < 2 || (own && !own->threads))
		return home;
	at = cpus > RG_FORK_ASKED ? shared->spread : 0;
	RG_FOR(i, 0, cpus < RG_FORK_ASKED ? cpus : RG_FORK_ASKED) {
		s32 cpu = rg_cpu_in(0, RG_LEVEL_MACHINE, at);
		struct rg_queue *queue = cpu < 0 ? 0 : rg_queue(rg_queue_of(cpu));

		at = rg_queue_after(at, RG_OPTION(stride), cpus);
		if (!queue || queue->threads >= fewest || !rg_may_run_on(t, cpu))
			continue;
		fewest = queue->threads;
		best = cpu;
	}
	shared->spread = at;
	return best;
}

#endif
