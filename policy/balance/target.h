/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Virtual times of threads on different CPUs drift apart without bound, and keeping them
 *          in one order for the whole machine would need a lock for the whole machine.
 * Rule.    Each domain of the topology has a target virtual time, and the larger the domain the
 *          longer the interval between targets. A target rises by one interval when no thread of
 *          its domain is behind it any more (gvts.h). The least target of the lowest domains stands
 *          for the least virtual time of the machine (GVTS sections 3.1 and 4).
 * Why.     Shared state is a few numbers a domain that change once an interval, by atomics. Each
 *          domain knows the least of its children, so a change of the machine's least walks up the
 *          levels and no further than it matters.
 * Figure.  docs/reference/policies.md.
 * Limits.  A domain does not count when it is 3 intervals behind, no thread waits in it, and it
 *          runs a thread at least as heavy as that of the CPU that looks: its thread has an
 *          infeasible weight and can never catch up (GVTS section 4). The weight is compared with
 *          one CPU's, not with all. Racing updates may leave a domain's least behind until its next
 *          target.
 */
#ifndef RG_BALANCE_TARGET_H
#define RG_BALANCE_TARGET_H

#include "../state.h"

#define RG_BEHIND 3 /* intervals after which a weight is infeasible: GVTS section 4 */

/* Between targets on a level; 0 where it is not in use. */
RG_INLINE u64 rg_interval(u32 level)
{
	return RG_OPTION(interval_ns[RG_LEVEL_ROW(level)]);
}

/* The target of the CPU's domain on a level; 0 where the level is not in use. */
RG_INLINE struct rg_target *rg_target(s32 cpu, u32 level)
{
	struct rg_cpu *row;

	if (!rg_interval(level))
		return 0;
	row = rg_cpu(rg_domain(cpu, level));
	return row ? &row->targets[RG_LEVEL_ROW(level)] : 0;
}

/* The lowest level in use, RG_LEVELS if none is. */
RG_INLINE u32 rg_target_lowest(void)
{
	u32 lowest = RG_LEVELS;

	RG_FOR(i, 0, RG_LEVELS) {
		if (lowest == RG_LEVELS && rg_interval(i))
			lowest = i;
	}
	return lowest;
}

/* In init: a CPU joins its domains, which come into being with their first one. */
RG_INLINE void rg_target_create(s32 cpu)
{
	struct rg_target *parent = 0;

	RG_FOR(i, 0, RG_LEVELS) {
		u32 level = RG_LEVELS - 1 - i;
		struct rg_target *target = rg_target(cpu, level);

		if (!target)
			continue;
		if (!target->cpus) {
			target->at = RG_VTIME_BEGIN + rg_interval(level);
			target->least = RG_NEVER;
			target->cpu = cpu;
			target->sibling = parent ? parent->children : 0;
			if (parent)
				parent->children = rg_some(rg_domain(cpu, level));
		}
		target->cpus++;
		parent = target;
	}
}

/* The child of a domain that holds the least target; RG_NEVER's holder if none counts. */
RG_INLINE struct rg_target *rg_target_least_child(struct rg_target *parent, u32 below)
{
	struct rg_target *least = 0;
	rg_maybe next = parent->children;

	RG_FOR(i, 0, RG_MAX_CPUS) {
		struct rg_cpu *row = next ? rg_cpu(rg_number(next)) : 0;
		struct rg_target *child;

		if (!row)
			break;
		child = &row->targets[RG_LEVEL_ROW(below)];
		if (!least || rg_precedes(child->least, least->least))
			least = child;
		next = child->sibling;
	}
	return least;
}

/* The machine's least target is at least this much: it never falls. */
RG_INLINE void rg_target_advance(u64 least)
{
	struct rg_shared *shared = rg_shared();
	u64 now;

	if (!shared || least == RG_NEVER)
		return;
	now = shared->least_target;
	if (rg_before(now, least))
		rg_compare_and_swap(&shared->least_target, now, least);
}

