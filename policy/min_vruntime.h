/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. A waking thread is placed near the least vruntime of the threads it will compete with,
 *          its min_vruntime. Asking every CPU on each wake-up would cost more than the switch.
 * Rule.    Virtual time is compared among threads that compete. Each set of CPUs that threads are
 *          bound to has a virtual time for the whole machine: one for all CPUs, one for each
 *          cpuset in use, one for the pinned threads of each CPU. (Without a balance that bounds
 *          lag each queue has one instead.) CPUs look for the least vruntimes in turns: each, at
 *          most every 250 us, at the next two busy ones and the heads of their queues. When a look
 *          has been round, the least that was seen in each virtual time becomes its min_vruntime,
 *          which falls only with all others in it (converge.h). Vruntimes that move meanwhile are
 *          offered by whatever moves them. That of the pinned threads of a CPU is the least of what
 *          they compete with there, and falls to it.
 * Why.     Vruntimes only grow while they are in use, so a min_vruntime that is late is too low: a
 *          waking thread is then placed a little earlier. One that is too high would make it wait
 *          until the others caught up. Threads bound to an overloaded CPU fall behind all others;
 *          with one min_vruntime for all of them each waking thread of the others began there, and
 *          overran what had run since.
 *          Threads that sleep for most of the time cannot use what they are due: their vruntimes
 *          rise by what they want alone. A service that always has one of them awake would hold
 *          the min_vruntime back. What a thread had received meanwhile would be forgiven at its
 *          next wake-up, at the cost of those that never sleep. So the min_vruntime is the least of
 *          the settled ones, where there are any: not of those alone that come first in a heap, or
 *          it would jump to a light thread that runs while the others wait behind one that woke.
 *          A light pinned thread is ahead of the sets by what its last turn was worth. If the
 *          min_vruntime followed it, each waking pinned thread would come as far behind them,
 *          however little it had received.
 *          Nor do threads hold the min_vruntime back that run all the time and still stay behind:
 *          their weights are infeasible (GVTS section 4). Such a thread weighs more than the
 *          others that run do on average, by a 64th, and is behind all that run or wait, where
 *          some wait. Which are too heavy the look before has told: they do not count in it. The
 *          min_vruntime then follows the others: at the next that runs, which a waking thread shall
 *          still preempt, but behind the next that waits by what that gets ahead in a turn and 300
 *          ms, as far as one cache may be behind another.
 *          Where no batch thread wants a CPU virtual time goes on by itself, too (clock.h).
 * Figure.  With all CPUs busy a min_vruntime is at most two ticks old, however many there are. A
 *          spinning thread beside four that nap and a service of 35% on four CPUs has 13.0% of the
 *          machine of a due 13.1%, with infeasible=off 2.0%. Of two light groups beside five
 *          threads of a heavy one on eight CPUs one has 19.0% of a due 18.7% in each of six runs.
 *          When only one such thread was looked for, 14.6 to 20.0%. A service of 60% of a CPU that
 *          is bound there, beside spinners and a bound thread of nice 19: p99.9 1.00 of the ideal,
 *          173 when the min_vruntime followed that thread. One such jump to a thread of nice 19 let
 *          no request preempt for 600 ms.
 * Limits.  It is wrong, by less than a round of looks, after threads of its set begin or cease to
 *          run. The look's state is one cache line that each CPU writes up to 4,000 times a second.
 */
#ifndef RG_MIN_VRUNTIME_H
#define RG_MIN_VRUNTIME_H

#include "balance/utilisation.h"
#include "burst.h"
#include "queue.h"
#include "weight.h"

#define RG_LOOK_GAP_NS 250000
#define RG_LOOK_STEPS 8
#define RG_LOOK_BUSY 2
#define RG_OFFER_TRIES 4
#define RG_CONTENDED_LOOKS 16 /* a look takes at most 250 us: some 4 ms */
#define RG_HELD_BACK_NS 300000000 /* an interval of the machine: GVTS section 4 */

/* The virtual time of a number. */
RG_INLINE struct rg_vtime *rg_vtime_at(u32 id)
{
	bool of_queue = RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_QUEUE;
	struct rg_shared *shared;
	struct rg_queue *queue;

	if (!of_queue && id < RG_CPUSETS) {
		shared = rg_shared();
		return shared ? &shared->cpusets[rg_masked(id, RG_CPUSETS)].vtime : 0;
	}
	queue = rg_queue(of_queue ? id : id - RG_CPUSETS);
	return queue ? &queue->vtime : 0;
}

