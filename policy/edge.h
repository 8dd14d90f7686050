/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. Whoever wakes is placed near the least token of all who wait and run, its edge. Asking
 *          every CPU on each wake-up would cost more than the switch.
 * Rule.    CPUs look for the edge in turns: each, at most every 250 us, at the next two busy ones
 *          and the heads of their queues. When a look has been round, the least that was seen
 *          becomes the edge, which never falls. Tokens that move meanwhile are offered by whoever
 *          moves them.
 * Why.     Tokens only grow while they are in use, so an edge that is late is too low, never too
 *          high: a thread that wakes is then placed a little earlier. One that is too high would
 *          make wakers wait until the others caught up.
 *          One thread does not hold the edge back for ever: if it runs with more than twice a CPU's
 *          part of what else runs, its weight is infeasible, and whoever wakes would begin ever
 *          further behind the others (GVTS section 4). The edge then follows those who wait, behind
 *          the next of them by what it gets ahead in a turn and 300 ms: so far one cache may be
 *          behind another, whose running threads wakers shall still preempt.
 * Figure.  With all CPUs busy an edge is at most two ticks old, however many there are.
 * Limits.  An edge of the machine is one cache line that each CPU writes up to 4,000 times a
 *          second.
 */
#ifndef RG_EDGE_H
#define RG_EDGE_H

#include "index/heap.h"
#include "queue.h"
#include "weight.h"

#define RG_LOOK_GAP_NS 250000
#define RG_LOOK_STEPS 8
#define RG_LOOK_BUSY 2
#define RG_OFFER_TRIES 4
#define RG_HELD_BACK_NS 300000000 /* an interval of the machine: GVTS section 4 */

/* The edge by which threads of a queue are placed. */
RG_INLINE struct rg_edge *rg_edge_of(u32 id)
{
	struct rg_shared *shared;
	struct rg_queue *queue;

	if (RG_CHOSEN(edge) != RG_EDGE_QUEUE) {
		shared = rg_shared();
		return shared ? &shared->edge : 0;
	}
	queue = rg_queue(id);
	return queue ? &queue->edge : 0;
}

/* The token of what a CPU runs, as of now. */
RG_INLINE u64 rg_token_running(struct rg_cpu *cpu, u64 now)
{
	return cpu->token + rg_virtual(rg_less(now, cpu->since), cpu->weight);
}

/* The present look must not overlook this token. */
RG_INLINE void rg_edge_offer(struct rg_edge *edge, u64 token)
{
	RG_FOR(i, 0, RG_OFFER_TRIES) {
		u64 least = edge->least;

		if (token >= least || rg_compare_and_swap(&edge->least, least, token) == least)
			break;
	}
}

/* Remembers whom of a queue a waking thread would preempt first. */
RG_INLINE void rg_edge_note_victim(struct rg_queue *queue, s32 at, u64 token, u64 now)
{
	struct rg_cpu *victim = rg_cpu(queue->victim);

	if (!victim || !victim->pool || rg_token_running(victim, now) < token)
		queue->victim = at;
}

/* How far behind those who wait in a queue the edge may be; RG_NEVER: nobody waits. */
RG_INLINE u64 rg_edge_floor(u32 id, struct rg_queue *queue)
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
	return rg_less(least, rg_virtual(RG_CHOSEN(slice_ns) + RG_CHOSEN(sticky_ns), weight) +
				      RG_HELD_BACK_NS);
}

/* Notes who runs on a CPU. One that nobody has now lets nothing be held back. */
RG_INLINE void rg_edge_note_running(struct rg_edge *edge, struct rg_cpu *cpu, u64 token)
{
	edge->weight += cpu->weight;
	if (!cpu->weight)
		edge->floor = 0;
	if (token >= edge->last)
		return;
	edge->last = token;
	edge->last_weight = cpu->weight;
}