/* The lowest domain of this CPU now has this least target: tells the domains above. */
RG_INLINE void rg_target_tell(s32 cpu, u64 least)
{
	u32 below = rg_opaque(RG_LEVELS);

	RG_FOR(level, 0, RG_LEVELS) {
		struct rg_target *target = rg_target(cpu, level);
		struct rg_target *child;

		if (!target)
			continue;
		child = below < RG_LEVELS ? rg_target_least_child(target, below) : 0;
		if (child)
			least = child->least;
		if (target->least == least)
			return;
		target->least = least;
		below = level;
	}
	rg_target_advance(least);
}

/*
 * What a lowest domain tells: its target while it has threads, unless all others have left it
 * behind.
 */
RG_INLINE void rg_target_report(s32 cpu, struct rg_target *lowest)
{
	struct rg_shared *shared = rg_shared();
	bool counts = shared && lowest->busy && !rg_before(lowest->at, shared->least_target);

	rg_target_tell(cpu, counts ? lowest->at : RG_NEVER);
}

/*
 * A queue has got its first thread. A domain that slept takes up where the others are; answers
 * whether it did.
 */
RG_SUBPROGRAM bool rg_target_queue_busy(s32 cpu)
{
	struct rg_target *lowest = rg_target(cpu, rg_target_lowest());
	struct rg_shared *shared = rg_shared();

	if (!lowest || !shared || rg_add(&lowest->busy, 1) != 1)
		return 0;
	RG_FOR(level, 0, RG_LEVELS) {
		struct rg_target *target = rg_target(cpu, level);

		if (target && rg_before(target->at, shared->least_target))
			target->at = shared->least_target;
	}
	rg_target_report(cpu, lowest);
	return 1;
}

/* A queue has lost its last thread; answers whether its domain has. */
RG_SUBPROGRAM bool rg_target_queue_idle(s32 cpu)
{
	struct rg_target *lowest = rg_target(cpu, rg_target_lowest());

	if (!lowest || rg_add(&lowest->busy, -1))
		return 0;
	rg_target_report(cpu, lowest);
	return 1;
}

/* Whether no thread waits in a lowest domain and what it runs is at least this heavy. */
RG_INLINE bool rg_target_is_infeasible(struct rg_target *domain, u32 level, u64 weight)
{
	RG_FOR(i, 0, RG_MAX_CPUS) {
		s32 at = rg_cpu_in(domain->cpu, level, i);
		struct rg_cpu *cpu = at < 0 ? 0 : rg_cpu(at);

		if (!cpu)
			break;
		if (rg_queue_length(rg_domain(at, RG_OPTION(queue))))
			return 0;
		if (cpu->pool && cpu->weight < weight)
			return 0;
	}
	return 1;
}

/*
 * A lowest domain has reached a target that is far ahead of the least: the domain that
 * holds the least is looked for from the machine downwards, and left out if it can do no better.
 */
RG_INLINE void rg_target_leave_behind(s32 here, u64 weight)
{
	struct rg_target *at = 0;
	u32 below = RG_LEVELS;

	RG_FOR(i, 0, RG_LEVELS) {
		u32 level = RG_LEVELS - 1 - i;

		if (!rg_interval(level))
			continue;
		at = at ? rg_target_least_child(at, level) : rg_target(here, level);
		if (!at)
			return;
		below = level;
	}
	if (at && rg_target_is_infeasible(at, below, weight))
		rg_target_tell(at->cpu, RG_NEVER);
}

/*
 * No waiting thread of the CPU's domain on this level is behind the target that was seen: it rises,
 * once, however many CPUs find so. It rises by as many intervals as all threads have already
 * passed: light weights pass several in a slice.
 */
RG_SUBPROGRAM bool rg_target_raise(s32 cpu, u32 level, u64 seen, u64 reached)
{
	struct rg_target *target = rg_target(cpu, level);
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *own = rg_cpu(cpu);
	u64 interval, next;

	if (!target || !shared || !own)
		return 0;
	interval = rg_interval(level);
	next = seen + interval + rg_div(rg_lead(reached, seen), interval) * interval;
	if (rg_compare_and_swap(&target->at, seen, next) != seen)
		return 0;
	target->clear = 0;
	if (level != rg_target_lowest())
		return 1;
	rg_target_report(cpu, target);
	if (RG_OPTION(infeasible) &&
	    rg_before(shared->least_target + RG_BEHIND * interval, next))
		rg_target_leave_behind(cpu, own->weight);
	return 1;
}

#endif
