/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Targets of domains (balance/target.h), needs (balance/need.h) and pulls (balance/gvts.h). */

/* `gvts` on 8 CPUs in caches of 4: a queue a CPU, domains are caches and the machine. */
static void gvts_policy(void)
{
	rearguard(8, 4);
	options.pick = RG_PICK_THREAD;
	options.queue = RG_QUEUE_CPU;
	options.interval_ns[RG_LEVEL_LLC] = 90 * MS;
	options.min_vruntime = RG_MIN_VRUNTIME_TARGET;
	options.vruntime_cap_ns = RG_NEVER;
	options.promises = 0;
	clear();
	SAME(rg_init(), 0);
}

static struct rg_target *cache(u32 number)
{
	return &cpus[number].targets[RG_LEVEL_LLC];
}

static struct rg_target *machine(void)
{
	return &cpus[0].targets[RG_LEVEL_MACHINE];
}

static u64 at(long long ms)
{
	return RG_VTIME_BEGIN + ms * (long long)MS;
}

static void domains_come_into_being(void)
{
	gvts_policy();
	SAME(rg_target_lowest(), RG_LEVEL_LLC);
	SAME(machine()->cpus, 8);
	SAME(machine()->cpu, 0);
	SAME(cache(0)->cpus, 4);
	SAME(cache(1)->cpus, 4);
	SAME(cache(1)->cpu, 4);
	SAME(cache(0)->at, at(90));
	SAME(machine()->at, at(300));
	SAME(machine()->children, rg_some(1));
	SAME(cache(1)->sibling, rg_some(0));
	SAME(cache(0)->sibling, 0);
	SAME(cache(0)->least, RG_NEVER);
	SAME(shared.least_target, RG_VTIME_BEGIN);
	TRUE(rg_target(5, RG_LEVEL_LLC) == cache(1));
	TRUE(rg_target(5, RG_LEVEL_MACHINE) == machine());
	TRUE(!rg_target(5, RG_LEVEL_NODE));
	memset(options.interval_ns, 0, sizeof(options.interval_ns));
	SAME(rg_target_lowest(), RG_LEVELS);
}

/* The model: the least target of the caches that have threads; the machine's never falls. */
static void the_machines_least_target_is_that_of_busy_caches(void)
{
	u64 least = RG_VTIME_BEGIN;
	u32 busy[2] = {};

	gvts_policy();
	for (u32 step = 0; step < 4000; step++) {
		s32 cpu = (s32)below(8);
		u32 own = cpu / 4, kind = (u32)below(3);
		u64 now_least = RG_NEVER;

		if (kind == 0 && busy[own] < 20)
			SAME(rg_target_queue_busy(cpu), !busy[own]++);
		else if (kind == 1 && busy[own])
			SAME(rg_target_queue_idle(cpu), !--busy[own]);
		else if (busy[own] && !rg_before(cache(!own)->at + 180 * MS, cache(own)->at))
			rg_target_raise(cpu, RG_LEVEL_LLC, cache(own)->at, cache(own)->at);
		for (u32 i = 0; i < 2; i++)
			if (busy[i] && rg_precedes(cache(i)->at, now_least))
				now_least = cache(i)->at;
		if (now_least != RG_NEVER && (long long)(now_least - least) > 0)
			least = now_least;
		SAME(shared.least_target, least + control);
		SAME(cache(0)->busy, busy[0]);
		for (u32 i = 0; i < 2; i++)
			TRUE(!busy[i] || cache(i)->least == cache(i)->at);
	}
}

/* A domain that slept takes up where the others are, on all levels. */
static void a_domain_that_slept_takes_up(void)
{
	gvts_policy();
	shared.least_target = at(1000);
	machine()->at = at(900);
	TRUE(rg_target_queue_busy(5));
	SAME(cache(1)->at, at(1000));
	SAME(machine()->at, at(1000));
	SAME(cache(0)->at, at(90));
	FALSE(rg_target_queue_busy(6));
	cache(0)->at = at(1100);
	TRUE(rg_target_queue_busy(0));
	SAME(cache(0)->at, at(1100));
	FALSE(rg_target_queue_idle(6));
	SAME(cache(1)->least, at(1000));
	TRUE(rg_target_queue_idle(5));
	SAME(cache(1)->least, RG_NEVER);
	SAME(shared.least_target, at(1100));
}

