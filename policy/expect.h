/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Of what a group may use (budget.h) something must be left to requests that are yet to
 *          come. How much, and for whom? Of the threads of a container many run for a short time
 *          and sleep: those that serve requests, and others that want all of its quota.
 * Rule.    What was used of late by threads that come first is expected of the next period: the
 *          most of the last ones, which fades by an eighth a period. First come threads of short
 *          bursts. Each is of a class by the mean of its process, or by its own if that is much
 *          longer, or by an eighth of the present burst. The shortest classes that together use
 *          less than the quota in a mean of 100 ms and two periods come first, and the very
 *          shortest in any case. Not so those that run for most of the time since they woke, or
 *          that never slept. Where these are held they are owed an eighth of the quota.
 * Why.     Shortest first serves the most requests in time where not all can be. By demand it could
 *          not be told who they are: what is held does not show what it wants.
 *          An event loop that was held runs until it has done all that came meanwhile. Its burst
 *          says how long it was held, not what it does. A period of a few ms shows no mean.
 * Figure.  A service of 16% of a CPU beside twelve threads that run and sleep for 1 ms, with a
 *          quota of one CPU of eight: p99.9 1.00 of the ideal, 290 when all came first, EEVDF 301.
 *          An event loop of 43% of a CPU beside four spinners, with a quota of one CPU: 0.99, lost
 *          when a burst of 4 ms made it a batch thread. docs/evidence/production-node.md.
 * Limits.  Nothing is known in the first period of a quota. Bursts that differ by less than a
 *          factor of two or four are alike.
 */
#ifndef RG_EXPECT_H
#define RG_EXPECT_H

#include "state.h"

#define RG_TURN_LEAST_NS 50000ULL
#define RG_EXPECT_SHIFT 3 /* what was used most fades by an eighth a period */
#define RG_BATCH_SHIFT 3  /* an eighth of the quota is the batch threads' part */
#define RG_MARGIN_SHIFT 4 /* a sixteenth: what is used and what is expected differ by it */
#define RG_LITTLE_SHIFT 5 /* a class that wants a 32nd of the quota wants little */
#define RG_BACKOFF 8 /* periods */
#define RG_BACKOFF_MOST 256
#define RG_MEAN_NS 100000000ULL /* a mean is of so long, and of two periods */
#define RG_MEAN_SHIFTS 7        /* in periods of a millisecond */
#define RG_CLASS_SHIFT 16 /* the shortest bursts: up to 64 us, about */

/* What is used in a period: of the last ones the most, which fades. */
RG_INLINE u64 rg_expect_most(u64 most_ns, u64 used_ns)
{
	u64 faded_ns = most_ns - (most_ns >> RG_EXPECT_SHIFT);

	return used_ns < faded_ns ? faded_ns : used_ns;
}

/*
 * How many classes of bursts, shortest first, together want less than that: with the next class,
 * since a program's bursts vary. Also those that want next to nothing.
 */
RG_INLINE u32 rg_expect_within(struct rg_budget *budget, u64 most_ns)
{
	u64 little_ns = budget->quota_ns >> RG_LITTLE_SHIFT;
	u64 wanted_ns = rg_opaque(0);
	u64 before_ns = rg_opaque(0);
	u32 classes = rg_opaque(0);

	RG_FOR(i, 0, RG_CLASSES) {
		u64 wants_ns = budget->wants_ns[rg_masked(i, RG_CLASSES)];

		if (before_ns < RG_TURN_LEAST_NS || (classes == i && wants_ns < little_ns))
			classes = i + 1;
		before_ns = wanted_ns;
		wanted_ns += wants_ns;
		if (classes < i && wanted_ns < most_ns)
			classes = i;
	}
	return rg_opaque(wanted_ns < most_ns ? RG_CLASSES : classes);
}

/*
 * The classes that come first change: to fewer at once, to more after some periods, which are twice
 * as many each time that proves wrong.
 */
