/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What competes for a CPU in a tick: how far the sets of CPUs are apart that wait for it or run,
 * and how far each may be behind. The rule is that of converge.h.
 */
#ifndef RG_SPAN_H
#define RG_SPAN_H

#include "vruntime.h"

/*
 * Under the lock: where the i-th set of a queue is, in which a thread waits. Threads that are bound
 * to the CPU are where the foremost of them is, also if it runs: no other CPU has it meanwhile.
 */
RG_INLINE struct rg_foremost rg_foremost(struct rg_queue *queue, struct rg_vtime *vtime,
					 struct rg_cpu *here, u32 i)
{
	u32 id = queue->is_own ? RG_VTIME_OF_QUEUE(here->own) : i;
	struct rg_heap *heap = rg_heap_of(queue, i);
	struct rg_thread *thread = rg_thread_at(rg_heap_first(heap));
	struct rg_foremost first = { .vruntime = rg_heap_vruntime(heap, 0, vtime), .set = i };
	u64 weight = thread->weight;

	first.batch = rg_holds_clock(thread);
	if (here->vtime == id && queue->is_own && rg_before(here->vruntime, first.vruntime)) {
		first.vruntime = here->vruntime;
		weight = here->weight;
	}
	first.floor = rg_held_back(first.vruntime, weight);
	return first;
}

/* The least vruntime that what a CPU runs may have had when its turn began. */
RG_INLINE u64 rg_turn_began(struct rg_cpu *cpu)
{
	return rg_held_back(cpu->vruntime, cpu->weight) + RG_HELD_BACK_NS;
}

/* Where a set is of which none waits: where what the CPU runs was when its turn began. */
RG_INLINE struct rg_foremost rg_foremost_running(struct rg_cpu *here)
{
	struct rg_foremost first = { .set = here->vtime };

	first.batch = rg_holds_clock(rg_thread_at(here->thread));
	first.vruntime = rg_turn_began(here);
	first.floor = first.vruntime - RG_HELD_BACK_NS;
	return first;
}

/* The least vruntime that waits of a set, in whichever queue, as the last look has seen it. */
RG_INLINE u64 rg_waits_at(struct rg_vtime *vtime)
{
	return vtime->min_vruntime + vtime->ahead;
}

/* The same of one that waits in other queues: where the last look has seen the foremost there. */
RG_INLINE struct rg_foremost rg_foremost_beyond(struct rg_vtime *vtime, u32 i)
{
	struct rg_foremost first = { .vruntime = rg_waits_at(vtime), .set = i };

	first.batch = vtime->has_batch;
	first.floor = rg_held_back(first.vruntime, vtime->mean_weight);
	return first;
}

/* Moves it with all vruntimes of its set. */
RG_INLINE void rg_foremost_move(struct rg_foremost *first, u64 by)
{
	first->vruntime += by;
	first->floor += by;
}

/*
 * Before a look. Each part is set by itself: as a whole it would take a third of the stack that the
 * kernel has for a callback.
 */
RG_INLINE void rg_span_begin(struct rg_span *span, bool bound)
{
	span->now = rg_now();
	span->known = RG_NEVER;
	span->newest = RG_NEVER;
	span->foremost = RG_NEVER;
	span->floor = RG_NEVER;
	span->alone = RG_NEVER;
	span->raised = 0;
	span->count = bound;
	span->least.vruntime = RG_NEVER;
	span->second.vruntime = RG_NEVER;
	span->last.vruntime = RG_NEVER;
	span->last.floor = RG_NEVER;
	span->bound.vruntime = RG_NEVER;
}

/* Whether a virtual time has met no other lately. What it is ahead by nobody else wanted. */
RG_INLINE bool rg_is_newcomer(struct rg_vtime *vtime, u64 now)
{
	return rg_less(now, vtime->met_at) > RG_HELD_BACK_NS;
}

/* Notes that it has. Ticks of many CPUs say so of a set: its line is written now and then. */
RG_INLINE void rg_meet(struct rg_vtime *vtime, struct rg_span *span)
{
	if (span->count > 1 && rg_less(span->now, vtime->met_at) > RG_HELD_BACK_NS >> 2)
		vtime->met_at = span->now;
}

/* The last of two vruntimes that may each be RG_NEVER. */
RG_INLINE u64 rg_last(u64 a, u64 b)
{
	return a == RG_NEVER || (b != RG_NEVER && rg_before(a, b)) ? b : a;
}

/* Takes in a set whose foremost thread has this vruntime. */
RG_INLINE void rg_span_add(struct rg_span *span, struct rg_vtime *vtime, u64 vruntime)
{
	span->count++;
	if (rg_is_newcomer(vtime, span->now))
		span->newest = rg_last(span->newest, vruntime);
	else
		span->known = rg_earliest(span->known, vruntime);
}

