/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Threads that are bound to a CPU, or to a set with it, wait for it. It runs one that may
 *          go elsewhere, and another CPU idles, or runs what is further ahead: no thread waits that
 *          the other one could take.
 * Rule.    When a CPU is to choose, and threads wait for it that may not run everywhere, what it
 *          runs leaves it, if it may go to an idle one. A CPU that falls idle lets such a CPU of
 *          its queue choose. In a tick, what runs leaves it if it may go to a CPU of the queue
 *          where they may not, and whose thread was further ahead than the first of them when its
 *          turn began, by 1 ms (RG_PREEMPT_GRANULARITY_NS). That CPU chooses again. One of another
 *          queue looks for it here, too. Where there is no such CPU, what runs goes to one whose
 *          thread may go on to such a one of that queue.
 * Why.     By fair order the others wait for as long as the weight of what runs is worth, and the
 *          idle CPU's time is lost to all. Of threads that are on the wrong CPUs the vruntimes say
 *          which shall run, but not where: the one that runs has nothing to change places for.
 * Figure.  Four spinners bound to one of two CPUs, which are due 33.9% of the machine beside a
 *          spinner of ten times their weight and a service, have 36.0% of it, and no CPU idles.
 *          Before they had 18.3%, and 17.7% idled. Eight bound to two of four, due 33.8%, have
 *          33.7%, before 19.5%. A spinner that may use three of six CPUs, one of them with four
 *          others that have two: those have both, else one. Two heavy threads in sets {0,1} and
 *          {0,2} and a group in {2,3}, 60 draws of their weights: the share furthest from its due
 *          is off by 0.04% of the machine, 2.7% when one thread left at a time.
 *          docs/evidence/production-node.md.
 * Limits.  A queue remembers one CPU for those that fall idle. Others look at the end of a slice.
 *          Two threads change CPUs for a third in one queue alone; where three would have to, they
 *          stay. Of more than 8 CPUs of the queue a tick asks some (preempt.h).
 */
#ifndef RG_GIVE_WAY_H
#define RG_GIVE_WAY_H

#include "balance/balance.h"
#include "preempt.h"

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

/* Whether what a CPU runs is further ahead than a thread that waits, and that may not run there. */
RG_INLINE bool rg_runs_later(struct rg_shared *shared, struct rg_cpu *cpu,
			     struct rg_foremost *bound)
{
	u64 least = bound->vruntime + RG_PREEMPT_GRANULARITY_NS;

	return cpu->pool && !cpu->ordered && rg_before(least, rg_turn_began(cpu)) &&
	       !(bound->set && rg_is_admitted(shared, cpu, bound->set));
}

/* The CPU where what another one runs shall go, so that what a third runs may take its place. */
RG_SUBPROGRAM s32 rg_way_on(s32 at, s32 from)
{
	struct rg_shared *shared = rg_shared();
	struct rg_queue *queue = rg_queue(rg_queue_of(from));
	struct rg_cpu *here = rg_cpu(at);
	struct rg_cpu *between = rg_cpu(from);
	u32 asked;

	if (!shared || !queue || !here || !between || !between->pool || between->ordered ||
	    between->vtime >= RG_CPUSETS)
		return -1;
	asked = rg_preempt_asked(queue);
	RG_FOR(i, 0, asked) {
		s32 to = rg_preempt_near(queue, from, i);
		struct rg_cpu *cpu = to < 0 || to == at || to == from ? 0 : rg_cpu(to);

		if (cpu && rg_runs_later(shared, cpu, &here->span.bound) &&
		    !rg_is_refused(shared, cpu, between->vtime))
			return to;
	}
	return -1;
}

