/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. A waking thread is placed near the least vruntime of all that wait and run, the
 *          min_vruntime. Asking every CPU on each wake-up would cost more than the switch.
 * Rule.    CPUs look for it in turns: each, at most every 250 us, at the next two busy ones and the
 *          heads of their queues. When a look has been round, the least that was seen becomes the
 *          min_vruntime, which never falls. A callback that moves a vruntime meanwhile offers it to
 *          the look.
 * Why.     Vruntimes only grow while they are in use, so a late min_vruntime is too low, never too
 *          high: a waking thread is then placed a little earlier. One that is too high would make
 *          waking threads wait until the others caught up. One thread does not hold it back for
 *          ever. If it runs with more than twice a CPU's part of what else runs, its weight is
 *          infeasible (GVTS section 4), and the min_vruntime follows the waiting threads. It stays
 *          behind the next of them by what that gets ahead in a turn and by 300 ms: so far may one
 *          cache be behind another, whose running threads a waking thread shall still preempt.
 * Figure.  With all CPUs busy a min_vruntime is at most two ticks old, however many there are.
 * Limits.  A min_vruntime of the machine is one cache line that each CPU writes up to 4,000 times a
 *          second.
 */
#ifndef RG_MIN_VRUNTIME_H
#define RG_MIN_VRUNTIME_H

#include "index/heap.h"
#include "queue.h"
#include "weight.h"

#define RG_LOOK_GAP_NS 250000
#define RG_LOOK_STEPS 8
#define RG_LOOK_BUSY 2
#define RG_OFFER_TRIES 4
#define RG_HELD_BACK_NS 300000000 /* an interval of the machine: GVTS section 4 */

/* The min_vruntime by which threads of a queue are placed. */
RG_INLINE struct rg_vtime *rg_vtime_of(u32 id)
{
	struct rg_shared *shared;
	struct rg_queue *queue;

	if (RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_QUEUE) {
		shared = rg_shared();
		return shared ? &shared->vtime : 0;
	}
	queue = rg_queue(id);
	return queue ? &queue->vtime : 0;
}

/* The vruntime of what a CPU runs, as of now. */
RG_INLINE u64 rg_vruntime_running(struct rg_cpu *cpu, u64 now)
{
	return cpu->vruntime + rg_virtual(rg_less(now, cpu->since), cpu->weight);
}

/* The present look must not overlook this vruntime. */
RG_INLINE void rg_vtime_offer(struct rg_vtime *vtime, u64 vruntime)
{
	RG_FOR(i, 0, RG_OFFER_TRIES) {
		u64 least = vtime->least;

		if (vruntime >= least ||
		    rg_compare_and_swap(&vtime->least, least, vruntime) == least)
			break;
	}
}

/* Remembers which CPU of a queue a waking thread would preempt first. */
RG_INLINE void rg_vtime_note_victim(struct rg_queue *queue, s32 at, u64 vruntime, u64 now)
{
	struct rg_cpu *victim = rg_cpu(queue->victim);

	if (!victim || !victim->pool || rg_vruntime_running(victim, now) < vruntime)
		queue->victim = at;
}

/* How far behind the waiting threads the min_vruntime may be; RG_NEVER: none waits. */
RG_INLINE u64 rg_vtime_floor(u32 id, struct rg_queue *queue)
{
	struct rg_lock *lock = rg_lock_of(id);
	u64 least, weight;

	if (!lock || queue->least == RG_NEVER)
		return RG_NEVER;
	rg_acquire(lock);
	least = queue->least;
	weight = rg_heap_first(queue)->weight;
	rg_release(lock);
	if (least == RG_NEVER)
		return RG_NEVER;
	return rg_less(least, rg_virtual(RG_OPTION(slice_ns) + RG_OPTION(sticky_ns), weight) +
				      RG_HELD_BACK_NS);
}

/* Notes what runs on a CPU. One that is free lets nothing be held back. */
RG_INLINE void rg_vtime_note_running(struct rg_vtime *vtime, struct rg_cpu *cpu, u64 vruntime)
{
	vtime->weight += cpu->weight;
	if (!cpu->weight)
		vtime->floor = 0;
	if (vruntime >= vtime->last)
		return;
	vtime->last = vruntime;
	vtime->last_weight = cpu->weight;
}

