/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. A group may have a limit of CPU time (`cpu.max`): a quota in each period, and what was
 *          not used of earlier ones up to a burst.
 * Rule.    A budget says what is left. Each period adds the quota, what threads run is taken off,
 *          and no more is kept than quota and burst; of periods below a tick, the quota of a tick.
 *          Below 0 it is overdrawn, which the next periods pay. A thread may have a turn while
 *          something is left, and enough for those that are active already: a turn on each CPU that
 *          they can run on, and the least turn for each of the others. A turn is a tick, or the
 *          quota, or what all held threads can have in turn within RG_ROUND_NS, whichever is least.
 *          A batch thread may have a turn only if that leaves what the brief ones are expected to
 *          use until the period ends (expect.h): what they used most of late, and half of that.
 *          Nor while the least turns of those that wait come to a sixteenth of the quota. Where
 *          batch threads had less than their part, they leave nothing to others until they have.
 * Why.     A budget that may be overdrawn gives a group its quota to the nanosecond over time,
 *          though slices end at ticks. The turns of active threads are spoken for: else all threads
 *          that came while something was left would run on what the first of them used up. Those
 *          that wait meanwhile compete as without a quota, and may have the least turn after that.
 *          A hundred threads that share a hundredth of a CPU by ticks would wait for 40 s each.
 *          A service wakes at any moment of a period. Spinners use up any quota at its beginning,
 *          and a request that comes after that waits for the next.
 * Figure.  A service beside 40 spinners in one group, with a quota of all of two CPUs: p99.9 1.00
 *          of the ideal. When each active thread was to have a whole turn it lost its requests: it
 *          was held, first come, first served. docs/evidence/production-node.md.
 *          One of 16% of a CPU beside 4 spinners, with a quota of one CPU of eight: p99.9 1.00 of
 *          the ideal, 270 when nothing was kept for it.
 * Limits.  A group overdraws by a turn on each CPU, and by the least turn for each thread that
 *          waits. Brief threads whose bursts are alike and that want more than the quota take
 *          turns, whatever each uses.
 */
#ifndef RG_BUDGET_H
#define RG_BUDGET_H

#include "expect.h"

#define RG_TURN_NS 4000000ULL /* a tick at HZ=250: what a thread may use before it is seen */
#define RG_ROUND_NS 8000000000ULL
#define RG_BUDGET_PERIODS (1ULL << 20) /* at once: so many quotas are within 64 bits */

/* What a thread may use, where so many are held. */
RG_INLINE void rg_budget_turn(struct rg_budget *budget, u32 held)
{
	u64 round_ns = rg_div(budget->quota_ns << 10, budget->period_ns) * (RG_ROUND_NS >> 10);
	u64 turn_ns = held ? rg_div(round_ns, held) : RG_TURN_NS;

	if (turn_ns > budget->quota_ns)
		turn_ns = budget->quota_ns;
	if (turn_ns > RG_TURN_NS)
		turn_ns = RG_TURN_NS;
	budget->turn_ns = turn_ns > RG_TURN_LEAST_NS ? turn_ns : RG_TURN_LEAST_NS;
}

/* Puts a new quota into force, of which nothing is used. */
RG_INLINE void rg_budget_open(struct rg_budget *budget, u64 now)
{
	u64 turn_ns = rg_div(RG_TURN_NS * budget->quota_ns, budget->period_ns);

	budget->most_ns = budget->burst_ns;
	budget->most_ns += turn_ns < budget->quota_ns ? budget->quota_ns : turn_ns;
	budget->filled_at = now;
	budget->left_ns = budget->quota_ns;
	rg_expect_open(budget);
	rg_budget_turn(budget, budget->held);
}

/*
 * The time, as far as a budget can tell. The clock of a CPU that idles may stand while it runs a
 * timer (seen on 6.18), but the moment of a timer that came has passed.
 */
RG_INLINE u64 rg_budget_now(struct rg_budget *budget)
{
	u64 now = rg_now();
	u64 came_at = budget->came_at;

	return now < came_at ? came_at : now;
}

/* How many periods have ended since it was filled last. The CPU that asks first fills it. */
RG_INLINE u64 rg_budget_periods(struct rg_budget *budget)
{
	u64 now = rg_budget_now(budget);
	u64 since = budget->filled_at;
	u64 periods = rg_div(rg_less(now, since), budget->period_ns);
	u64 next = since + periods * budget->period_ns;

	if (!periods || rg_compare_and_swap(&budget->filled_at, since, next) != since)
		return 0;
	budget->periods += periods;
	rg_expect_next(budget, periods);
	if (budget->held)
		budget->throttled += periods;
	return periods < RG_BUDGET_PERIODS ? periods : RG_BUDGET_PERIODS;
}

/* How many of so many active threads may run at once. */
RG_INLINE u64 rg_budget_running(u64 active)
{
	u64 cpus = RG_OPTION(cpus);

	return rg_opaque(active < cpus ? active : cpus);
}

/*
 * What may be left at most. What those that run now have run since their last tick is not taken off
 * yet, so it is not cut off either; nor is what was kept of a period while batch threads were held.
 */