RG_INLINE void rg_expect_change(struct rg_budget *budget, u32 fewer, u32 more)
{
	if (fewer < budget->classes) {
		if (budget->classes == RG_CLASSES)
			budget->backoff += budget->backoff + RG_BACKOFF;
		if (budget->backoff > RG_BACKOFF_MOST)
			budget->backoff = RG_BACKOFF_MOST;
		budget->waits = budget->backoff;
		budget->classes = fewer;
	} else if (budget->waits) {
		budget->waits--;
	} else if (more > budget->classes) {
		budget->classes = more;
	} else if (budget->classes == RG_CLASSES && budget->backoff) {
		budget->backoff--;
	}
}

/* So many of the periods that a mean is of have ended, at least one. */
RG_INLINE u64 rg_expect_recent(struct rg_budget *budget, u64 periods)
{
	u64 all = 1ULL << budget->mean_shift;

	return periods < all ? periods : all;
}

/* A mean of what was used in a period, of which that was used in each of the last ones. */
RG_INLINE void rg_expect_mean(u64 *mean_ns, u64 used_ns, u64 recent, u32 shift)
{
	u64 before_ns = *mean_ns;

	*mean_ns = before_ns - (before_ns * recent >> shift) + (used_ns * recent >> shift);
}

/*
 * Who comes first in the next period. What is kept for some holds others back, who may want more
 * than they could use: they come first again where that would not have been too much.
 */
RG_INLINE void rg_expect_classes(struct rg_budget *budget, u64 periods)
{
	u64 margin_ns = budget->quota_ns >> RG_MARGIN_SHIFT;
	u64 part_ns = budget->quota_ns >> RG_BATCH_SHIFT;
	u64 most_ns = budget->quota_ns - margin_ns;
	u64 recent = rg_opaque(rg_expect_recent(budget, periods));
	u32 most, again;

	RG_FOR(i, 0, RG_CLASSES) {
		u32 class = rg_masked(i, RG_CLASSES);
		u64 used_ns = rg_div(rg_swap(&budget->used_ns[class], 0), periods);

		rg_expect_mean(&budget->wants_ns[class], used_ns, recent, budget->mean_shift);
	}
	most_ns -= part_ns < budget->owed_ns ? part_ns : budget->owed_ns;
	most = rg_expect_within(budget, most_ns);
	again = rg_expect_within(budget,
				 rg_less(most_ns, margin_ns + (budget->expected_ns >> 1)));
	rg_expect_change(budget, most, again);
}

/* A period has ended. Batch threads that are held are owed their part of it, up to a quota. */
RG_INLINE void rg_expect_next(struct rg_budget *budget, u64 periods)
{
	u64 used_ns = rg_div(rg_swap(&budget->brief_ns, 0), periods);
	u64 parts = periods < 1 << RG_BATCH_SHIFT ? periods : 1 << RG_BATCH_SHIFT;
	u64 owed_ns = budget->owed_ns + parts * (budget->quota_ns >> RG_BATCH_SHIFT);

	used_ns = rg_expect_most(budget->expected_ns, used_ns);
	budget->expected_ns = used_ns > RG_TURN_LEAST_NS ? used_ns : 0;
	if (budget->held > budget->held_brief)
		budget->owed_ns = owed_ns < budget->quota_ns ? owed_ns : budget->quota_ns;
	rg_expect_classes(budget, periods);
}

/* A new quota: all may come first until a period has shown what they use. */
RG_INLINE void rg_expect_open(struct rg_budget *budget)
{
	budget->brief_ns = 0;
	budget->classes = RG_CLASSES;
	budget->expected_ns = 0;
	budget->owed_ns = 0;
	budget->mean_shift = 1;
	RG_FOR(i, 0, RG_MEAN_SHIFTS) {
		if (budget->period_ns << budget->mean_shift >= RG_MEAN_NS)
			break;
		budget->mean_shift++;
	}
}

/*
 * A thread whose bursts are of this class has run for so long: a brief one, or a batch one, which
 * is owed less then. One that never slept is of no class.
 */
RG_INLINE void rg_expect_note(struct rg_budget *budget, u64 ran_ns, u32 class, bool brief)
{
	if (class < RG_CLASSES)
		rg_add(&budget->used_ns[rg_masked(class, RG_CLASSES)], ran_ns);
	if (brief)
		rg_add(&budget->brief_ns, ran_ns);
	else if (budget->owed_ns)
		budget->owed_ns = rg_less(budget->owed_ns, ran_ns);
}

#endif
