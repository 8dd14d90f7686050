/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Credits (balance/credits.h, balance/credit.h, pick/credit.h). */

#define ZERO (64 * 30 * MS)

static void credit_policy(void)
{
	rearguard(8, 1);
	options.balance = RG_BALANCE_CREDIT;
	options.pick = RG_PICK_CREDIT;
	options.queue = RG_QUEUE_CPU;
	options.requeue = RG_REQUEUE_TAIL;
	options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
	options.slice_ns = 30 * MS;
	options.promises = options.direct = 0;
	clear();
	SAME(rg_init(), 0);
}

/* A thread begins to want a CPU. */
static void joins(u32 row)
{
	rg_weight_join(&tasks[row], &threads[row]);
	rg_balance_join(&threads[row]);
}

static void leaves(u32 row)
{
	rg_balance_leave(&threads[row], now);
	rg_weight_leave(&tasks[row], &threads[row]);
}

/* Of so many members of the root a weight counts no more than brings each of its threads a CPU. */
static void a_credited_weight_is_feasible(void)
{
	credit_policy();
	shared.active = 9;
	SAME(rg_credits_feasible(&shared, 1000, 700, 1), 100);
	SAME(rg_credits_feasible(&shared, 1000, 700, 7), 1000);
	SAME(rg_credits_feasible(&shared, 5000, 700, 7), 4900);
	SAME(rg_credits_feasible(&shared, 5000, 700, 8), 5000);
	SAME(rg_credits_feasible(&shared, 99, 700, 1), 99);
	shared.active = 8;
	SAME(rg_credits_feasible(&shared, 1000, 700, 1), 1000);
}

/* The model: sums over all that are active. */
static void shares_of_credits_are_summed(void)
{
	u64 sharing, active, members;

	credit_policy();
	rg_init_group(1, 0, 200);
	rg_init_group(2, 1, 50);
	for (u32 row = 1; row < 12; row++)
		thread_in(row, row, row % 3, 0)->weight = (u32)between(100, 3000);
	for (u32 step = 0; step < 2000; step++) {
		u32 row = 1 + (u32)below(11);

		if (threads[row].counted)
			leaves(row);
		else
			joins(row);
		sharing = groups[1].credited;
		active = members = 0;
		for (u32 i = 1; i < 12; i++) {
			sharing += threads[i].credited;
			active += !!threads[i].counted;
			members += threads[i].group ? threads[i].counted : 0;
			TRUE(!threads[i].credited || (threads[i].counted && !threads[i].group));
		}
		SAME(shared.sharing, sharing);
		SAME(shared.active, active + control);
		SAME(groups[1].members, members);
		SAME(groups[1].threads > 0, members > 0);
		SAME(groups[1].credited > 0, members > 0);
		SAME(groups[2].members, 0);
	}
}

/* What is given out every 30 ms: a CPU's time each, and what the balance is below 0. */
static void credits_are_given_out_every_30_ms(void)
{
	credit_policy();
	thread_in(1, 1, 0, 0);
	joins(1);
	shared.credits_at = now;
	now--;
	rg_credits_give(&shared);
	SAME(shared.earned, 0);
	now++;
	rg_credits_give(&shared);
	SAME(shared.credits_at, now + 30 * MS);
	SAME(shared.balance, 240 * MS);
	SAME(shared.earned, (240 * MS << 23) / NICE_0);
	shared.balance = -10 * MS;
	shared.earned = 0;
	now += 30 * MS;
	rg_credits_give(&shared);
	SAME(shared.balance, 240 * MS);
	SAME(shared.earned, (250 * MS << 23) / NICE_0);
	shared.advanced = 40 * MS;
	shared.balance = 5;
	shared.earned = 0;
	now += 30 * MS;
	rg_credits_give(&shared);
	SAME(shared.earned, (200 * MS << 23) / NICE_0);
	SAME(shared.balance, 200 * MS + 5);
	SAME(shared.advanced, 0);
}

/* Between 30 ms of credit, where a thread stops earning, and of debt. */
static void a_credit_has_bounds(void)
{
	struct rg_thread thread = { .earns = 1 };

	SAME(rg_credits_bound(&thread, ZERO + 30 * MS), ZERO + 30 * MS);
	SAME(thread.earns, 1);
	SAME(rg_credits_bound(&thread, ZERO - 30 * MS - 1), ZERO - 30 * MS);
	SAME(rg_credits_bound(&thread, ZERO - 30 * MS), ZERO - 30 * MS);
	SAME(thread.earns, 1);
	SAME(rg_credits_bound(&thread, ZERO + 30 * MS + 1), ZERO + 30 * MS);
	SAME(thread.earns, 0);
}

