/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a group may have left of a quota (budget.h), and what it expects to use (expect.h). */

static u64 least(u64 a, u64 b) { return a < b ? a : b; }
static u64 most(u64 a, u64 b) { return a < b ? b : a; }

/* A quota of some periods of a millisecond to a second. */
static struct rg_budget some_budget(void)
{
	struct rg_budget budget = { .period_ns = between(MS, SECOND) };

	budget.quota_ns = budget.period_ns * between(1, 16 * 64) / 64;
	budget.burst_ns = below(3) ? 0 : below(budget.quota_ns);
	budget.held = (u32)(below(2) ? 0 : between(1, 400));
	budget.active = (u32)below(30);
	budget.brief = (u32)below(budget.active + 1);
	rg_budget_open(&budget, now);
	return budget;
}

static u64 turn_of(struct rg_budget *budget, u32 held)
{
	u64 round_ns = (u64)((double)budget->quota_ns / budget->period_ns * 8e9);

	return least(least(held ? round_ns / held : 4 * MS, budget->quota_ns), 4 * MS);
}

static void a_turn_is_what_all_that_are_held_can_have(void)
{
	for (u32 i = 0; i < 3000; i++) {
		struct rg_budget budget = some_budget();
		u32 held = (u32)(below(3) ? between(1, 3000) : 0);

		rg_budget_turn(&budget, held);
		NEAR(budget.turn_ns, most(turn_of(&budget, held), 50000) + control * 9999, 15, 0);
	}
}

/* The model: each period's quota, one after the other, to no more than may be left. */
static void a_budget_is_counted_period_by_period(void)
{
	for (u32 i = 0; i < 300; i++) {
		struct rg_budget budget = some_budget();
		u64 begin = now, periods = 0;
		long long left = budget.quota_ns;
		u64 of_a_tick = 4 * MS * budget.quota_ns / budget.period_ns;
		u64 kept = budget.burst_ns + most(budget.quota_ns, of_a_tick) +
			   least(budget.active, 8) * 4 * MS;

		SAME(budget.left_ns, budget.quota_ns);
		if (budget.held)
			kept += budget.turn_ns + budget.quota_ns / 16;
		for (u32 step = 0; step < 60; step++) {
			u64 ran = below(budget.quota_ns * 2);

			now += below(3) ? below(budget.period_ns) : below(20 * budget.period_ns);
			left -= ran;
			for (; begin + (periods + 1) * budget.period_ns <= now; periods++)
				left += budget.quota_ns - control;
			left = left > (long long)kept ? (long long)kept : left;
			rg_budget_settle(&budget, ran);
			SAME(budget.left_ns, left);
			SAME(budget.filled_at, begin + periods * budget.period_ns);
			SAME(budget.periods, periods);
			SAME(budget.throttled, budget.held ? periods : 0);
		}
	}
}

static void a_budget_knows_that_its_timer_came(void)
{
	struct rg_budget budget = { .period_ns = 10 * MS, .quota_ns = MS };

	rg_budget_open(&budget, now);
	budget.came_at = now + 10 * MS;
	SAME(rg_budget_now(&budget), now + 10 * MS);
	SAME(rg_budget_periods(&budget), 1);
	SAME(rg_budget_periods(&budget), 0);
	budget.came_at = now - 1;
	SAME(rg_budget_now(&budget), now);
	now += 10 * MS * (1ULL << 21);
	SAME(rg_budget_periods(&budget), 1 << 20);
}

static u64 batch_turn_of(struct rg_budget *budget)
{
	u64 turn_ns = budget->turn_ns;

	if (budget->expected_ns)
		turn_ns = least(turn_ns, budget->quota_ns / 4);
	return most(turn_ns, 50000);
}

/* What is kept for brief threads: by how much of the period is left, and a sixteenth. */
static double reserve_of(struct rg_budget *budget)
{
	double rest_ns = (double)budget->filled_at + budget->period_ns - now;

	rest_ns = (rest_ns < 0 ? 0 : rest_ns) + budget->period_ns / 16.0;
	return least(budget->expected_ns * 3 / 2, budget->quota_ns) * rest_ns / budget->period_ns;
}

/* How exact its shifts leave it. */
static double coarse(struct rg_budget *budget)
{
	return budget->quota_ns / 400.0 + budget->period_ns / 900.0;
}

