/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that a quota holds (quota.h, resume.h). */

/* A group below another, each with a quota of 80 ms in 100. */
static void limited_groups(void)
{
	rg_init_group(1, 0, 100);
	rg_init_group(2, 1, 100);
	rg_limit_group(1, 80 * MS, 100 * MS, 0);
	rg_limit_group(2, 80 * MS, 100 * MS, 0);
}

static struct rg_budget *budget_of(u32 group)
{
	return &groups[group].budget;
}

/* A thread of a group that has bursts of so long. */
static struct rg_thread *bursting(u32 row, u32 group, u64 burst_ns)
{
	thread_in(row, row, group, 0);
	threads[row].burst_mean_ns = threads[row].burst_usual_ns = burst_ns;
	return &threads[row];
}

static void a_brief_thread_has_not_run_for_much_longer_than_before(void)
{
	struct rg_thread *thread = bursting(1, 0, MS);

	thread->wants_at = now;
	thread->ran_ns = 6 * MS - 1;
	TRUE(rg_spends_briefly(thread));
	thread->ran_ns = 6 * MS;
	FALSE(rg_spends_briefly(thread));
	/* It has waited for 10 ms, in which it did not run. */
	now += 86 * MS;
	thread->ran_ns = 76 * MS - 1;
	TRUE(rg_spends_briefly(thread));
	thread->ran_ns = 77 * MS;
	FALSE(rg_spends_briefly(thread));
	thread->ran_ns = 0;
	thread->burst_mean_ns = 0;
	FALSE(rg_spends_briefly(thread));
}

/* Each class is of bursts twice as long. */
static void bursts_are_of_classes(void)
{
	struct rg_thread *thread = bursting(1, 1, 0);

	SAME(rg_burst_class(1), 16);
	for (u32 class = 0; class < 15; class++) {
		thread->burst_usual_ns = (1ULL << (16 + class)) - 1;
		SAME(rg_burst_class(1), class);
		thread->burst_usual_ns++;
		SAME(rg_burst_class(1), class + 1);
	}
	thread->burst_usual_ns = 1ULL << 40;
	SAME(rg_burst_class(1), 15);
	thread->burst_usual_ns = 100;
	thread->ran_ns = 8 * MS;
	SAME(rg_burst_class(1), 4);
	thread->burst_mean_ns = 10 * MS;
	limited_groups();
	budget_of(1)->classes = 4;
	FALSE(rg_comes_first(1, 1));
	FALSE(rg_goes_before(thread, 1));
	thread->owed = 1;
	TRUE(rg_goes_before(thread, 1));
	thread->owed = 0;
	budget_of(1)->classes = 5;
	TRUE(rg_comes_first(1, 1));
	TRUE(rg_goes_before(thread, 1));
	thread->burst_mean_ns = 0;
	FALSE(rg_comes_first(1, 1));
}

/* A timer is started once for the earliest moment, not at once after the last, and anew if late. */
static void a_timer_comes_once(void)
{
	struct rg_budget *budget = budget_of(1);
	u64 begin = now;

	limited_groups();
	TRUE(rg_quota_timer(1, budget, begin + 10 * MS));
	SAME(group_timer[1], begin + 10 * MS);
	group_timer[1] = 0;
	TRUE(rg_quota_timer(1, budget, begin + 10 * MS));
	TRUE(rg_quota_timer(1, budget, begin + 20 * MS));
	SAME(group_timer[1], 0);
	TRUE(rg_quota_timer(1, budget, begin + 9 * MS));
	SAME(group_timer[1], begin + 9 * MS);
	/* It is overdue, but not for long. */
	now = begin + 109 * MS - 1;
	group_timer[1] = 0;
	TRUE(rg_quota_timer(1, budget, begin + 200 * MS));
	SAME(group_timer[1], 0);
	now++;
	TRUE(rg_quota_timer(1, budget, begin + 200 * MS));
	SAME(group_timer[1], begin + 200 * MS);
	budget->came_at = begin + 199960000;
	budget->due_at = RG_NEVER;
	TRUE(rg_quota_timer(1, budget, begin + 200 * MS));
	SAME(group_timer[1], now + 50000); /* on the clock that stands */
	budget->due_at = RG_NEVER;
	TRUE(rg_quota_timer(1, budget, begin + 200010001));
	SAME(group_timer[1], now + 50001);
	no_timers = 1;
	budget->due_at = RG_NEVER;
	FALSE(rg_quota_timer(1, budget, now + 500 * MS));
	SAME(budget->due_at, RG_NEVER);
}