/* The number of the virtual time in which a thread competes at a CPU. */
RG_INLINE u32 rg_vtime_of(struct task_struct *t, struct rg_thread *thread, s32 at)
{
	struct rg_cpu *cpu;

	if (RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_QUEUE)
		return rg_queue_of(at);
	if (RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_TARGET || !rg_is_pinned(t))
		return thread->cpuset;
	cpu = rg_cpu(at);
	return cpu && cpu->own != rg_queue_of(at) ? RG_VTIME_OF_QUEUE(cpu->own) : thread->cpuset;
}

/* The queue where a thread waits that wants a CPU: the CPU's own, if it may run there alone. */
RG_INLINE u32 rg_queue_for(struct task_struct *t, struct rg_cpu *cpu, s32 at)
{
	return RG_OPTION(pick) != RG_PICK_CREDIT && rg_is_pinned(t) ? cpu->own : rg_queue_of(at);
}

/* Which look a CPU takes part in. */
RG_INLINE struct rg_looking *rg_looking_of(s32 at)
{
	struct rg_shared *shared;
	struct rg_queue *queue;

	if (RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_QUEUE) {
		shared = rg_shared();
		return shared ? &shared->looking : 0;
	}
	queue = rg_queue(rg_queue_of(at));
	return queue ? &queue->looking : 0;
}

/* The vruntime of what a CPU runs, as of now. */
RG_INLINE u64 rg_vruntime_running(struct rg_cpu *cpu, u64 now)
{
	return cpu->vruntime + rg_virtual(rg_less(now, cpu->since), cpu->weight);
}

/* Makes a moment or vruntime the least of those that were offered since it was RG_NEVER. */
RG_INLINE void rg_offer(u64 *least, u64 offered)
{
	RG_FOR(i, 0, RG_OFFER_TRIES) {
		u64 now = *least;

		if (!rg_precedes(offered, now) || rg_compare_and_swap(least, now, offered) == now)
			break;
	}
}

/* The present look must not overlook the vruntime of a thread that wakes. */
RG_INLINE void rg_vtime_offer(struct rg_vtime *vtime, u64 vruntime)
{
	rg_offer(&vtime->least, vruntime);
}

/* Whether a thread wants a CPU for longer than a slice, or for most of the time. */
RG_INLINE bool rg_is_settled(struct rg_thread *thread, u64 now)
{
	return thread->utilised > RG_UTILISATION_ONE >> 1 ||
	       rg_less(now, thread->woke_at) > RG_OPTION(slice_ns);
}

/* Whether virtual time follows the settled threads. */
RG_INLINE bool rg_knows_settled(void)
{
	return RG_OPTION(infeasible) && RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE;
}

/* Notes whether batch threads want a CPU: the clock is theirs (clock.h). */
RG_INLINE void rg_vtime_note_batch(struct rg_vtime *vtime, bool batch)
{
	if (batch && !vtime->seen_batch)
		vtime->seen_batch = 1;
}

/* The present look must not overlook the vruntime of a thread that runs or is about to. */
RG_INLINE void rg_vtime_note(struct rg_vtime *vtime, struct rg_thread *thread, u64 vruntime,
			     u64 now)
{
	rg_offer(&vtime->least, vruntime);
	if (rg_knows_settled() && rg_is_settled(thread, now))
		rg_offer(&vtime->settled, vruntime);
}

/* Remembers which CPU of a queue a waking thread would preempt first. */
RG_INLINE void rg_note_victim(struct rg_queue *queue, s32 at, u64 vruntime, u64 now)
{
	struct rg_cpu *victim = rg_cpu(queue->victim);

	if (!victim || !victim->pool || rg_before(rg_vruntime_running(victim, now), vruntime))
		queue->victim = at;
}

/* How far behind a waiting thread others may be: what it gets ahead in a turn, and 300 ms. */
RG_INLINE u64 rg_held_back(u64 vruntime, u64 weight)
{
	u64 turn = rg_virtual(RG_OPTION(slice_ns) + RG_OPTION(sticky_ns), weight);

	return vruntime - turn - RG_HELD_BACK_NS;
}

/* Notes how far a running thread gets in a slice. The longest fades by an eighth a look. */
RG_INLINE void rg_vtime_note_turn(struct rg_vtime *vtime, u64 weight)
{
	u64 turn = rg_virtual(RG_OPTION(slice_ns), weight);

	if (turn > vtime->turn)
		vtime->turn = turn;
}