static bool admits(struct rg_budget *budget, u64 active, u64 brief, bool batch)
{
	u64 others = active - least(active, brief), running = least(others, 8);
	double turns = (double)running * batch_turn_of(budget) + (active - running) * 50000.0;

	if (budget->expected_ns && !batch)
		turns = brief * 50000.0;
	if (budget->expected_ns && batch)
		turns += batch_turn_of(budget) + reserve_of(budget);
	if (budget->expected_ns && batch && (others - running) * 50000 > budget->quota_ns / 16)
		return control;
	return (long long)budget->left_ns > turns && budget->most_ns > turns;
}

/* Of a budget at some moment of its period. */
static void at_some_moment(struct rg_budget *budget)
{
	budget->filled_at = now - below(budget->period_ns * 9 / 8);
	budget->left_ns = below(budget->quota_ns * 2) - budget->quota_ns / 3;
	budget->expected_ns = below(2) ? below(budget->quota_ns) : 0;
	budget->owed_ns = below(budget->quota_ns);
}

static void a_turn_is_admitted_if_enough_is_left(void)
{
	u32 refused = 0;

	for (u32 i = 0; i < 20000; i++) {
		struct rg_budget budget = some_budget();
		u64 active = below(40), brief = below(active + 2);
		bool may, batch = below(2);

		at_some_moment(&budget);
		may = rg_budget_admits(&budget, active, brief, batch);
		refused += !may;
		/* Near the limit either is right. */
		budget.left_ns += may ? coarse(&budget) : -coarse(&budget);
		budget.most_ns += may ? coarse(&budget) : -coarse(&budget);
		SAME(admits(&budget, active, brief, batch), may);
	}
	TRUE(refused > 2000 && refused < 18000);
}

static void a_turn_is_short_where_others_have_spoken_for_the_rest(void)
{
	for (u32 i = 0; i < 20000; i++) {
		struct rg_budget budget = some_budget();
		bool batch = below(2);
		double others = 0;
		u64 running, turn_ns, allowed;

		at_some_moment(&budget);
		running = least(budget.active - budget.brief, 8);
		turn_ns = batch ? batch_turn_of(&budget) : budget.turn_ns;
		if (batch && budget.expected_ns)
			others = (running ? running - 1.0 : 0) * turn_ns + reserve_of(&budget);
		allowed = rg_budget_allows(&budget, batch);
		if ((long long)budget.left_ns > others + coarse(&budget))
			SAME(allowed, turn_ns + control);
		else if ((long long)budget.left_ns < others - coarse(&budget))
			SAME(allowed, 50000);
		NEAR(rg_budget_reserve(&budget), reserve_of(&budget), 400, coarse(&budget));
	}
}

/* At its edges, to the nanosecond. */
static void edges_of_a_budget(void)
{
	struct rg_budget budget = { .period_ns = 100 * MS, .quota_ns = 100 * MS };

	rg_budget_open(&budget, now);
	budget.left_ns = 2 * 4 * MS;
	FALSE(rg_budget_admits(&budget, 2, 0, 1));
	budget.left_ns++;
	TRUE(rg_budget_admits(&budget, 2, 0, 1));
	SAME(rg_budget_allows(&budget, 1), 4 * MS);
	budget.left_ns = 0;
	SAME(rg_budget_allows(&budget, 1), 50000);
	budget.left_ns = 1;
	SAME(rg_budget_allows(&budget, 0), 4 * MS);
	budget.left_ns = 99 * MS;
	budget.most_ns = 8 * MS;
	FALSE(rg_budget_admits(&budget, 2, 0, 1));
	budget.most_ns = 8 * MS + 1;
	TRUE(rg_budget_admits(&budget, 2, 0, 1));
}

static void batch_threads_are_owed_more_than_their_turns(void)
{
	struct rg_budget budget = { .period_ns = 100 * MS, .quota_ns = 80 * MS };

	rg_budget_open(&budget, now);
	budget.active = 5;
	budget.brief = 3;
	budget.owed_ns = 20 * MS + 3 * 4 * MS;
	FALSE(rg_budget_owes(&budget));
	budget.owed_ns++;
	TRUE(rg_budget_owes(&budget));
	budget.brief = 2;
	FALSE(rg_budget_owes(&budget));
}