/* What a thread runs is taken off all its groups that have a quota. */
static void what_runs_is_taken_off_all_groups(void)
{
	struct rg_thread *thread = bursting(1, 2, MS);

	limited_groups();
	rg_limit_group(1, RG_NEVER, 100 * MS, 0);
	thread->held_at = 5;
	thread->owed = 1;
	rg_quota_charge(1, 0);
	SAME(thread->held_at, 5);
	SAME(thread->owed, 1);
	rg_quota_charge(1, 3 * MS);
	SAME(thread->held_at + thread->owed, 0);
	SAME(budget_of(2)->left_ns, 77 * MS);
	SAME(budget_of(2)->used_ns[4], 3 * MS);
	SAME(budget_of(2)->brief_ns, 3 * MS);
	SAME(budget_of(1)->used_ns[4], 0);
	rg_limit_group(1, 50 * MS, 100 * MS, 0);
	rg_quota_charge(1, 3 * MS);
	SAME(budget_of(1)->left_ns, 47 * MS);
	SAME(budget_of(2)->left_ns, 74 * MS);
	/* As deep as groups are nested. */
	for (u32 at = 1; at <= RG_DEPTH; at++)
		rg_init_group(at, at - 1, 100);
	rg_limit_group(1, 50 * MS, 100 * MS, 0);
	thread->group = RG_DEPTH;
	rg_quota_charge(1, 3 * MS);
	SAME(budget_of(1)->left_ns, 47 * MS);
	budget_of(1)->turn_ns = 2 * MS;
	SAME(rg_quota_turn(1), 2 * MS);
}

/* Threads count as active in all their groups, the brief ones apart. */
static void active_threads_are_counted(void)
{
	limited_groups();
	bursting(1, 2, MS);
	bursting(2, 2, 0);
	bursting(3, 1, 0);
	for (u32 row = 1; row <= 3; row++)
		rg_quota_join(&threads[row]);
	rg_quota_join(&threads[1]);
	SAME(budget_of(1)->active, 3);
	SAME(budget_of(1)->brief, 1);
	SAME(budget_of(2)->active, 2);
	SAME(budget_of(2)->brief, 1);
	threads[1].ran_ns = SECOND; /* it was brief when it came */
	rg_quota_leave(&threads[1]);
	rg_quota_leave(&threads[1]);
	SAME(budget_of(1)->active, 2);
	SAME(budget_of(1)->brief, 0);
	SAME(budget_of(2)->brief, 0);
	SAME(threads[1].spends, 0);
	options.quotas = 0;
	rg_quota_leave(&threads[2]);
	SAME(budget_of(2)->active, 1);
	options.quotas = 1;
	rg_limit_group(1, RG_NEVER, 100 * MS, 0);
	rg_limit_group(2, RG_NEVER, 100 * MS, 0);
	rg_quota_join(&threads[1]);
	SAME(budget_of(2)->active, 1);
}

/* An active thread that leaves lets a held one go at once, if there is enough. */
static void a_thread_that_leaves_lets_another_go(void)
{
	limited_groups();
	bursting(1, 2, 0);
	rg_quota_join(&threads[1]);
	budget_of(2)->held = 1;
	budget_of(2)->left_ns = 0;
	rg_quota_leave(&threads[1]);
	SAME(group_timer[2], RG_NEVER);
	budget_of(2)->left_ns = 1;
	rg_quota_join(&threads[1]);
	SAME(group_timer[2], RG_NEVER);
	rg_quota_leave(&threads[1]);
	SAME(group_timer[2], now);
	SAME(group_timer[1], RG_NEVER);
}