/* Two threads of weights 1 and 3 earn by weight while a tick has met them; burning takes it off. */
static void threads_earn_by_weight(void)
{
	u64 unit;

	credit_policy();
	thread_in(1, 1, 0, 0);
	thread_in(2, 2, 0, 0)->weight = 3072;
	thread_in(3, 3, 0, 0);
	for (u32 row = 1; row <= 3; row++)
		joins(row);
	threads[1].earns = threads[2].earns = 1;
	threads[1].credit = threads[2].credit = ZERO - 20 * MS;
	shared.credits_at = now + SECOND;
	shared.balance = 0;
	shared.earned = unit = (8 * MS << 23) / NICE_0;
	for (u32 row = 1; row <= 3; row++)
		rg_credits_settle(&tasks[row]);
	NEAR(threads[1].credit, ZERO - 12.0 * MS, 1e9, 100);
	NEAR(threads[2].credit, ZERO + 4.0 * MS, 1e9, 100);
	SAME(threads[3].credit, ZERO);
	NEAR(-shared.balance, 8.0 * MS, 1e9, 100); /* what the third did not earn is lost to it */
	rg_credits_settle(&tasks[1]);
	NEAR(threads[1].credit, ZERO - 12.0 * MS, 1e9, 100);
	SAME(threads[1].earned, unit);
	rg_credits_burn(&tasks[1], &threads[1], 2 * MS);
	NEAR(threads[1].credit, ZERO - 14.0 * MS, 1e9, 100);
	NEAR(-shared.balance, 10.0 * MS, 1e9, 100);
	threads[1].credit = MS;
	rg_credits_burn(&tasks[1], &threads[1], 2 * MS);
	SAME(threads[1].credit, 0);
	NEAR(-shared.balance, 11.0 * MS, 1e9, 100);
}

/* A sleeper collects in advance, and keeps half of a full credit. */
static void a_sleeper_keeps_half(void)
{
	credit_policy();
	thread_in(1, 1, 0, 0);
	threads[1].earns = 1;
	shared.credits_at = now + SECOND;
	shared.earned = (8 * MS << 23) / NICE_0;
	rg_credits_wake(&tasks[1], &threads[1]);
	NEAR(shared.advanced, 8.0 * MS, 1e9, 100);
	SAME(shared.balance, 0);
	NEAR(threads[1].credit, ZERO + 8.0 * MS, 1e9, 100);
	SAME(threads[1].boosted, 1);
	shared.earned *= 20;
	rg_credits_wake(&tasks[1], &threads[1]);
	SAME(threads[1].credit, ZERO + 15 * MS);
	threads[1].credit = ZERO - 1;
	threads[1].earns = 1;
	rg_credits_wake(&tasks[1], &threads[1]);
	SAME(threads[1].boosted, 0);
	threads[1].earns = 0; /* one that does not earn owes nothing */
	rg_credits_wake(&tasks[1], &threads[1]);
	SAME(threads[1].boosted, 1);
	FALSE(rg_credits_owes(&threads[1]));
}

/* A long time's earnings do not wrap. */
static void earnings_have_a_bound(void)
{
	credit_policy();
	thread_in(1, 1, 0, 0)->weight = 88761;
	joins(1);
	threads[1].earns = 1;
	shared.credits_at = now + SECOND;
	shared.earned = 1ULL << 62;
	rg_credits_settle(&tasks[1]);
	SAME(threads[1].credit, ZERO + 30 * MS);
}

static void a_group_shares_what_it_earns(void)
{
	credit_policy();
	rg_init_group(1, 0, 100);
	rg_init_group(2, 1, 900);
	thread_in(1, 1, 1, 0);
	thread_in(2, 2, 2, 0)->weight = 3072;
	TRUE(rg_credits_group(&threads[2]) == &groups[1]);
	joins(1);
	joins(2);
	SAME(groups[1].members, 4096);
	SAME(groups[1].threads, 2);
	SAME(rg_credits_weight(&tasks[1], &threads[1]), NICE_0 / 4);
	SAME(rg_credits_weight(&tasks[2], &threads[2]), NICE_0 * 3 / 4);
	SAME(shared.sharing, NICE_0);
	thread_in(3, 3, 0, 0);
	TRUE(rg_credits_group(&threads[3]) == 0);
	SAME(rg_credits_weight(&tasks[3], &threads[3]), NICE_0);
	SAME(shared.sharing, NICE_0);
	groups[1].weight = 300; /* from the next that it earns */
	SAME(rg_credits_weight(&tasks[1], &threads[1]), NICE_0 * 3 / 4);
	SAME(shared.sharing, NICE_0 * 3);
}

/* What a thread has moves to and from the balance with it. */
static void the_balance_is_of_active_threads(void)
{
	credit_policy();
	thread_in(1, 1, 0, 0);
	threads[1].credit = ZERO + 5;
	joins(1);
	SAME(shared.balance, 5);
	leaves(1);
	SAME(shared.balance, 0);
	shared.earned = 77;
	thread_in(1, 1, 0, 0);
	SAME(threads[1].earned, 77);
	SAME(threads[1].credit, ZERO);
}

