/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Threads with credit wait on one CPU while another runs threads without.
 * Rule.    A CPU about to run a thread without credit, or none, takes the first thread of a higher
 *          class from another CPU; the nearest first (Xen's credit scheduler).
 * Why.     With it credits hold for the machine and not only for a queue.
 * Figure.  docs/reference/policies.md.
 * Limits.  Asks every CPU of the machine.
 */
#ifndef RG_BALANCE_CREDIT_H
#define RG_BALANCE_CREDIT_H

#include "../pick/pick.h"

/* In dispatch: whether a thread of a better class came from another CPU than what is here. */
RG_INLINE bool rg_credit_before(s32 cpu, struct task_struct *prev)
{
	struct rg_thread *mine = prev ? rg_thread(prev) : 0;
	struct rg_shared *shared = rg_shared();
	u32 own = rg_queue_of(cpu);
	u32 first = 0;
	u32 best = rg_class_best(cpu, own, &first);

	if (mine && rg_class_of(prev, mine) > best)
		best = rg_class_of(prev, mine);
	if (best > RG_CLASS_OVER || !shared)
		return 0;
	RG_FOR(i, 1, RG_MAX_CPUS) {
		s32 other = rg_cpu_in(cpu, RG_LEVEL_MACHINE, i);
		u32 id;

		if (other < 0)
			break;
		id = rg_queue_of(other);
		if (id == own || !rg_queue_length(id) || !rg_pick_credit_above(cpu, id, best))
			continue;
		rg_add(&shared->pulls, 1);
		return 1;
	}
	return 0;
}

#endif