static u32 holder_of(u32 row)
{
	return rg_quota_holder(row);
}

/* The innermost group that has nothing left; none after ten seconds, or where a thread ends. */
static void a_group_without_a_turn_holds_a_thread(void)
{
	struct rg_thread *thread = bursting(1, 2, 0);

	limited_groups();
	SAME(holder_of(1), 0);
	budget_of(1)->left_ns = 0;
	SAME(holder_of(1), 1);
	budget_of(2)->left_ns = 0;
	SAME(holder_of(1), 2);
	SAME(rg_held_by(&tasks[1], thread), 2);
	thread->held_at = now - 10 * SECOND;
	SAME(holder_of(1), 2);
	thread->held_at--;
	SAME(holder_of(1), 0);
	thread->held_at = 0;
	tasks[1].ending = 1;
	SAME(rg_held_by(&tasks[1], thread), 0);
	tasks[1].ending = 0;
	thread->group = 0;
	SAME(rg_held_by(&tasks[1], thread), 0);
	thread->group = 2;
	budget_of(2)->limited = 0;
	SAME(holder_of(1), 1);
	SAME(budget_of(2)->active, 0);
	thread->counted = 1024;
	rg_held_by(&tasks[1], thread);
	SAME(budget_of(2)->active, 1);
}

/* One that had a turn gives way to those that are held, but no brief one to batch threads. */
static void a_thread_after_its_turn_gives_way(void)
{
	limited_groups();
	bursting(1, 2, MS);
	bursting(2, 2, 0);
	rg_quota_join(&threads[1]);
	rg_quota_join(&threads[2]);
	FALSE(rg_quota_refuses(1, 2, 0) || rg_quota_refuses(2, 2, 0));
	budget_of(2)->held = 1;
	FALSE(rg_quota_refuses(1, 2, 0));
	TRUE(rg_quota_refuses(2, 2, 0));
	budget_of(2)->held_brief = 1;
	TRUE(rg_quota_refuses(1, 2, 0));
	rg_quota_leave(&threads[2]);
	FALSE(rg_quota_refuses(2, 2, 0));
	/* It does not count itself: enough for its own turn is enough. */
	budget_of(2)->held = budget_of(2)->held_brief = 0;
	rg_quota_join(&threads[2]);
	rg_quota_leave(&threads[1]);
	budget_of(2)->left_ns = 1;
	FALSE(rg_quota_refuses(2, 2, 0));
	TRUE(rg_quota_refuses(1, 2, 0));
	budget_of(2)->expected_ns = MS;
	budget_of(2)->left_ns = 50000;
	TRUE(rg_quota_refuses(2, 2, 0));
	rg_quota_join(&threads[1]);
	FALSE(rg_quota_refuses(1, 2, 0));
	budget_of(2)->brief++;
	TRUE(rg_quota_refuses(1, 2, 0));
}

/* A held thread stands by the moment since when, brief ones before batch ones. */
static void held_threads_stand_in_order(void)
{
	limited_groups();
	bursting(1, 2, MS);
	bursting(2, 2, 0);
	TRUE(rg_held_begin(1, 2));
	SAME(rg_held_key(&threads[1]), now);
	SAME(threads[1].held, 3);
	TRUE(rg_held_begin(2, 2));
	SAME(rg_held_key(&threads[2]), now + 10 * SECOND);
	SAME(budget_of(2)->held, 2);
	SAME(budget_of(2)->held_brief, 1);
	SAME(group_timer[2], now + 100 * MS);
	now += MS;
	TRUE(rg_held_end(1));
	SAME(budget_of(2)->held, 1);
	SAME(budget_of(2)->held_brief, 0);
	SAME(threads[1].held, 0);
	TRUE(rg_held_end(1));
	SAME(budget_of(2)->held, 1);
	TRUE(rg_held_begin(1, 2));
	SAME(threads[1].held_at, now - MS);
	no_timers = 1;
	budget_of(2)->due_at = RG_NEVER;
	threads[1].held = 0;
	FALSE(rg_held_begin(1, 2));
	SAME(budget_of(2)->held, 2);
	SAME(threads[1].held, 0);
}

