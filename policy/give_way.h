/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Threads that are bound to a CPU, or to a set with it, wait for it. It runs one that may
 *          go elsewhere, and another CPU idles: no thread waits that the idle one could take.
 * Rule.    When a CPU is to choose, and threads wait for it that may not run everywhere, what it
 *          runs leaves it, if it may go to an idle one. A CPU that falls idle lets such a CPU of
 *          its queue choose.
 * Why.     By fair order the others wait for as long as the weight of what runs is worth, and the
 *          idle CPU's time is lost to all.
 * Figure.  Four spinners bound to one of two CPUs, which are due 33.9% of the machine beside a
 *          spinner of ten times their weight and a service, have 36.0% of it, and no CPU idles.
 *          Before they had 18.3%, and 17.7% idled. Eight bound to two of four, due 33.8%, have
 *          33.7%, before 19.5%. docs/evidence/production-node.md.
 * Limits.  A queue remembers one CPU for those that fall idle. Others look at the end of a slice.
 */
#ifndef RG_GIVE_WAY_H
#define RG_GIVE_WAY_H

#include "balance/balance.h"

/*
 * Whether threads wait for a CPU that may not run everywhere: bound to it, or of a set with it that
 * is not that of what it runs: those of the same set could go wherever it could.
 */
RG_INLINE bool rg_is_wanted_by_bound(struct rg_queue *queue, struct rg_queue *own,
				     struct rg_cpu *here, struct rg_thread *thread)
{
	struct rg_shared *shared = rg_shared();
	u64 own_set = 1ULL << (thread->cpuset & (RG_CPUSETS - 1));
	u64 waiting = queue->waiting & ~(1ULL | own_set);
	bool wanted = own->is_own && own->least != RG_NEVER;

	if (!shared)
		return 0;
	RG_FOR_WAITING(i, waiting)
		wanted |= rg_is_admitted(shared, here, i);
	return wanted;
}

/* In dispatch: whether the CPU's runnable thread shall go to an idle CPU, which looks for it. */
RG_SUBPROGRAM bool rg_gives_way(struct task_struct *t RG_TRUSTED, s32 at)
{
	struct rg_cpu *here = rg_cpu(at);
	struct rg_queue *queue = rg_queue(rg_queue_of(at));
	struct rg_queue *own = here ? rg_queue(here->own) : 0;
	struct rg_thread *thread = rg_thread(t);

	if (!queue || !own || !thread || rg_is_pinned(t) ||
	    !rg_is_wanted_by_bound(queue, own, here, thread))
		return 0;
	if (rg_wake_for(rg_pick_idle(t), rg_some(rg_queue_of(at))))
		return 1;
	queue->crowded = rg_some(at);
	return 0;
}

/*
 * In idle: the CPU of its queue chooses again that was last seen to run what this one could, of
 * threads that may run on several. Where this one may not, the next that idles is asked.
 */
RG_INLINE void rg_relieve(struct rg_shared *shared, struct rg_queue *queue, struct rg_cpu *here)
{
	s32 at = queue->crowded ? (s32)rg_number(queue->crowded) : -1;
	struct rg_cpu *cpu = at < 0 ? 0 : rg_cpu(at);
	bool may_leave = cpu && cpu->pool && cpu->vtime < RG_CPUSETS;

	if (!cpu || (may_leave && !rg_is_admitted(shared, here, cpu->vtime)))
		return;
	queue->crowded = 0;
	if (may_leave)
		rg_kick(at, RG_KICK_PREEMPT);
}

#endif