/* Whether a thread weighs more than what else runs, but for what is as heavy: by a 64th. */
RG_INLINE bool rg_is_infeasible(struct rg_vtime *vtime, u64 weight)
{
	u64 lighter = weight - (weight >> 6);

	return vtime->seen_running && lighter * vtime->seen_running > vtime->seen_weight;
}

/* Notes what runs on a CPU. */
RG_INLINE void rg_vtime_note_running(struct rg_vtime *vtime, struct rg_cpu *cpu, u64 vruntime,
				     u64 now)
{
	rg_vtime_note_batch(vtime, rg_holds_clock(rg_thread_at(cpu->thread)));
	rg_vtime_note(vtime, rg_thread_at(cpu->thread), vruntime, now);
	rg_vtime_note_turn(vtime, cpu->weight);
	if (!rg_is_infeasible(vtime, cpu->weight)) {
		vtime->running++;
		vtime->weight += cpu->weight;
		vtime->floor = rg_earliest(vtime->floor, vruntime);
	}
	if (!rg_precedes(vruntime, vtime->last))
		return;
	vtime->last = vruntime;
	vtime->last_weight = cpu->weight;
}

/*
 * A vruntime that no settled thread of a heap is before; RG_NEVER: none is there. Only the top is
 * looked at: what stands below an entry of its last level is no earlier than that.
 */
RG_INLINE u64 rg_least_settled(struct rg_heap *heap, struct rg_vtime *vtime, u64 now)
{
	u64 least = rg_opaque(RG_NEVER);

	RG_FOR(i, 0, RG_TOP) {
		struct rg_pool *pool = rg_pool_at(rg_heap_at(heap, i)->row);
		bool below = i >= RG_TOP >> 1 && 2 * i + 1 < heap->count;

		if (i >= heap->count || (i == 1 && least != RG_NEVER))
			break;
		if (below || rg_is_settled(rg_thread_at(pool->first), now))
			least = rg_earliest(least, rg_heap_vruntime(heap, i, vtime));
	}
	return least;
}

/* Notes the least vruntime of each set of CPUs that waits in a queue. */
RG_INLINE void rg_look_at_waiting(struct rg_shared *shared, u32 id, struct rg_queue *queue,
				  u64 now)
{
	struct rg_lock *lock = rg_lock_of(id);
	u64 waiting;

	if (!lock)
		return;
	rg_acquire(lock);
	waiting = queue->waiting;
	RG_FOR_WAITING(i, waiting) {
		struct rg_heap *heap = rg_heap_of(queue, i);
		struct rg_vtime *vtime = rg_vtime_waiting(shared, queue, i);
		u64 vruntime = rg_heap_vruntime(heap, 0, vtime);
		struct rg_thread *first = rg_thread_at(rg_heap_first(heap));
		u64 floor = rg_held_back(vruntime, first->weight);

		vtime->floor = rg_earliest(vtime->floor, floor);
		vtime->waits = rg_earliest(vtime->waits, vruntime);
		rg_offer(&vtime->least, vruntime);
		rg_vtime_note_batch(vtime, queue->batch);
		if (rg_knows_settled())
			rg_offer(&vtime->settled, rg_least_settled(heap, vtime, now));
		shared->cpusets[rg_masked(i, RG_CPUSETS)].vtime.used_at = now;
	}
	rg_release(lock);
}

/* The earliest min_vruntime of the sets that compete for a CPU with its pinned threads. */
RG_INLINE u64 rg_least_of_rivals(struct rg_shared *shared, struct rg_queue *queue,
				 struct rg_cpu *cpu)
{
	u64 waiting = queue->waiting;
	u64 least = rg_opaque(RG_NEVER);

	if (cpu->pool && cpu->vtime < RG_CPUSETS)
		least = rg_vtime_waiting(shared, queue, cpu->vtime)->min_vruntime;
	RG_FOR_WAITING(i, waiting) {
		struct rg_vtime *vtime = rg_vtime_waiting(shared, queue, i);

		if (rg_is_admitted(shared, cpu, i))
			least = rg_earliest(least, vtime->min_vruntime);
	}
	return least;
}

/*
 * The pinned threads of a CPU have a virtual time that no other CPU knows of. Its min_vruntime is
 * no later than those of the sets that compete for the CPU, and falls to them.
 */