/* Once, by as many intervals as all have passed. */
static void a_target_rises_by_intervals(void)
{
	gvts_policy();
	rg_target_queue_busy(0);
	rg_target_queue_busy(4);
	cache(0)->clear = 3;
	TRUE(rg_target_raise(0, RG_LEVEL_LLC, at(90), at(90)));
	SAME(cache(0)->at, at(180));
	SAME(cache(0)->clear, 0);
	SAME(cache(0)->least, at(180));
	SAME(shared.least_target, at(90));
	FALSE(rg_target_raise(0, RG_LEVEL_LLC, at(90), at(90)));
	TRUE(rg_target_raise(0, RG_LEVEL_LLC, at(180), at(359)));
	SAME(cache(0)->at, at(360));
	TRUE(rg_target_raise(4, RG_LEVEL_MACHINE, at(300), at(600)));
	SAME(machine()->at, at(900));
	SAME(machine()->least, at(90));
	TRUE(rg_target_raise(4, RG_LEVEL_LLC, at(90), at(50)));
	SAME(cache(1)->at, at(180));
	SAME(shared.least_target, at(180));
}

/* A domain three intervals behind, with a heavy thread alone, can do no better. */
static void what_cannot_keep_up_is_left_behind(void)
{
	gvts_policy();
	rg_target_queue_busy(0);
	rg_target_queue_busy(4);
	cpus[4].pool = 1;
	cpus[4].weight = cpus[0].weight = NICE_0;
	rg_target_raise(0, RG_LEVEL_LLC, at(90), at(90 + 180));
	SAME(cache(0)->at, at(360));
	SAME(cache(1)->least, at(90)); /* three intervals ahead: no further */
	rg_target_raise(0, RG_LEVEL_LLC, at(360), at(360));
	SAME(cache(1)->least, RG_NEVER);
	SAME(shared.least_target, at(450));
	rg_target_report(4, cache(1));
	SAME(cache(1)->least, RG_NEVER); /* it counts again once it is no longer behind */
	cache(1)->at = at(450);
	rg_target_report(4, cache(1));
	SAME(cache(1)->least, at(450));
}

static void what_could_keep_up_is_not(void)
{
	for (u32 reason = 0; reason < 4; reason++) {
		gvts_policy();
		rg_target_queue_busy(0);
		rg_target_queue_busy(4);
		cpus[4].pool = cpus[5].pool = 1;
		cpus[4].weight = cpus[5].weight = cpus[0].weight = NICE_0;
		cpus[5].weight -= reason == 0;
		dsqs[6].count = reason == 1;
		options.infeasible = reason != 2;
		rg_target_raise(0, RG_LEVEL_LLC, at(90), at(450));
		SAME(cache(1)->least, reason == 3 ? RG_NEVER : at(90));
	}
}

/* A domain that begins with CPU 0 is looked at as any other. */
static void the_first_domain_is_left_behind(void)
{
	for (u32 light = 0; light < 2; light++) {
		gvts_policy();
		rg_target_queue_busy(0);
		rg_target_queue_busy(4);
		cpus[0].pool = cpus[4].pool = 1;
		cpus[4].weight = NICE_0;
		cpus[0].weight = NICE_0 - light;
		rg_target_raise(4, RG_LEVEL_LLC, at(90), at(450));
		SAME(cache(0)->least, light ? at(90) : RG_NEVER);
	}
}

/* ---- need.h ---- */

/* A thread that waits in the queue of a CPU, behind a virtual time by so much. */
static void waits_behind(u32 row, u32 queue, u64 ms, u64 weight)
{
	thread_in(row, row, 0, (s32)queue);
	threads[row].weight = weight;
	threads[row].utilised = 1024;
	threads[row].woke_at = now;
	threads[row].account.vruntime = at(1000 - (long long)ms);
	put(dsq_of(queue), (struct place){ &tasks[row], row, 0 });
}