/* One tick in 10 ms ends a boost, and the thread earns from then on. */
static void a_tick_in_ten_ms_counts(void)
{
	struct rg_thread thread = { .boosted = 1 };

	credit_policy();
	now = 40 * MS;
	rg_balance_tick(&cpus[0], &thread);
	SAME(thread.boosted, 0);
	SAME(thread.earns, 1);
	thread.boosted = 1;
	now += 10 * MS - 1;
	rg_balance_tick(&cpus[0], &thread);
	SAME(thread.boosted, 1);
	now++;
	rg_balance_tick(&cpus[0], &thread);
	SAME(thread.boosted, 0);
	options.balance = RG_BALANCE_STEAL; /* credits are of one balance alone */
	thread = (struct rg_thread){ .boosted = 1 };
	now += 10 * MS;
	rg_balance_tick(&cpus[0], &thread);
	SAME(thread.boosted, 1);
	SAME(thread.earns, 0);
}

/* Waiting threads of CPU 0: over, under and boosted, and one that may not run there. */
static void some_classes(void)
{
	credit_policy();
	for (u32 row = 1; row <= 4; row++) {
		thread_in(row, row, 0, 0);
		threads[row].earns = 1;
		put(dsq_of(0), (struct place){ &tasks[row], row, 0 });
	}
	shared.credits_at = now + SECOND;
	threads[1].credit = ZERO - 1;
	threads[3].boosted = threads[4].boosted = 1;
	bind(&tasks[4], 2);
}

static void the_best_class_goes_first(void)
{
	u32 first = 0;

	some_classes();
	SAME(rg_class_best(0, 0, &first), RG_CLASS_BOOST);
	SAME(first, 3);
	threads[3].boosted = 0;
	SAME(rg_class_best(0, 0, &first), RG_CLASS_UNDER);
	SAME(first, 2);
	FALSE(rg_pick_credit_above(0, 0, RG_CLASS_UNDER));
	TRUE(rg_pick_credit_above(0, 0, RG_CLASS_OVER));
	SAME(cpus[0].thread, 2);
	SAME(cpus[0].class, RG_CLASS_UNDER);
	SAME(threads[2].queue, rg_some(0));
	/* A CPU's own thread goes on before those of a lower class. */
	thread_in(9, 9, 0, 0);
	threads[9].boosted = 1;
	FALSE(rg_pick_credit(0, 0, &tasks[9]));
	threads[9].boosted = 0;
	TRUE(rg_pick_credit(0, 0, &tasks[9]));
	SAME(cpus[0].thread, 3);
	TRUE(rg_pick_credit(0, 0, 0));
	SAME(cpus[0].thread, 1);
	FALSE(rg_pick_credit(0, 0, 0));
}

static void a_waking_thread_preempts_a_lower_class(void)
{
	some_classes();
	SAME(rg_preempt_victim_credit(&tasks[2], &threads[2], 0), -1);
	cpus[0].pool = 1;
	cpus[0].class = RG_CLASS_OVER;
	SAME(rg_preempt_victim_credit(&tasks[2], &threads[2], 0), 0);
	rg_class_set_curr(0, &tasks[2], &threads[2]);
	SAME(cpus[0].class, RG_CLASS_UNDER);
	SAME(rg_preempt_victim_credit(&tasks[2], &threads[2], 0), -1);
	options.pick = RG_PICK_THREAD;
	rg_class_set_curr(0, &tasks[1], &threads[1]);
	SAME(cpus[0].class, RG_CLASS_UNDER);
}

/* A CPU without a thread of credit takes one of a better class from the next that has one. */
static void a_better_class_comes_from_another_cpu(void)
{
	some_classes();
	dispatching = 6;
	thread_in(9, 9, 0, 6);
	threads[9].earns = 1;
	FALSE(rg_credit_before(6, &tasks[9]));
	threads[9].credit = ZERO - 1;
	TRUE(rg_credit_before(6, &tasks[9]));
	SAME(cpus[6].thread, 3);
	SAME(shared.pulls, 1);
	TRUE(rg_credit_before(6, &tasks[9]));
	SAME(cpus[6].thread, 2);
	FALSE(rg_credit_before(6, &tasks[9]));
	put(dsq_of(6), (struct place){ &tasks[9], 1, 0 });
	FALSE(rg_credit_before(6, 0));
	dsqs[6].count = 0;
	TRUE(rg_credit_before(6, 0));
	SAME(cpus[6].thread, 1);
	SAME(threads[1].queue, rg_some(6));
}

/* What a thread receives is taken off its credit, where credits are. */
static void a_charge_burns_credit(void)
{
	for (u32 with = 0; with < 2; with++) {
		credit_policy();
		options.balance = with ? RG_BALANCE_CREDIT : RG_BALANCE_STEAL;
		shared.credits_at = now + SECOND;
		thread_in(1, 1, 0, 0);
		tasks[1].exec_ns = 3 * MS;
		rg_charge(&tasks[1], &threads[1]);
		SAME(threads[1].credit, ZERO - with * 3 * MS);
		SAME(shared.balance, -(u64)with * 3 * MS);
	}
}