/* The next period that leaves something. */
static void a_debt_is_paid_by_the_next_periods(void)
{
	struct rg_budget budget = { .period_ns = 100 * MS, .quota_ns = 80 * MS };

	rg_budget_open(&budget, now);
	SAME(rg_budget_next(&budget), now + 100 * MS);
	budget.left_ns = 0;
	SAME(rg_budget_next(&budget), now + 100 * MS);
	budget.left_ns = -(80 * MS - 1);
	SAME(rg_budget_next(&budget), now + 100 * MS);
	budget.left_ns = -80 * MS;
	SAME(rg_budget_next(&budget), now + 200 * MS);
	/* A reserve is for less and less: threads are looked at each turn. */
	SAME(rg_budget_look(&budget), now + 200 * MS);
	budget.expected_ns = 10 * MS;
	SAME(rg_budget_look(&budget), now + 200 * MS);
	budget.left_ns = 0;
	SAME(rg_budget_look(&budget), now + 100 * MS);
	budget.left_ns = 1;
	SAME(rg_budget_look(&budget), now + 4 * MS);
	now += 97 * MS;
	SAME(rg_budget_look(&budget), now + 3 * MS);
	budget.expected_ns = 0;
	now -= 90 * MS;
	SAME(rg_budget_look(&budget), now + 93 * MS);
}

/* ---- expect.h ---- */

/* The classes within a limit, by sums from the first class on: of all before class i. */
static u32 classes_within(struct rg_budget *budget, u64 limit)
{
	u64 sum[18] = {};
	u32 classes = 0;

	for (u32 i = 0; i < 16; i++)
		sum[i + 1] = sum[i] + budget->wants_ns[i];
	if (sum[16] < limit)
		return 16;
	for (u32 i = 0; i < 16; i++) {
		bool little = classes == i && budget->wants_ns[i] < budget->quota_ns / 32;

		if (sum[i ? i - 1 : 0] < 50000 || little)
			classes = i + 1;
		if (classes < i && sum[i + 1] < limit - control * MS)
			classes = i;
	}
	return classes;
}

static void the_shortest_bursts_come_first(void)
{
	for (u32 i = 0; i < 20000; i++) {
		struct rg_budget budget = { .quota_ns = 16 * MS };

		for (u32 class = 0; class < 16; class++)
			budget.wants_ns[class] = below(3) ? 0 : any() >> between(38, 60);
		if (!below(4))
			budget.wants_ns[below(4)] = 50000;
		SAME(rg_expect_within(&budget, 12 * MS), classes_within(&budget, 12 * MS));
	}
}

/* To fewer at once; to more after periods that double each time. */
static void classes_come_back_after_a_while(void)
{
	struct rg_budget budget = { .classes = 16 };

	rg_expect_change(&budget, 3, 3);
	SAME(budget.classes, 3);
	SAME(budget.waits, 8);
	for (u32 i = 0; i < 8; i++) {
		rg_expect_change(&budget, 3, 16);
		SAME(budget.classes, 3);
	}
	rg_expect_change(&budget, 3, 3);
	SAME(budget.classes, 3);
	rg_expect_change(&budget, 16, 16);
	SAME(budget.classes, 16);
	rg_expect_change(&budget, 2, 2);
	SAME(budget.waits, 24);
	rg_expect_change(&budget, 1, 2);
	SAME(budget.backoff, 24);
	SAME(budget.classes, 1);
	budget.classes = 16;
	budget.waits = 0;
	rg_expect_change(&budget, 16, 16);
	SAME(budget.backoff, 23);
	budget.backoff = 200;
	rg_expect_change(&budget, 2, 2);
	SAME(budget.backoff, 256);
	budget = (struct rg_budget){ .classes = 16 };
	rg_expect_change(&budget, 16, 16);
	SAME(budget.backoff, 0);
	budget.backoff = 1;
	budget.classes = 9;
	rg_expect_change(&budget, 9, 9);
	SAME(budget.backoff, 1);
}

/* What was used most of late, which fades; what batch threads are owed while they are held. */
static void a_period_ends(void)
{
	struct rg_budget budget = { .quota_ns = 80 * MS, .period_ns = 100 * MS, .classes = 16 };

	budget.brief_ns = 20 * MS;
	budget.mean_shift = 1;
	rg_expect_next(&budget, 1);
	SAME(budget.expected_ns, 20 * MS);
	SAME(budget.brief_ns, 0);
	SAME(budget.owed_ns, 0);
	rg_expect_next(&budget, 1);
	SAME(budget.expected_ns, 17500000);
	budget.brief_ns = 60 * MS;
	rg_expect_next(&budget, 3);
	SAME(budget.expected_ns, 20 * MS);
	budget.expected_ns = budget.brief_ns = 50000;
	rg_expect_next(&budget, 1);
	SAME(budget.expected_ns, 0);
	budget.brief_ns = 50001;
	rg_expect_next(&budget, 1);
	SAME(budget.expected_ns, 50001);
	budget.held = budget.held_brief = 2;
	rg_expect_next(&budget, 1);
	SAME(budget.owed_ns, 0);
	budget.held = 3;
	rg_expect_next(&budget, 2);
	SAME(budget.owed_ns, 20 * MS);
	rg_expect_next(&budget, 4);
	SAME(budget.owed_ns, 60 * MS);
	rg_expect_next(&budget, 100);
	SAME(budget.owed_ns, 80 * MS);
	budget.owed_ns = 0;
	rg_expect_next(&budget, 100);
	SAME(budget.owed_ns, 80 * MS);
	budget.owed_ns = 0;
	rg_expect_next(&budget, 7);
	SAME(budget.owed_ns, 70 * MS);
}