static void runs_behind(u32 row, u32 cpu, u64 ms, u64 weight)
{
	thread_in(row, row, 0, (s32)cpu);
	threads[row].utilised = 1024;
	threads[row].woke_at = now;
	cpus[cpu].pool = 1;
	cpus[cpu].thread = row;
	cpus[cpu].weight = weight;
	cpus[cpu].vruntime = at(1000 - (long long)ms);
	cpus[cpu].since = now;
}

static struct rg_need *need(void)
{
	return &cpus[1].needs[0];
}

/* Of all that wait and run, but for what is too heavy. */
static void a_queue_needs_what_its_threads_do(void)
{
	reset(8, 4);
	runs_behind(1, 4, 100, NICE_0);
	runs_behind(2, 5, 50, NICE_0 / 2);
	waits_behind(3, 1, 10, NICE_0);
	waits_behind(4, 1, 40, NICE_0 * 2);
	rg_need_note(1, 0, 4, at(1000));
	NEAR(need()->total_ns, 215.0 * MS, 1000, 0);
	SAME(need()->weight, NICE_0 * 9 / 2);
	SAME(need()->capacity, 4096);
	SAME(need()->last, 4);
	NEAR(rg_need_time(need(), need()->total_ns), 215.0 * MS / 4, 1000, 0);
	threads[4].utilised = 0;
	cpus[6].needs[0].total_ns = 5;
	rg_need_note(1, 1, 4, at(1000));
	NEAR(cpus[1].needs[1].total_ns, 135.0 * MS, 1000, 0);
	SAME(cpus[1].needs[1].last, 3);
	NEAR(need()->total_ns, 215.0 * MS, 1000, 0);
	/* It runs on from when it was last seen. */
	now += 20 * MS;
	rg_need_note(1, 0, 4, at(1000));
	NEAR(need()->total_ns, (80 + 5 + 10 + 25) * 1.0 * MS, 1000, 0);
}

/* A thread that weighs more than a CPU's part does not count, nor does the CPU that it uses. */
static void a_heavy_thread_needs_nothing_more(void)
{
	reset(8, 4);
	runs_behind(1, 4, 100, NICE_0 * 9);
	waits_behind(3, 1, 10, NICE_0);
	threads[1].utilised = 512;
	rg_need_note(1, 0, 4, at(1000));
	NEAR(need()->total_ns, 10.0 * MS, 1000, 0);
	SAME(need()->capacity, 4096 - 512);
	/* As much as a CPU's part is not more. */
	cpus[4].weight = NICE_0;
	waits_behind(4, 1, 0, NICE_0 * 2);
	threads[1].utilised = 1024;
	rg_need_note(1, 0, 4, at(1000));
	SAME(need()->capacity, 4096);
	NEAR(need()->total_ns, 110.0 * MS, 1000, 0);
	cpus[4].weight = NICE_0 + 1;
	cpus[4].pool = 0;
	rg_need_note(1, 0, 4, at(1000));
	SAME(need()->capacity, 4096);
}

/* Of many that wait 32 are asked, and the rest count as these. */
static void many_are_estimated_from_some(void)
{
	reset(8, 4);
	for (u32 row = 1; row <= 96; row++)
		waits_behind(row, 1, row <= 32 ? 10 : 500, NICE_0);
	rg_need_note(1, 0, 4, at(1000));
	NEAR(need()->total_ns, 960.0 * MS, 1000, 0);
	SAME(need()->weight, NICE_0 * 96);
	SAME(need()->last, 32);
	dsq_of(1)->count = 32;
	rg_need_note(1, 0, 4, at(1000));
	NEAR(need()->total_ns, 320.0 * MS, 1000, 0);
}

/* ---- gvts.h ---- */

/* CPU 0 runs what has reached the target; threads wait on CPU 1, so far behind it. */
static void lagging(u32 count, const u64 *behind_ms)
{
	gvts_policy();
	cache(0)->at = at(1000);
	for (u32 i = 0; i < count; i++) {
		waits_behind(i + 1, 1, behind_ms[i], NICE_0);
		rg_index_enter_row(i + 1, 1, threads[i + 1].account.vruntime);
	}
	dispatching = 0;
}