RG_INLINE u64 rg_budget_most(struct rg_budget *budget)
{
	u64 most_ns = budget->most_ns + rg_budget_running(budget->active) * RG_TURN_NS;

	if (budget->held)
		most_ns += budget->turn_ns + (budget->quota_ns >> RG_MARGIN_SHIFT);
	return most_ns;
}

/* Brings a budget up to date, after threads have run for so long. */
RG_INLINE void rg_budget_settle(struct rg_budget *budget, u64 ran_ns)
{
	u64 filled_ns = rg_budget_periods(budget) * budget->quota_ns;
	u64 left_ns = rg_add(&budget->left_ns, filled_ns - ran_ns);
	u64 most_ns = rg_budget_most(budget);

	if ((long long)(left_ns - most_ns) > 0)
		rg_add(&budget->left_ns, most_ns - left_ns);
}

/* What a batch thread may use: beside brief ones a quarter of a small quota, no more. */
RG_INLINE u64 rg_budget_batch_turn(struct rg_budget *budget)
{
	u64 turn_ns = budget->turn_ns;

	if (budget->expected_ns && turn_ns > budget->quota_ns >> 2)
		turn_ns = budget->quota_ns >> 2;
	if (turn_ns < RG_TURN_LEAST_NS)
		turn_ns = RG_TURN_LEAST_NS;
	return rg_opaque(turn_ns);
}

/* Whether batch threads are owed more than the turns of those that are active. */
RG_INLINE bool rg_budget_owes(struct rg_budget *budget)
{
	u64 turns = rg_less(budget->active, budget->brief) + 1;
	u64 owed_ns = rg_less(budget->owed_ns, budget->quota_ns >> (RG_BATCH_SHIFT - 1));

	return owed_ns > turns * rg_budget_batch_turn(budget);
}

/*
 * What a batch thread leaves to brief ones that wake before the period ends: what they are expected
 * to use and a half of that, of the quota at most. 0: none is expected.
 */
RG_INLINE u64 rg_budget_reserve(struct rg_budget *budget)
{
	u64 rest_ns = rg_less(budget->filled_at + budget->period_ns, rg_budget_now(budget));
	u64 reserve_ns = budget->expected_ns + (budget->expected_ns >> 1);

	rest_ns += budget->period_ns >> RG_MARGIN_SHIFT;
	if (reserve_ns > budget->quota_ns)
		reserve_ns = budget->quota_ns;
	return rg_div(reserve_ns, budget->period_ns >> 10) * (rest_ns >> 10);
}

/*
 * Whether one more than so many active threads may have a turn, `brief` of which use little of
 * theirs. A batch thread beside brief ones may use all of its own; those may use what was kept.
 */
RG_INLINE bool rg_budget_admits(struct rg_budget *budget, u64 active, u64 brief, bool batch)
{
	long long left_ns = budget->left_ns;
	u64 turn_ns = rg_budget_batch_turn(budget);
	u64 others = rg_less(active, brief);
	u64 running = rg_budget_running(others);
	u64 turns_ns = running * turn_ns + (active - running) * RG_TURN_LEAST_NS;

	if (batch && budget->expected_ns) {
		if ((others - running) * RG_TURN_LEAST_NS > budget->quota_ns >> RG_MARGIN_SHIFT)
			return 0;
		turns_ns += turn_ns + rg_budget_reserve(budget);
	} else if (budget->expected_ns) {
		turns_ns = brief * RG_TURN_LEAST_NS;
	}
	return left_ns > (long long)turns_ns && budget->most_ns > turns_ns;
}

/*
 * What a thread may use that has a turn. What a batch thread was let go for may have been used
 * while it waited for a CPU.
 */
RG_INLINE u64 rg_budget_allows(struct rg_budget *budget, bool batch)
{
	u64 turn_ns = batch ? rg_budget_batch_turn(budget) : budget->turn_ns;
	u64 running = rg_budget_running(rg_less(budget->active, budget->brief));
	u64 others_ns = 0;

	if (batch && budget->expected_ns)
		others_ns = rg_less(running, 1) * turn_ns + rg_budget_reserve(budget);
	return (long long)(budget->left_ns - others_ns) > 0 ? turn_ns : RG_TURN_LEAST_NS;
}

/* When the next period begins that leaves something. */
RG_INLINE u64 rg_budget_next(struct rg_budget *budget)
{
	bool overdrawn = (long long)budget->left_ns < 0;
	u64 debt_ns = overdrawn ? -budget->left_ns : 0;

	return budget->filled_at + (rg_div(debt_ns, budget->quota_ns) + 1) * budget->period_ns;
}

/* When held threads are looked at next: a reserve is for less and less of its period. */
RG_INLINE u64 rg_budget_look(struct rg_budget *budget)
{
	u64 next = rg_budget_next(budget);
	u64 soon = rg_budget_now(budget) + RG_TURN_NS;
	bool reserved = (long long)budget->left_ns > 0 && budget->expected_ns;

	return reserved && soon < next ? soon : next;
}

#endif