/* The CPU of its queue to which what a CPU runs shall go; -1: none. */
RG_SUBPROGRAM s32 rg_way_near(struct task_struct *t RG_TRUSTED, s32 at)
{
	struct rg_shared *shared = rg_shared();
	struct rg_queue *queue = rg_queue(rg_queue_of(at));
	struct rg_cpu *here = rg_cpu(at);
	u32 asked;

	if (!shared || !queue || !here)
		return -1;
	asked = rg_preempt_asked(queue);
	RG_FOR(i, 0, asked) {
		s32 to = rg_preempt_near(queue, at, i);
		struct rg_cpu *cpu = to < 0 || to == at ? 0 : rg_cpu(to);

		if (cpu && rg_runs_later(shared, cpu, &here->span.bound) && rg_may_run_on(t, to))
			return to;
	}
	return -1;
}

/* The same of another queue. */
RG_SUBPROGRAM s32 rg_way_far(struct task_struct *t RG_TRUSTED, s32 at)
{
	struct rg_shared *shared = rg_shared();
	struct rg_queue *queue = rg_queue(rg_queue_of(at));
	struct rg_cpu *here = rg_cpu(at);

	if (!shared || !queue || !here || shared->queues < 2)
		return -1;
	RG_FOR(i, 0, RG_PREEMPT_BEYOND) {
		s32 to = rg_preempt_far(queue, at, i);
		struct rg_cpu *cpu = to < 0 || to == at ? 0 : rg_cpu(to);

		if (cpu && rg_runs_later(shared, cpu, &here->span.bound) && rg_may_run_on(t, to))
			return to;
	}
	return -1;
}

/* The same of its queue, where what runs there goes on to a third. */
RG_SUBPROGRAM s32 rg_way_between(struct task_struct *t RG_TRUSTED, s32 at)
{
	struct rg_queue *queue = rg_queue(rg_queue_of(at));
	u32 asked = queue ? rg_preempt_asked(queue) : 0;

	RG_FOR(i, 0, asked) {
		s32 to = queue ? rg_preempt_near(queue, at, i) : -1;
		struct rg_cpu *cpu = to < 0 || to == at ? 0 : rg_cpu(to);
		s32 on = cpu && rg_may_run_on(t, to) ? rg_way_on(at, to) : -1;

		if (on < 0)
			continue;
		cpu->leaves = rg_some(on);
		return to;
	}
	return -1;
}

/* The CPU to which what a CPU runs shall go; -1: none. Each search is verified by itself. */
RG_INLINE s32 rg_way_out(struct task_struct *t, s32 at)
{
	s32 to;

	if (rg_is_pinned(t))
		return -1;
	to = rg_way_near(t, at);
	if (to < 0)
		to = rg_way_far(t, at);
	return to < 0 ? rg_way_between(t, at) : to;
}

/* In tick, once the sets are compared: ends the slice of what shall run elsewhere. */
RG_INLINE void rg_leave_if_wanted(struct rg_cpu *here, s32 at, struct task_struct *t)
{
	s32 to = here->span.bound.vruntime == RG_NEVER ? -1 : rg_way_out(t, at);

	if (to < 0 || RG_OPTION(balance) == RG_BALANCE_NONE)
		return;
	here->leaves = rg_some(to);
	rg_set_slice(t, 0);
}

/* In dispatch: whether the CPU's runnable thread shall go to another one, which looks for it. */
RG_SUBPROGRAM bool rg_gives_way(struct task_struct *t RG_TRUSTED, s32 at)
{
	struct rg_cpu *here = rg_cpu(at);
	struct rg_queue *queue = rg_queue(rg_queue_of(at));
	struct rg_queue *own = here ? rg_queue(here->own) : 0;
	struct rg_thread *thread = rg_thread(t);

	if (here && here->leaves) {
		struct rg_cpu *to = rg_cpu((s32)rg_number(here->leaves));

		if (to)
			to->hint = rg_some(rg_queue_of(at));
		rg_kick((s32)rg_number(here->leaves), RG_KICK_PREEMPT);
		here->leaves = 0;
		return 1;
	}
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