RG_INLINE void rg_look_at_own(struct rg_shared *shared, struct rg_queue *queue,
			      struct rg_cpu *cpu, struct rg_queue *own, u64 running, u64 now)
{
	u64 least = own->least;

	if (least == RG_NEVER && (!cpu->pool || cpu->vtime != RG_VTIME_OF_QUEUE(cpu->own)))
		return;
	if (cpu->pool)
		least = rg_earliest(least, running);
	least = rg_earliest(least, rg_least_of_rivals(shared, queue, cpu));
	if (own->vtime.min_vruntime != least)
		own->vtime.min_vruntime = least;
	own->vtime.used_at = now;
}

/* Whether a CPU runs what goes before fair order (urgent.h): virtual time goes on without it. */
RG_INLINE bool rg_is_ahead(struct rg_cpu *cpu, struct rg_vtime *vtime, u64 vruntime)
{
	return RG_OPTION(promises) && rg_thread_at(cpu->thread)->lent &&
	       rg_before(vruntime, vtime->min_vruntime);
}

/* Looks at one CPU for another; answers whether anybody runs or waits there. */
RG_SUBPROGRAM bool rg_look_at(s32 at, s32 looker, u64 now)
{
	struct rg_looking *looking = rg_looking_of(looker);
	struct rg_shared *shared = rg_shared();
	struct rg_cpu *cpu = rg_cpu(at);
	u32 id = rg_queue_of(at);
	struct rg_queue *queue = rg_queue(id);
	struct rg_queue *own = cpu ? rg_queue(cpu->own) : 0;
	struct rg_vtime *vtime;
	u64 running;

	if (!queue || !own || !shared || !looking)
		return 0;
	running = rg_vruntime_running(cpu, now);
	vtime = cpu->pool ? rg_vtime_at(cpu->vtime) : 0;
	if (!cpu->pool)
		looking->idle = 1;
	if (vtime && !(own->is_own && vtime == &own->vtime) && !rg_is_ahead(cpu, vtime, running))
		rg_vtime_note_running(vtime, cpu, running, now);
	if (cpu->pool)
		rg_note_victim(queue, at, running, now);
	if (cpu->pool && cpu->vtime < RG_CPUSETS)
		shared->cpusets[rg_masked(cpu->vtime, RG_CPUSETS)].vtime.used_at = now;
	if (own->is_own && RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE)
		rg_look_at_own(shared, queue, cpu, own, running, now);
	else if (own->is_own)
		rg_vtime_offer(&queue->vtime, own->least);
	if (queue->least != RG_NEVER)
		looking->waited = 1;
	if (queue->cpu == at && queue->least != RG_NEVER)
		rg_look_at_waiting(shared, id, queue, now);
	return cpu->pool || queue->least != RG_NEVER || own->least != RG_NEVER;
}

/* Whether a thread of an infeasible weight is behind all that wait. */
RG_INLINE bool rg_vtime_is_held_back(struct rg_vtime *vtime)
{
	return RG_OPTION(infeasible) && vtime->floor != RG_NEVER &&
	       rg_precedes(vtime->last, vtime->floor) &&
	       rg_is_infeasible(vtime, vtime->last_weight);
}

/* What a look says about how virtual time goes on (clock.h). */
RG_INLINE void rg_vtime_note_clock(struct rg_vtime *vtime)
{
	u32 batch = vtime->seen_batch ? RG_CONTENDED_LOOKS : rg_less(vtime->has_batch, 1);

	if (vtime->running)
		vtime->mean_weight = rg_mean(vtime->mean_weight,
					     rg_div(vtime->weight, vtime->running), 3);
	if (vtime->has_batch != batch)
		vtime->has_batch = batch;
	vtime->seen_batch = 0;
}

/*
 * A look has been round: the least that it has seen becomes the min_vruntime. Where no thread
 * waits all have what they want, and no weight is infeasible.
 */
RG_INLINE void rg_vtime_publish(struct rg_vtime *vtime, bool waited)
{
	bool settled = vtime->settled != RG_NEVER;
	u64 least = settled ? vtime->settled : vtime->least;

	if (waited && rg_vtime_is_held_back(vtime) && rg_precedes(least, vtime->floor))
		least = vtime->floor;
	if (least != RG_NEVER && rg_before(vtime->min_vruntime, least))
		vtime->min_vruntime = least;
	vtime->ahead = vtime->waits == RG_NEVER ? 0 : rg_lead(vtime->waits, vtime->min_vruntime);
	vtime->turn -= vtime->turn >> 3;
	rg_vtime_note_clock(vtime);
}

