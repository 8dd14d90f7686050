/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Threads of one queue may be bound to different CPUs. A CPU that looks at some of them
 *          and finds none that it may run must not sleep while one waits behind these.
 * Rule.    A set of CPUs has a row of a table for the machine, found by the number of the affinity,
 *          and in each queue a heap of its own. A CPU asks the heaps of all sets, least vruntime
 *          first, until a thread can be moved. It remembers affinities that do not admit it.
 *          Threads that share a set share a virtual time too (min_vruntime.h).
 * Why.     All threads of a set may run on the same CPUs: where the first may not, none may.
 * Figure.  docs/evidence/production-node.md.
 * Limits.  62 sets at a time beside "all CPUs" and single CPUs, which have queues of their own.
 *          Threads of further ones wait in the queue alone, which is walked to its end for them.
 *          Of more than 16 CPUs of a queue, others than those near learn of a set in ticks.
 */
#ifndef RG_INDEX_CPUSETS_H
#define RG_INDEX_CPUSETS_H

#include "../state.h"

#define RG_CPUSET_PROBES 8
#define RG_CPUSET_NONE (RG_CPUSETS - 1) /* has no heap: see index.h */
#define RG_CPUSET_IDLE_NS 1000000000ULL
#define RG_ADMIT_NEAR 16 /* CPUs */

/* For each set of CPUs whose bit is set: one statement. */
#define RG_FOR_WAITING(i, waiting)                                                                 \
	RG_FOR_OUTER(i, 0, RG_CPUSETS)                                                             \
		if (!((waiting) >> i))                                                             \
			break;                                                                     \
		else if ((waiting) >> i & 1)

/* The number of a virtual time: of a set of CPUs, or beyond these of a queue. */
#define RG_VTIME_OF_QUEUE(id) (RG_CPUSETS + (id))

/* The virtual time in which those of a set wait in a queue. `queue` may be a CPU's own. */
RG_INLINE struct rg_vtime *rg_vtime_waiting(struct rg_shared *shared, struct rg_queue *queue,
					    u32 cpuset)
{
	if (RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_MACHINE || queue->is_own)
		return &queue->vtime;
	return &shared->cpusets[rg_masked(cpuset, RG_CPUSETS)].vtime;
}

/* Whether a row is free: no thread of it waits, and none was seen for a while. */
RG_INLINE bool rg_cpuset_is_free(struct rg_cpuset *row, u64 now)
{
	return !row->affinity ||
	       (!row->waiting && rg_less(now, row->vtime.used_at) > RG_CPUSET_IDLE_NS);
}

/* The i-th row that may be that of an affinity (Fibonacci hashing). */
RG_INLINE u32 rg_cpuset_probe(u32 affinity, u32 i)
{
	return rg_masked((affinity * 0x9e3779b9U >> 16) + i, RG_CPUSETS);
}

/* The row of an affinity, made now if there is none; RG_CPUSET_NONE where there is no room. */
RG_SUBPROGRAM u32 rg_cpuset_find(u32 affinity, u64 now)
{
	struct rg_shared *shared = rg_shared();
	u32 found = RG_CPUSET_NONE, empty = RG_CPUSET_NONE;
	struct rg_cpuset *row;
	u64 before;

	if (!shared)
		return found;
	RG_FOR(i, 0, RG_CPUSET_PROBES) {
		u32 at = rg_cpuset_probe(affinity, i);

		if (!at || at == RG_CPUSET_NONE)
			continue;
		row = &shared->cpusets[rg_masked(at, RG_CPUSETS)];
		if (row->affinity == affinity)
			found = at;
		else if (empty == RG_CPUSET_NONE && rg_cpuset_is_free(row, now))
			empty = at;
	}
	if (found != RG_CPUSET_NONE || empty == RG_CPUSET_NONE)
		return found;
	row = &shared->cpusets[rg_masked(empty, RG_CPUSETS)];
	before = row->affinity;
	row->vtime.used_at = now;
	return rg_compare_and_swap(&row->affinity, before, affinity) == before ? empty
									       : RG_CPUSET_NONE;
}

/* Brings a thread's set up to date with its affinity. */
RG_INLINE void rg_cpuset_refresh(struct task_struct *t, struct rg_thread *thread, u64 now)
{
	u32 affinity = rg_affinity(t);
	struct rg_shared *shared;
	struct rg_cpuset *row;

	if (!affinity) {
		thread->cpuset = 0;
		return;
	}
	shared = rg_shared();
	if (!shared)
		return;
	row = &shared->cpusets[rg_masked(thread->cpuset, RG_CPUSETS)];
	if (row->affinity != affinity)
		thread->cpuset = rg_cpuset_find(affinity, now);
}

/* Remembers a set that does not admit the CPU: an affinity's number never changes its meaning. */
RG_INLINE void rg_refuse(struct rg_shared *shared, struct rg_cpu *here, u32 cpuset)
{
	u32 affinity = (u32)shared->cpusets[rg_masked(cpuset, RG_CPUSETS)].affinity;

	here->refused[rg_masked(cpuset, RG_CPUSETS)] = affinity;
}

RG_INLINE bool rg_is_refused(struct rg_shared *shared, struct rg_cpu *here, u32 cpuset)
{
	u32 affinity = (u32)shared->cpusets[rg_masked(cpuset, RG_CPUSETS)].affinity;

	return affinity && here->refused[rg_masked(cpuset, RG_CPUSETS)] == affinity;
}

/* A tick has met a thread of this set on the CPU. */
RG_INLINE void rg_admit(struct rg_shared *shared, struct rg_cpu *here, u32 cpuset)
{
	here->admits[rg_masked(cpuset, RG_CPUSETS)] =
		(u32)shared->cpusets[rg_masked(cpuset, RG_CPUSETS)].affinity;
}

/* The same of a thread that is new to its set, on the i-th CPU near it; whether there is one. */
RG_SUBPROGRAM bool rg_admit_at(struct task_struct *t RG_TRUSTED, s32 home, u32 i)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_shared *shared = rg_shared();
	s32 at = rg_cpu_in(home, RG_OPTION(queue), i);
	struct rg_cpu *cpu = at < 0 ? 0 : rg_cpu(at);

	if (!thread || !shared || !cpu)
		return 0;
	if (rg_may_run_on(t, at))
		rg_admit(shared, cpu, thread->cpuset);
	return 1;
}

/*
 * CPUs near a thread that is new to its set know at once that they are of the set, and not when
 * they first run it. One that runs what is further behind may not do so for long.
 */
RG_SUBPROGRAM bool rg_admit_near(struct task_struct *t RG_TRUSTED, s32 home)
{
	RG_FOR(i, 0, RG_ADMIT_NEAR) {
		if (!rg_admit_at(t, home, i))
			break;
	}
	return 1;
}

/* Whether threads of a set are known to run on the CPU. All CPUs, set 0, have no affinity. */
RG_INLINE bool rg_is_admitted(struct rg_shared *shared, struct rg_cpu *here, u32 cpuset)
{
	return here->admits[rg_masked(cpuset, RG_CPUSETS)] ==
	       (u32)shared->cpusets[rg_masked(cpuset, RG_CPUSETS)].affinity;
}

/* Whether a thread of the index waits in a queue of several CPUs that this one may well take. */
RG_INLINE bool rg_is_waited_for(struct rg_shared *shared, struct rg_queue *queue,
				struct rg_cpu *here)
{
	u64 waiting = queue->waiting;
	bool found = 0;

	RG_FOR_WAITING(i, waiting) {
		found = !rg_is_refused(shared, here, i);
		if (found)
			break;
	}
	return found;
}

#endif