/* Looks at one CPU; answers whether a thread runs or waits there. */
RG_INLINE bool rg_vtime_look_at(struct rg_vtime *vtime, s32 at, u64 now)
{
	struct rg_cpu *cpu = rg_cpu(at);
	u32 id = rg_queue_of(at);
	struct rg_queue *queue = rg_queue(id);
	struct rg_queue *own = cpu ? rg_queue(cpu->own) : 0;
	u64 least, vruntime;

	if (!queue || !own)
		return 0;
	least = queue->least < own->least ? queue->least : own->least;
	if (queue->least != RG_NEVER)
		vtime->waited = 1;
	if (RG_OPTION(infeasible) && queue->cpu == at) {
		vruntime = rg_vtime_floor(id, queue);
		vtime->floor = vruntime < vtime->floor ? vruntime : vtime->floor;
	}
	if (cpu->pool) {
		vruntime = rg_vruntime_running(cpu, now);
		rg_vtime_note_running(vtime, cpu, vruntime);
		rg_vtime_note_victim(queue, at, vruntime, now);
		least = vruntime < least ? vruntime : least;
	} else {
		vtime->floor = 0;
	}
	rg_vtime_offer(vtime, least);
	return least != RG_NEVER;
}

/* Whether one thread alone, of an infeasible weight, is behind all that wait. */
RG_INLINE bool rg_vtime_is_held_back(struct rg_vtime *vtime)
{
	u64 others = vtime->weight - vtime->last_weight;

	return RG_OPTION(infeasible) && vtime->floor != RG_NEVER && vtime->last < vtime->floor &&
	       vtime->last_weight * (vtime->seen - 1) > 2 * others;
}

/*
 * The min_vruntime after a look that has been round: the least vruntime that was seen, or what the
 * waiting threads allow where one running thread holds it back. It never falls.
 *
 * It is too low by what threads have run since they were seen: a waking thread then goes a little
 * early. It is too high where a thread of less vruntime moved between CPUs past the look and no
 * callback offered it (rg_vtime_offer): such a thread has credit until the next look. And it is
 * held back for all where a thread that is confined to busy CPUs cannot get its due: `infeasible`
 * sees a weight that no CPU can serve, not an affinity.
 */
RG_INLINE u64 rg_min_vruntime_of(struct rg_vtime *vtime)
{
	u64 least = vtime->least;

	if (rg_vtime_is_held_back(vtime) && vtime->floor > least)
		least = vtime->floor;
	return least != RG_NEVER && least > vtime->min_vruntime ? least : vtime->min_vruntime;
}

/* A look has been round. */
RG_INLINE void rg_vtime_publish(struct rg_vtime *vtime)
{
	vtime->min_vruntime = rg_min_vruntime_of(vtime);
	vtime->contended = vtime->waited;
	vtime->waited = 0;
	vtime->seen = 0;
}

/* This CPU does its part of the look, unless another is at it. */
RG_SUBPROGRAM bool rg_vtime_look_on(s32 cpu, u64 now)
{
	u32 level = RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE ? RG_LEVEL_MACHINE
								       : RG_OPTION(queue);
	struct rg_vtime *vtime = rg_vtime_of(rg_queue_of(cpu));
	struct rg_cpu *here = rg_cpu(cpu);
	u32 busy = 0;

	if (!here || !vtime || rg_swap(&vtime->busy, 1))
		return 0;
	here->looked_at = now;
	if (!vtime->seen) {
		rg_swap(&vtime->least, RG_NEVER);
		vtime->floor = RG_NEVER;
		vtime->last = RG_NEVER;
		vtime->weight = 0;
	}
	RG_FOR(i, 0, RG_LOOK_STEPS) {
		s32 at = rg_cpu_in(vtime->cpu, level, vtime->seen);

		if (at < 0) {
			rg_vtime_publish(vtime);
			break;
		}
		if (busy == RG_LOOK_BUSY)
			break;
		vtime->seen++;
		busy += rg_vtime_look_at(vtime, at, now);
	}
	rg_swap(&vtime->busy, 0);
	return 1;
}

/* As above, if it is time. */
RG_INLINE void rg_vtime_look(s32 cpu, struct rg_cpu *here, u64 now)
{
	if (RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_TARGET &&
	    rg_less(now, here->looked_at) >= RG_LOOK_GAP_NS)
		rg_vtime_look_on(cpu, now);
}

/*
 * How far the vruntime of what a CPU runs may get ahead: without bound while a thread waits that
 * could run there, since it is what the others are owed; else little, since none went without.
 * What is owed already stays: a look may miss for a moment that a thread waits.
 */
RG_INLINE u64 rg_vruntime_cap(struct rg_vtime *vtime, s32 at, u64 before, u64 vruntime)
{
	u64 most = vtime->min_vruntime + RG_OPTION(vruntime_cap_ns);
	struct rg_queue *own;
	struct rg_cpu *cpu;

	if (most < before)
		most = before;
	if (RG_OPTION(vruntime_cap_ns) == RG_NEVER || vtime->contended || vruntime <= most)
		return vruntime;
	cpu = rg_cpu(at);
	own = cpu ? rg_queue(cpu->own) : 0;
	return own && own->least == RG_NEVER && !rg_follower(cpu) ? most : vruntime;
}

#endif
