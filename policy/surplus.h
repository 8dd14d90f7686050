/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Effective weights make the tree of groups flat, and forget: a thread that took turns
 *          with its siblings falls asleep with what it received too much, and the whole weight of
 *          the group stands behind the next one that wakes. A group of many threads that come and
 *          go then exceeds its share for as long as they do. Beside it a group whose threads cannot
 *          use what they are due makes virtual time run faster for all.
 * Rule.    What a group receives beyond its due is its surplus, kept for each group on the way to
 *          the root: CPU time of its threads, less what its effective weight earns while virtual
 *          time advances. A surplus above a tolerance makes the group's threads lighter, by as much
 *          as it is above; what exceeds twice the tolerance delays its waking threads until virtual
 *          time has earned it. A group that has received too little has heavier members until it
 *          sleeps: at last each weighs as much as the whole group, and earns as much. A group
 *          whose threads compete in several virtual times earns in one of them: in the first one
 *          that it runs in, and in another when nobody competes in that one any more.
 * Why.     Debt belongs to the group as well as to the thread. Threads that compete pay first, so
 *          that requests of a group with batch work of its own are not late; where there are none,
 *          waking ones must. A group within its due swings about it by what is queued: the
 *          tolerance is above that. What a group is owed because its heavy members cannot use it
 *          belongs to its light ones, of which effective weights know nothing.
 * Figure.  Of two groups of one weight that spin, one with a thread that is bound to a CPU, each
 *          has 50.0%. When a group earned in whichever virtual time a thread was charged in, from
 *          where it had been in another, the one with the bound thread had 71.2%. A service whose
 *          group is moved to other CPUs has p99.9 of 1.14 of the ideal, EEVDF 5.7. When it went on
 *          to earn for a second of its CPU time where nobody was left, it was late by 6 s.
 *          docs/evidence/production-node.md.
 * Limits.  Nothing is charged while no thread waits. A group exceeds its due by the tolerance for
 *          once, after it has been within it.
 */
#ifndef RG_SURPLUS_H
#define RG_SURPLUS_H

#include "min_vruntime.h"

#define RG_SURPLUS_NS 50000000ULL /* what a group of requests may have in advance */
#define RG_LONGEST_TURN_NS 1000000000ULL /* the longest turn that a group's tolerance allows for */
#define RG_ASIDE_NS 1000000000ULL /* so much elsewhere ends what a virtual time is to a group */
#define RG_LEFT_NS 20000000ULL /* so does that nobody has been seen in it for so long */
#define RG_MOMENT_OF 16383ULL /* the number of a virtual time takes the place of 16 us */
#define RG_EARNED_MOST_NS (1ULL << 46) /* of virtual time: with any weight within 64 bits */
#define RG_DELAY_NS 4000000000ULL /* the longest that a thread waits for its group's surplus */

/* What a weight earns while virtual time advances, of more than 19 hours as of 19 hours. */
RG_INLINE u64 rg_earned(u64 advance, u64 weight)
{
	if (advance > RG_EARNED_MOST_NS)
		advance = RG_EARNED_MOST_NS;
	return (advance >> 8) * (weight >> 8) >> 10;
}

/* The effective weight of a group now, as far as that of its parent is known. */
RG_INLINE u64 rg_flat_weight(struct rg_group *group)
{
	u64 own = rg_weight_of(group);
	struct rg_group *parent;
	u64 sum, part;

	if (!group->parent)
		return own * RG_WEIGHT_ONE;
	parent = rg_group_at(group->parent);
	sum = rg_weight_sum_of(parent->share.active, own);
	part = rg_div(own * parent->flat, sum);
	return rg_is_owed(parent) ? rg_owed_part(group->parent, own, sum, part) : part;
}

/* A moment of a virtual time, and of which. */
RG_INLINE u64 rg_moment(u32 id, struct rg_vtime *vtime)
{
	return ((vtime->min_vruntime - vtime->shift) & ~RG_MOMENT_OF) | id;
}

/* How far virtual time has come since a moment of it, whichever that was. */
RG_INLINE u64 rg_since(u64 moment)
{
	u32 id = moment & RG_MOMENT_OF;
	struct rg_vtime *vtime = rg_vtime_at(id);

	return vtime ? rg_lead(rg_moment(id, vtime), moment) : 0;
}

/*
 * How far virtual time has come since the group was settled last. That of pinned threads may fall
 * (min_vruntime.h): what it then passes a second time was earned.
 */