/* Looks at one CPU; answers whether anybody runs or waits there. */
RG_INLINE bool rg_edge_look_at(struct rg_edge *edge, s32 at, u64 now)
{
	struct rg_cpu *cpu = rg_cpu(at);
	u32 id = rg_queue_of(at);
	struct rg_queue *queue = rg_queue(id);
	struct rg_queue *own = cpu ? rg_queue(cpu->own) : 0;
	u64 least, token;

	if (!queue || !own)
		return 0;
	least = queue->least < own->least ? queue->least : own->least;
	if (queue->least != RG_NEVER)
		edge->waited = 1;
	if (RG_CHOSEN(infeasible) && queue->cpu == at) {
		token = rg_edge_floor(id, queue);
		edge->floor = token < edge->floor ? token : edge->floor;
	}
	if (cpu->pool) {
		token = rg_token_running(cpu, now);
		rg_edge_note_running(edge, cpu, token);
		rg_edge_note_victim(queue, at, token, now);
		least = token < least ? token : least;
	} else {
		edge->floor = 0;
	}
	rg_edge_offer(edge, least);
	return least != RG_NEVER;
}

/* Whether one thread alone, of an infeasible weight, is behind all who wait. */
RG_INLINE bool rg_edge_is_held_back(struct rg_edge *edge)
{
	u64 others = edge->weight - edge->last_weight;

	return RG_CHOSEN(infeasible) && edge->floor != RG_NEVER && edge->last < edge->floor &&
	       edge->last_weight * (edge->seen - 1) > 2 * others;
}

/* A look has been round. */
RG_INLINE void rg_edge_publish(struct rg_edge *edge)
{
	u64 least = edge->least;

	if (rg_edge_is_held_back(edge) && edge->floor > least)
		least = edge->floor;
	if (least != RG_NEVER && least > edge->edge)
		edge->edge = least;
	edge->contended = edge->waited;
	edge->waited = 0;
	edge->seen = 0;
}

/* This CPU does its part of the look, if it is time. */
RG_INLINE void rg_edge_look(struct rg_cpu *here, struct rg_edge *edge, u64 now)
{
	u32 level = RG_CHOSEN(edge) == RG_EDGE_MACHINE ? RG_LEVEL_MACHINE : RG_CHOSEN(scope);
	u32 busy = 0;

	if (RG_CHOSEN(edge) == RG_EDGE_TARGET || rg_less(now, here->looked_at) < RG_LOOK_GAP_NS)
		return;
	if (rg_swap(&edge->busy, 1))
		return;
	here->looked_at = now;
	if (!edge->seen) {
		rg_swap(&edge->least, RG_NEVER);
		edge->floor = RG_NEVER;
		edge->last = RG_NEVER;
		edge->weight = 0;
	}
	RG_FOR(i, 0, RG_LOOK_STEPS) {
		s32 at = rg_cpu_in(edge->cpu, level, edge->seen);

		if (at < 0) {
			rg_edge_publish(edge);
			break;
		}
		if (busy == RG_LOOK_BUSY)
			break;
		edge->seen++;
		busy += rg_edge_look_at(edge, at, now);
	}
	rg_swap(&edge->busy, 0);
}

/*
 * How far the token of what a CPU runs may get ahead: without bound while somebody waits who could
 * run there, since it is what the others are owed; else little, since nobody went without. What is
 * owed already stays: a look may miss for a moment that somebody waits.
 */
RG_INLINE u64 rg_edge_bound(struct rg_edge *edge, s32 at, u64 before, u64 token)
{
	u64 most = edge->edge + RG_CHOSEN(lead_ns);
	struct rg_queue *own;
	struct rg_cpu *cpu;

	if (most < before)
		most = before;
	if (RG_CHOSEN(lead_ns) == RG_NEVER || edge->contended || token <= most)
		return token;
	cpu = rg_cpu(at);
	own = cpu ? rg_queue(cpu->own) : 0;
	return own && own->least == RG_NEVER && !rg_follower(cpu) ? most : token;
}

#endif