/*
 * Raises a set that is behind a floor: newcomers to the foremost of the others. It has met them
 * then. Answers by how much.
 */
RG_INLINE u64 rg_span_raise(struct rg_span *span, struct rg_vtime *vtime, u64 vruntime, u64 floor)
{
	u64 before = vtime->shift;
	u64 least = rg_latest(vruntime, vtime->min_vruntime);

	floor = rg_last(floor, span->newest);
	if (rg_is_newcomer(vtime, span->now))
		floor = rg_last(floor, span->known);
	if (floor != RG_NEVER && rg_before(least, floor))
		rg_vtime_move(vtime, floor - least);
	rg_meet(vtime, span);
	return vtime->shift - before;
}

/* Takes in where a set is, whether the CPU runs of it, and which two are behind all others. */
RG_INLINE void rg_span_note(struct rg_span *span, struct rg_foremost *first, bool runs)
{
	if (runs)
		span->alone = first->floor;
	span->foremost = rg_last(span->foremost, first->vruntime);
	span->floor = rg_last(span->floor, first->floor);
	if (rg_precedes(first->vruntime, span->least.vruntime)) {
		span->second = span->least;
		span->least = *first;
	} else if (rg_precedes(first->vruntime, span->second.vruntime)) {
		span->second = *first;
	}
}

/* Whether more than one set is behind. What one is raised by is no lead over the others then. */
RG_INLINE bool rg_are_behind(struct rg_span *span)
{
	return RG_OPTION(infeasible) && span->second.vruntime != RG_NEVER &&
	       rg_before(span->second.floor, span->floor);
}

/* Whether a set is behind, and no more than a turn and a little further ahead than the last one. */
RG_INLINE bool rg_is_beside_last(struct rg_span *span, struct rg_foremost *first)
{
	return rg_before(first->floor, span->floor) &&
	       rg_before(first->floor + (RG_HELD_BACK_NS >> 1), span->least.vruntime);
}

/* Notes how far the sets have been raised that fall behind together. */
RG_INLINE void rg_span_note_raised(struct rg_span *span, struct rg_vtime *vtime,
				   struct rg_foremost *first)
{
	if (first->set == span->second.set || rg_is_beside_last(span, first))
		span->raised = rg_latest(span->raised, vtime->raised);
}

/*
 * Moves a set as far as those with which it falls behind have been raised, also at CPUs that it may
 * not use. Threads that sleep were placed by where the others are, and one that has not met them
 * for long begins anew.
 */
RG_INLINE void rg_span_join(struct rg_span *span, struct rg_vtime *vtime, struct rg_foremost *first)
{
	u64 room = rg_lead(span->foremost, first->vruntime);
	u64 behind = rg_lead(span->raised, vtime->raised);
	bool follows = first->batch && rg_less(span->now, vtime->raised_at) < RG_HELD_BACK_NS;

	vtime->raised_at = span->now;
	vtime->raised = rg_latest(span->raised, vtime->raised);
	if (!follows)
		return;
	behind = behind < room ? behind : room;
	rg_vtime_move(vtime, behind);
	rg_foremost_move(first, behind);
}

/* How far behind the last of all sets may be: as far behind the next one as that is. */
RG_INLINE u64 rg_span_least_floor(struct rg_span *span)
{
	return span->second.floor + rg_lead(span->floor, span->second.vruntime);
}

/* Raises a set, and its foremost thread with it. */
RG_INLINE void rg_span_raise_set(struct rg_span *span, struct rg_vtime *vtime,
				 struct rg_foremost *first)
{
	bool together = rg_are_behind(span) && rg_is_beside_last(span, first);
	bool is_least = together && first->set == span->least.set;
	u64 raised;

	if (together)
		rg_span_join(span, vtime, first);
	raised = rg_span_raise(span, vtime, first->vruntime,
			       is_least ? rg_span_least_floor(span) : span->floor);
	rg_foremost_move(first, raised);
	if (!is_least)
		vtime->raised += raised;
}

/* Takes in a set that is no further behind than it may be, and whether the CPU runs of it. */
RG_INLINE void rg_span_note_last(struct rg_span *span, struct rg_foremost *first, bool runs)
{
	if (rg_precedes(first->vruntime, span->last.vruntime))
		span->last = *first;
	if (first->set && !runs && rg_precedes(first->vruntime, span->bound.vruntime))
		span->bound = *first;
}

/* The least vruntime of the sets, once they are no further apart. */
RG_INLINE u64 rg_span_least(struct rg_span *span)
{
	return rg_last(span->known, rg_last(span->floor, span->newest));
}

#endif