/* A look begins: what was offered before may be asleep by now. */
RG_INLINE void rg_vtime_reset(struct rg_vtime *vtime)
{
	rg_swap(&vtime->least, RG_NEVER);
	rg_swap(&vtime->settled, RG_NEVER);
	vtime->floor = RG_NEVER;
	vtime->waits = RG_NEVER;
	vtime->last = RG_NEVER;
	vtime->seen_weight = vtime->weight;
	vtime->seen_running = vtime->running;
	vtime->weight = 0;
	vtime->running = 0;
}

/* A look begins or has been round, for all virtual times that it concerns. */
RG_SUBPROGRAM bool rg_look_turn(s32 at, bool end)
{
	bool of_queue = RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_QUEUE;
	struct rg_queue *queue = rg_queue(rg_queue_of(at));
	struct rg_looking *looking = rg_looking_of(at);
	struct rg_shared *shared = rg_shared();

	if (!queue || !looking || !shared)
		return 0;
	RG_FOR(i, 0, of_queue ? 1 : RG_CPUSETS - 1) {
		struct rg_cpuset *row = &shared->cpusets[rg_masked(i, RG_CPUSETS)];
		struct rg_vtime *vtime = of_queue ? &queue->vtime : &row->vtime;

		if (i && !row->affinity)
			continue;
		if (end)
			rg_vtime_publish(vtime, looking->waited && !looking->idle);
		else
			rg_vtime_reset(vtime);
	}
	return 1;
}

/*
 * A look has been round. None waits between two rounds of a barrier: what is received in such a
 * moment is not what nobody else wanted.
 */
RG_INLINE void rg_look_end(struct rg_looking *looking, s32 at)
{
	u32 contended = looking->waited ? RG_CONTENDED_LOOKS : rg_less(looking->contended, 1);

	rg_look_turn(at, 1);
	if (looking->contended != contended)
		looking->contended = contended;
	looking->waited = 0;
	looking->idle = 0;
	looking->seen = 0;
}

/* This CPU does its part of the look, unless another is at it. */
RG_SUBPROGRAM bool rg_look_on(s32 cpu, u64 now)
{
	u32 level = RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE ? RG_LEVEL_MACHINE
								       : RG_OPTION(queue);
	struct rg_looking *looking = rg_looking_of(cpu);
	struct rg_cpu *here = rg_cpu(cpu);
	u32 busy = rg_opaque(0);

	if (!here || !looking || rg_swap(&looking->busy, 1))
		return 0;
	here->looked_at = now;
	if (!looking->seen)
		rg_look_turn(cpu, 0);
	RG_FOR(i, 0, RG_LOOK_STEPS) {
		s32 at = rg_cpu_in(looking->cpu, level, looking->seen);

		if (at < 0) {
			rg_look_end(looking, cpu);
			break;
		}
		if (busy == RG_LOOK_BUSY)
			break;
		looking->seen++;
		busy += rg_look_at(at, cpu, now);
	}
	rg_swap(&looking->busy, 0);
	return 1;
}

/* As above, if it is time. */
RG_INLINE void rg_look_around(s32 cpu, struct rg_cpu *here, u64 now)
{
	if (RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_TARGET &&
	    rg_less(now, here->looked_at) >= RG_LOOK_GAP_NS)
		rg_look_on(cpu, now);
}

/*
 * How far the vruntime of what a CPU runs may get ahead: without bound while a thread waits that
 * could run there, since it is what the others are owed; else little, since none went without.
 * What is owed already stays: a look may miss for a moment that a thread waits.
 */
RG_INLINE u64 rg_vruntime_cap(struct rg_vtime *vtime, s32 at, u64 before, u64 vruntime)
{
	u64 most = rg_latest(vtime->min_vruntime + RG_OPTION(vruntime_cap_ns), before);
	struct rg_looking *looking;
	struct rg_queue *own;
	struct rg_cpu *cpu;

	if (RG_OPTION(vruntime_cap_ns) == RG_NEVER || !rg_before(most, vruntime))
		return vruntime;
	looking = rg_looking_of(at);
	cpu = rg_cpu(at);
	own = cpu ? rg_queue(cpu->own) : 0;
	if (!looking || looking->contended || !own || own->least != RG_NEVER || rg_follower(cpu))
		return vruntime;
	return most;
}

#endif