/* What each class wants is a mean; who comes first leaves a sixteenth and what is owed. */
static void a_period_says_who_comes_first(void)
{
	struct rg_budget budget = { .quota_ns = 80 * MS, .period_ns = 100 * MS, .classes = 16 };

	budget.mean_shift = 2;
	budget.used_ns[3] = 40 * MS;
	budget.used_ns[9] = 400 * MS;
	rg_expect_classes(&budget, 1);
	SAME(budget.wants_ns[3], 10 * MS);
	SAME(budget.wants_ns[9], 100 * MS);
	SAME(budget.used_ns[3], 0);
	SAME(budget.classes, 9);
	rg_expect_classes(&budget, 2);
	SAME(budget.wants_ns[3], 5 * MS);
	budget.used_ns[3] = 60 * MS;
	rg_expect_classes(&budget, 6);
	SAME(budget.wants_ns[3], 10 * MS);
	SAME(budget.wants_ns[9], 0);
	SAME(rg_expect_recent(&budget, 3), 3);
	SAME(rg_expect_recent(&budget, 4), 4);
	SAME(rg_expect_recent(&budget, 5), 4);
	/* 75 of 80 ms are for those that come first. */
	budget = (struct rg_budget){ .quota_ns = 80 * MS, .classes = 16, .backoff = 1 };
	budget.used_ns[3] = MS;
	budget.used_ns[9] = 74 * MS - 1;
	rg_expect_classes(&budget, 1);
	SAME(budget.classes, 16);
	budget.used_ns[3] = MS;
	budget.used_ns[9] = 74 * MS;
	rg_expect_classes(&budget, 1);
	SAME(budget.classes, 9);
}

/* They come first again where what is kept for others would not have been too much. */
static void classes_come_first_again(void)
{
	u64 owed[] = { 0, 5 * MS, 10 * MS, 50 * MS };

	for (u32 i = 0; i < 4; i++) {
		for (u32 by = 0; by < 2; by++) {
			struct rg_budget budget = { .quota_ns = 80 * MS, .owed_ns = owed[i] };

			budget.classes = 5;
			budget.expected_ns = 8 * MS;
			budget.used_ns[3] = MS;
			budget.used_ns[9] = 65 * MS - least(owed[i], 10 * MS) - by;
			rg_expect_classes(&budget, 1);
			SAME(budget.classes, by ? 16 : 9);
		}
	}
}

static void a_new_quota_begins_anew(void)
{
	u64 periods[] = { 2 * SECOND, 100 * MS, 50 * MS, 49 * MS, 12500000, MS, 1000 };
	u32 shifts[] = { 1, 1, 1, 2, 3, 7, 8 };

	for (u32 i = 0; i < 7; i++) {
		struct rg_budget budget = { .period_ns = periods[i], .quota_ns = MS };

		budget.brief_ns = budget.expected_ns = budget.owed_ns = 7;
		rg_budget_open(&budget, now);
		SAME(budget.mean_shift, shifts[i]);
		SAME(budget.classes, 16);
		SAME(budget.brief_ns + budget.expected_ns + budget.owed_ns, 0);
		SAME(budget.filled_at, now);
	}
}

/* Who used it. */
static void what_runs_is_noted(void)
{
	struct rg_budget budget = { .owed_ns = 10 };

	rg_expect_note(&budget, 4, 15, 1);
	SAME(budget.used_ns[15], 4);
	SAME(budget.brief_ns, 4);
	SAME(budget.owed_ns, 10);
	rg_expect_note(&budget, 4, 16, 0);
	SAME(budget.used_ns[0], 0);
	SAME(budget.owed_ns, 6);
	rg_expect_note(&budget, 7, 0, 0);
	SAME(budget.used_ns[0], 7);
	SAME(budget.owed_ns, 0);
	SAME(budget.brief_ns, 4);
}