/* It brings the first that needs no more than half; else the last that needs something. */
static void a_pull_evens_two_queues(void)
{
	u64 behind[] = { 60, 20, 10 }, two[] = { 60, 59 }, half[] = { 45, 40, 15 };

	lagging(3, behind);
	SAME(rg_pull_from(0, 1, at(1000), 90 * MS, 27 * MS), RG_NEVER);
	SAME(cpus[0].thread, 2);
	SAME(threads[2].queue, rg_some(0));
	lagging(2, two);
	SAME(rg_pull_from(0, 1, at(1000), 90 * MS, 27 * MS), RG_NEVER);
	SAME(cpus[0].thread, 2);
	lagging(3, half);
	SAME(rg_pull_from(0, 1, at(1000), 90 * MS, 27 * MS), RG_NEVER);
	SAME(cpus[0].thread, 1);
	lagging(1, behind); /* alone it stays: it is what the queue needs */
	SAME(rg_pull_from(0, 1, at(1000), 90 * MS, 27 * MS), 27 * MS);
	lagging(3, behind);
	tasks[2].may = 2;
	SAME(rg_pull_from(0, 1, at(1000), 90 * MS, 27 * MS), RG_NEVER);
	SAME(cpus[0].thread, 3);
}

/* What queues need together must be above the tolerance. */
static void small_needs_are_tolerated(void)
{
	u64 behind[] = { 15, 10 };

	lagging(2, behind);
	NEAR(rg_pull_from(0, 1, at(1000), 90 * MS, 27 * MS), 2.0 * MS, 100, 20000);
	SAME(rg_pull_from(0, 1, at(1000), 90 * MS, 20 * MS), RG_NEVER);
	lagging(2, behind);
	SAME(rg_pull_from(0, 1, at(985), 90 * MS, 20 * MS), 20 * MS);
	SAME(rg_pull_from(0, 0, at(1000), 90 * MS, 20 * MS), 20 * MS);
	SAME(rg_pull_from(1, 1, at(1000), 90 * MS, 20 * MS), 20 * MS);
	queues[1].cpu = 2;
	SAME(rg_pull_from(0, 1, at(1000), 90 * MS, 20 * MS), 20 * MS);
}

/* In dispatch: only a CPU whose threads have reached the target looks; then the target rises. */
static void a_cpu_looks_once_its_threads_have_reached_the_target(void)
{
	u64 behind[] = { 60, 50 };
	struct rg_thread prev = { .account.vruntime = at(999) };

	lagging(2, behind);
	FALSE(rg_gvts_before(0, &prev));
	FALSE(rg_gvts_before(0, 0));
	SAME(cache(0)->at, at(1000));
	prev.account.vruntime = at(1000);
	TRUE(rg_gvts_before(0, &prev));
	SAME(cpus[0].thread, 2);
	SAME(shared.pulls, 1);
	SAME(cache(0)->at, at(1000));
	dsqs[1].count = 0;
	rg_index_leave_row(1);
	machine()->at = at(5000);
	FALSE(rg_gvts_before(0, &prev));
	SAME(cache(0)->at, at(1090));
	SAME(machine()->at, at(5000));
	prev.account.vruntime = at(5001);
	FALSE(rg_gvts_before(0, &prev));
	SAME(cache(0)->at, at(1090 + 44 * 90));
	SAME(machine()->at, at(5300));
	shared.queues = 1;
	options.min_vruntime = RG_MIN_VRUNTIME_MACHINE;
	prev.account.vruntime = at(9000);
	FALSE(rg_gvts_before(0, &prev));
	SAME(machine()->at, at(5300));
}

/* Where a thread waits ahead the target rises no further than that. */
static void a_target_rises_as_far_as_the_least_that_waits(void)
{
	struct rg_thread prev = { .account.vruntime = at(2000) };

	lagging(0, 0);
	waits_behind(1, 2, 0, NICE_0);
	threads[1].account.vruntime = at(1200);
	rg_index_enter_row(1, 2, at(1200));
	machine()->at = at(9000);
	rg_gvts_before(0, &prev);
	SAME(cache(0)->at, at(1270));
	SAME(rg_gvts_least(2, at(1300)), at(1200));
	SAME(rg_gvts_least(2, RG_NEVER), at(1200));
	SAME(rg_gvts_least(3, at(1300)), at(1300));
	SAME(rg_gvts_least(-1, at(1300)), at(1300));
	queues[0].least = at(1100);
	SAME(rg_gvts_least(0, at(1300)), at(1100));
}

