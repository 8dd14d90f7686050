/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. What a thread has received in advance it waits for until virtual time has come as far as
 *          its vruntime. How long that takes depends on its weight. When the weight of its group
 *          rises from 1 to 300 it would still wait as if it were 1.
 * Rule.    When a group becomes heavier, each vruntime that waits for its threads keeps its lead in
 *          CPU time: the lead becomes less by as much as their effective weights become more.
 * Why.     Lag is CPU time, which no change of weight may change (EEVDF's reweight_entity). A
 *          thread that runs is charged at the new weight from the next tick on. One that wakes is
 *          placed by it.
 * Figure.  docs/evidence/production-node.md, `raised-weight`.
 * Limits.  The lock of a queue is taken for each vruntime. One that moves in its heap meanwhile may
 *          be missed, or become less twice. When a group becomes lighter leads stay as they are:
 *          what it then receives too early is its surplus (surplus.h).
 */
#ifndef RG_REWEIGH_H
#define RG_REWEIGH_H

#include "vruntime.h"

#define RG_REWEIGH_SHIFT 16

/* Whether a group is another one or below it. */
RG_INLINE bool rg_is_within(u32 at, u32 above)
{
	bool within = rg_opaque(0);

	RG_FOR(i, 0, RG_DEPTH) {
		if (!at || within)
			break;
		within = at == above;
		at = rg_group_at(at)->parent;
	}
	return within;
}

/* The vruntime of an entry whose lead becomes less. */
RG_INLINE u64 rg_reweighed(u64 vruntime, u64 min_vruntime, u64 parts)
{
	u64 lead = rg_lead(vruntime, min_vruntime);

	return vruntime - lead + (lead >> RG_REWEIGH_SHIFT) * parts;
}

/* A position of a heap, if threads of the group wait for it. */
RG_INLINE void rg_reweigh_at(struct rg_heap *heap, struct rg_vtime *vtime, u32 i, u32 group,
			     u64 parts)
{
	struct rg_entry entry = *rg_heap_at(heap, i);
	struct rg_pool *pool = rg_pool_at(entry.row);
	struct rg_thread *first = rg_thread_at(pool->first);
	u64 before = entry.vruntime;

	if (!pool->waiting || !rg_is_within(first->group, group))
		return;
	entry.vruntime = rg_reweighed(before, vtime->min_vruntime - vtime->shift, parts);
	if (rg_pool_is_alone(pool->pool)) {
		first->account.vruntime -= before - entry.vruntime;
		pool->vruntime = entry.vruntime;
	}
	rg_heap_rise(heap, i, &entry);
}

/* The i-th vruntime of a set of CPUs in a queue; false: there is none. */
RG_SUBPROGRAM bool rg_reweigh_entry(u32 id, u32 cpuset, u32 i, u32 group, u64 parts)
{
	struct rg_shared *shared = rg_shared();
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);
	struct rg_vtime *vtime;
	struct rg_heap *heap;
	bool is;

	if (!shared || !queue || !lock)
		return 0;
	heap = rg_heap_of(queue, cpuset);
	vtime = rg_vtime_waiting(shared, queue, cpuset);
	rg_acquire(lock);
	is = i < heap->count;
	if (is) {
		rg_reweigh_at(heap, vtime, i, group, parts);
		rg_queue_publish(shared, queue, cpuset);
	}
	rg_release(lock);
	return is;
}

/*
 * All that wait in a queue. What becomes less rises in its heap, and what comes down in its place
 * has been met before: one pass from the root is enough.
 */
RG_SUBPROGRAM bool rg_reweigh_queue(u32 id, u32 group, u64 parts)
{
	struct rg_queue *queue = rg_queue(id);
	u64 waiting = queue ? queue->waiting : 0;

	RG_FOR_WAITING(cpuset, waiting) {
		RG_FOR(i, 0, RG_THREADS) {
			if (!rg_reweigh_entry(id, cpuset, i, group, parts))
				break;
		}
	}
	return 1;
}

/* All that wait in the queues of a CPU. */
RG_INLINE void rg_reweigh_cpu(s32 at, u32 group, u64 parts)
{
	u32 shared = rg_queue_of(at);
	struct rg_queue *queue = rg_queue(shared);
	struct rg_cpu *cpu = rg_cpu(at);

	if (!cpu || !queue)
		return;
	if (queue->cpu == at)
		rg_reweigh_queue(shared, group, parts);
	if (cpu->own != shared)
		rg_reweigh_queue(cpu->own, group, parts);
}

/* A group has another weight. Its effective one was `before`. */
RG_INLINE void rg_reweigh(u32 at, u64 before)
{
	struct rg_group *group = rg_group_at(at);
	u64 after;

	rg_weight_change(group->parent, rg_share_settle(group));
	after = rg_flat_weight(group);
	if (RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_MACHINE || after <= before ||
	    !group->share.active)
		return;
	RG_FOR(cpu, 0, RG_OPTION(cpus))
		rg_reweigh_cpu(cpu, at, rg_div(before << RG_REWEIGH_SHIFT, after));
}

#endif