static void one_change_of_a_held_thread_wins(void)
{
	limited_groups();
	bursting(1, 2, MS);
	rg_held_begin(1, 2);
	FALSE(rg_held_change(&threads[1], 2, 0));
	TRUE(rg_held_change(&threads[1], 3, RG_LETTING_GO));
	SAME(budget_of(2)->held, 0);
	TRUE(rg_held_change(&threads[1], RG_LETTING_GO, 0));
	SAME(budget_of(2)->held, 0);
	FALSE(rg_held_change(&threads[1], RG_LETTING_GO, 0));
	threads[1].held = RG_LETTING_GO; /* another CPU would have let it go by the end of this */
	FALSE(rg_held_end(1));
}

static void a_timer_sweeps_now_and_then(void)
{
	limited_groups();
	budget_of(1)->due_at = now + 5;
	budget_of(1)->swept_at = now - 100 * MS + 6;
	FALSE(rg_quota_due(1));
	SAME(budget_of(1)->came_at, now + 5);
	SAME(budget_of(1)->due_at, RG_NEVER);
	FALSE(rg_quota_due(1));
	SAME(budget_of(1)->came_at, now + 5);
	now += 6;
	TRUE(rg_quota_due(1));
	SAME(budget_of(1)->swept_at, now);
	now += 100 * MS - 1;
	FALSE(rg_quota_due(1));
	now++;
	TRUE(rg_quota_due(1));
}

/* When the timer comes again. */
static void a_timer_comes_again_while_threads_are_held(void)
{
	struct rg_budget *budget = budget_of(2);

	limited_groups();
	FALSE(rg_quota_again(2, 0));
	SAME(group_timer[2], RG_NEVER);
	TRUE(rg_quota_again(2, 1));
	SAME(group_timer[2], now + 200000);
	budget->due_at = RG_NEVER;
	budget->held = 1000;
	budget->left_ns = 0;
	TRUE(rg_quota_again(2, 0));
	SAME(group_timer[2], now + 100 * MS);
	SAME(budget->turn_ns, 4 * MS);
	budget->held = 3000;
	rg_quota_again(2, 0);
	TRUE(budget->turn_ns < 2200000);
	budget->due_at = RG_NEVER;
	budget->left_ns = -SECOND; /* a sweep comes first */
	rg_quota_again(2, 0);
	SAME(group_timer[2], now + 100 * MS);
	budget->due_at = RG_NEVER;
	budget->left_ns = SECOND;
	rg_quota_again(2, 0);
	SAME(group_timer[2], now + 200000);
	budget->due_at = RG_NEVER;
	budget->left_ns = 0;
	budget->filled_at = now - 100 * MS + 150000;
	rg_quota_again(2, 0);
	SAME(group_timer[2], now + 200000);
	budget->due_at = RG_NEVER;
	budget->filled_at = now - 50 * MS;
	rg_quota_again(2, 0);
	SAME(group_timer[2], now + 50 * MS);
	budget->due_at = RG_NEVER;
	budget->limited = 0;
	rg_quota_again(2, 0);
	SAME(group_timer[2], now + 200000);
}