/* Of a large machine a look asks 16 CPUs, and the next goes on where it ended. */
static void a_look_goes_on_where_the_last_one_ended(void)
{
	struct rg_thread prev = { .account.vruntime = at(400) };

	gvts_policy();
	options.interval_ns[RG_LEVEL_LLC] = 0;
	machine()->cpus = 40;
	FALSE(rg_gvts_before(0, &prev));
	SAME(machine()->cursor, 16);
	SAME(machine()->clear, 16);
	SAME(machine()->at, at(300));
	rg_gvts_before(0, &prev);
	rg_gvts_before(0, &prev);
	SAME(machine()->cursor, 40);
	SAME(machine()->at, at(600));
	SAME(machine()->clear, 0);
	prev.account.vruntime = at(600);
	rg_gvts_before(0, &prev);
	SAME(machine()->cursor, 16);
}

/* A thread that slept moves up, by how far it was idle; not if the target did not rise. */
static void a_waking_thread_moves_up(void)
{
	struct { u32 utilised; u64 to; } cases[] = {
		{ 0, 955 },	   { 63, 955 },	 { 64, 100 + 801 },
		{ 992, 100 + 26 }, { 993, 100 }, { 512, 100 + 427 },
	};

	for (u32 i = 0; i < 6; i++) {
		struct rg_thread thread = { .utilised = cases[i].utilised };

		gvts_policy();
		shared.least_target = at(1000);
		thread.account.vruntime = at(100);
		rg_balance_place(&thread.account, &thread, &cpus[0], &queues[0]);
		NEAR(thread.account.vruntime - RG_VTIME_BEGIN, (double)cases[i].to * MS, 1e9, MS);
		thread.asleep = at(1000);
		thread.account.vruntime = at(100);
		rg_gvts_place(&thread.account, &thread);
		SAME(thread.account.vruntime, at(100));
		thread.asleep = 0;
		thread.account.vruntime = at(956);
		rg_gvts_place(&thread.account, &thread);
		SAME(thread.account.vruntime, at(956));
	}
}

static void a_sleeping_thread_remembers_the_target(void)
{
	struct rg_thread thread = { .utilised = 0, .woke_at = now - 32 * MS };

	shared.least_target = at(77);
	rg_gvts_block(&thread, now);
	SAME(thread.asleep, at(77));
	SAME(thread.utilised, 512);
}

/* 30% of the interval is tolerated: 27 ms. */
static void a_look_tolerates_a_part_of_the_interval(void)
{
	u64 behind[] = { 13, 13 };

	for (u32 more = 0; more < 2; more++) {
		u64 least = RG_NEVER;
		bool round = 0;

		lagging(2, behind);
		for (u32 row = 1; row <= 2; row++)
			threads[row].account.vruntime -= more ? 550000 : 450000;
		SAME(rg_look(0, RG_LEVEL_LLC, cache(0), at(1000), &least, &round), more);
	}
}

/* The first CPU's queue is pulled from as any other. */
static void threads_of_the_first_queue_are_pulled(void)
{
	struct rg_thread prev = { .account.vruntime = at(1000) };

	gvts_policy();
	cache(0)->at = at(1000);
	for (u32 row = 1; row <= 2; row++) {
		waits_behind(row, 0, 60, NICE_0);
		rg_index_enter_row(row, 0, threads[row].account.vruntime);
	}
	dispatching = 1;
	TRUE(rg_gvts_before(1, &prev));
	SAME(shared.pulls, 1);
	TRUE(cpus[1].thread);
}

/* Without targets a queue's first and last thread concern no domain. */
static void queues_may_have_no_targets(void)
{
	rearguard(8, 4);
	memset(options.interval_ns, 0, sizeof(options.interval_ns));
	clear();
	SAME(rg_init(), 0);
	thread_in(1, 1, 0, 0);
	rg_queue_move(&threads[1], rg_some(1));
	SAME(queues[1].threads, 1);
	FALSE(rg_target_queue_busy(0));
	rg_queue_move(&threads[1], 0);
	SAME(queues[1].threads, 0);
	FALSE(rg_target_queue_idle(0));
}