RG_INLINE u64 rg_advance(struct rg_group *group, u64 moment)
{
	bool same = (group->seen & RG_MOMENT_OF) == (moment & RG_MOMENT_OF);

	if (same && !rg_before(group->seen, moment))
		return 0;
	return rg_since(rg_swap(&group->seen, moment));
}

/* Whether a virtual time stands still, in which nobody competes any more, unlike in another. */
RG_INLINE bool rg_is_left(u32 clock, u32 id)
{
	struct rg_vtime *own = rg_vtime_at(clock);
	struct rg_vtime *other = rg_vtime_at(id);

	return own && other && rg_less(other->used_at, own->used_at) > RG_LEFT_NS;
}

/*
 * The number of the virtual time in which a group earns: of those that its threads compete in, one
 * of as many CPUs as any. They differ, so that to earn now in this and now in that would be to earn
 * twice.
 */
RG_INLINE u32 rg_clock_of(struct rg_group *group, u32 id, u64 ran_ns)
{
	u32 clock = group->seen & RG_MOMENT_OF;

	group->aside_ns += ran_ns;
	if (id > clock && group->aside_ns <= RG_ASIDE_NS && !rg_is_left(clock, id))
		return clock;
	group->aside_ns = 0;
	return id;
}

/* Brings a group's surplus up to date, after a thread of a virtual time has received so much. */
RG_INLINE void rg_surplus_settle(struct rg_group *group, u32 id, u64 ran_ns)
{
	u32 clock = rg_clock_of(group, id, ran_ns);
	struct rg_vtime *vtime = rg_vtime_at(clock);
	u64 advance, turn;

	if (!vtime)
		return;
	turn = vtime->turn < RG_LONGEST_TURN_NS ? vtime->turn : RG_LONGEST_TURN_NS;
	advance = rg_advance(group, rg_moment(clock, vtime));
	group->flat = rg_flat_weight(group);
	group->tolerance_ns = RG_SURPLUS_NS + rg_earned(turn, group->flat);
	group->surplus_ns += ran_ns - rg_earned(advance, group->flat);
	if (rg_is_owed(group) && -group->surplus_ns > 2 * rg_owed_tolerance())
		group->surplus_ns = -2 * rg_owed_tolerance();
}

/*
 * A group comes: it has received nothing yet, whatever the row's last one had. Where it will
 * compete its first charge says.
 */
RG_INLINE void rg_surplus_open(struct rg_group *group)
{
	struct rg_vtime *vtime = rg_vtime_at(0);

	group->surplus_ns = 0;
	group->aside_ns = RG_ASIDE_NS;
	if (vtime)
		group->seen = rg_moment(0, vtime);
}

/*
 * Charges a thread's groups for what it has received. No group owes what no other one wanted: none
 * outside, or none of a parent that is itself owed.
 */
RG_SUBPROGRAM bool rg_surplus_charge(u32 slot, u32 id, bool contended, u64 ran_ns)
{
	u32 at = rg_thread_at(slot)->group;
	struct rg_group *below = 0;

	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_group *group;

		if (!at)
			break;
		group = rg_group_at(at);
		rg_surplus_settle(group, id, ran_ns);
		if (!contended)
			group->surplus_ns = 0;
		if (below && rg_owed_parts(group) && !rg_is_owed(below))
			below->surplus_ns = 0;
		below = group;
		at = group->parent;
	}
	return 1;
}

/* By how much virtual time must advance until what exceeds twice the tolerance is earned. */
RG_INLINE u64 rg_surplus_wait(struct rg_group *group)
{
	return rg_virtual(rg_less(group->surplus_ns, 2 * group->tolerance_ns), group->flat);
}

/*
 * By how much virtual time must advance before a thread that wakes may compete. A group that slept
 * is owed nothing. One slept if nothing else of it is awake, nor of any group below it.
 */
RG_SUBPROGRAM u64 rg_surplus_delay(u32 slot, u32 id)
{
	struct rg_thread *thread = rg_thread_at(slot);
	u64 own = thread->counted;
	u32 at = thread->group;
	u64 delay = rg_opaque(0);

	RG_FOR(i, 0, RG_DEPTH) {
		struct rg_group *group;
		bool slept;
		u64 wait;

		if (!at)
			break;
		group = rg_group_at(at);
		rg_surplus_settle(group, id, 0);
		slept = group->share.active <= own;
		if (rg_is_owed(group) && slept)
			group->surplus_ns = 0;
		wait = rg_is_owed(group) ? 0 : rg_surplus_wait(group);
		delay = wait > delay ? wait : delay;
		own = slept ? rg_weight_of(group) : 0;
		at = group->parent;
	}
	return delay < RG_DELAY_NS ? delay : RG_DELAY_NS;
}

#endif