/* The least turn of its groups; a timer ends one that is over before a tick. */
static void a_turn_may_end_before_a_tick(void)
{
	limited_groups();
	bursting(1, 2, 0);
	SAME(rg_quota_turn(1), 4 * MS);
	budget_of(1)->turn_ns = 3 * MS;
	SAME(rg_quota_turn(1), 3 * MS);
	budget_of(2)->turn_ns = 2 * MS;
	SAME(rg_quota_turn(1), 2 * MS);
	budget_of(1)->left_ns = -1;
	SAME(rg_quota_turn(1), 50000);
	cpus[0].thread = 1;
	cpus[0].turn = 7;
	rg_turn_begin(0);
	SAME(cpu_timer[0], RG_NEVER);
	SAME(cpus[0].turn, 0);
	cpus[0].pool = 1;
	rg_turn_begin(0);
	SAME(cpu_timer[0], RG_NEVER);
	threads[1].counted = 1024;
	rg_turn_begin(0);
	SAME(cpu_timer[0], now + 50000);
	SAME(cpus[0].turn, rg_some(1));
	SAME(threads[1].spends, 1);
	rg_turn_due(0);
	SAME(kicks[0][RG_KICK_PREEMPT], 1);
	cpus[0].thread = 2;
	rg_turn_due(0);
	cpus[0].thread = 1;
	cpus[0].pool = 0;
	rg_turn_due(0);
	SAME(kicks[0][RG_KICK_PREEMPT], 1);
	cpus[0].pool = 1;
	threads[1].group = 0;
	cpus[0].turn = 5;
	rg_turn_begin(0);
	SAME(cpus[0].turn, 0);
}

/* A quota of all CPUs is none. The first limit of all makes quotas worth looking at. */
static void a_quota_of_all_cpus_limits_nothing(void)
{
	limited_groups();
	SAME(shared.limited, 2);
	TRUE(rg_has_quotas());
	rg_limit_group(1, 800 * MS, 100 * MS, 0);
	SAME(budget_of(1)->limited, 0);
	SAME(shared.limited, 1);
	rg_limit_group(2, 800 * MS - 8, 100 * MS, 3 * SECOND);
	SAME(budget_of(2)->limited, 1);
	SAME(budget_of(2)->burst_ns, 3 * SECOND);
	SAME(budget_of(2)->left_ns, 800 * MS - 8);
	rg_limit_group(2, 800 * MS - 8, 100 * MS, RG_NEVER);
	SAME(budget_of(2)->burst_ns, 1ULL << 41);
	budget_of(2)->held = 1;
	rg_limit_group(2, 5, 100 * MS, 0);
	SAME(group_timer[2], now);
	rg_exit_group(2);
	SAME(shared.limited, 0);
	FALSE(rg_has_quotas());
	rg_exit_group(1);
	SAME(shared.limited, 0);
	options.quotas = 0;
	shared.limited = 1;
	FALSE(rg_has_quotas());
}

/* Its burst counts from the moment that it is given. */
static void a_new_burst_counts_at_once(void)
{
	u64 most_ns;

	reset(8, 4);
	rg_init_group(1, 0, 100);
	rg_limit_group(1, 80 * MS, 100 * MS, 0);
	most_ns = budget_of(1)->most_ns;
	rg_limit_group(1, 80 * MS, 100 * MS, 30 * MS);
	SAME(budget_of(1)->most_ns, most_ns + 30 * MS);
	rg_limit_group(1, 80 * MS, 100 * MS, 0);
	SAME(budget_of(1)->most_ns, most_ns);
}

/* A period that ends says what to expect of the next one. */
static void a_period_that_ends_is_learnt_from(void)
{
	reset(8, 4);
	rg_init_group(1, 0, 100);
	rg_limit_group(1, 80 * MS, 100 * MS, 0);
	budget_of(1)->brief_ns = 20 * MS;
	rg_budget_settle(budget_of(1), 0);
	SAME(budget_of(1)->expected_ns, 0);
	now += 100 * MS;
	rg_budget_settle(budget_of(1), 0);
	SAME(budget_of(1)->expected_ns, 20 * MS);
}

/* What a timer does next is reckoned with what is left by now. */
static void a_timer_brings_its_budget_up_to_date(void)
{
	reset(8, 4);
	rg_init_group(1, 0, 100);
	rg_limit_group(1, 80 * MS, 100 * MS, 0);
	budget_of(1)->left_ns = -30 * (long long)MS;
	budget_of(1)->held = 1;
	now += 200 * MS;
	TRUE(rg_quota_again(1, 1));
	SAME(budget_of(1)->filled_at, now);
	SAME(budget_of(1)->left_ns > 0, 1);
}
