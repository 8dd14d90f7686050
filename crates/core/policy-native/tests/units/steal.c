/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work that comes from other queues (balance/steal.h, fork.h, dwrr.h; balance/gvts.h of caches). */

/* A thread waits in a queue, in the index and for the kernel. */
static void enters(u32 row, u32 queue, u64 vruntime)
{
	thread_in(row, row, 0, (s32)queue);
	threads[row].account.vruntime = vruntime;
	threads[row].account.vtime = rg_some(0);
	threads[row].pool = row << 1;
	threads[row].weight = NICE_0;
	put(dsq_of(queue), (struct place){ &tasks[row], row, 0 });
	rg_index_enter_row(row, queue, vruntime);
}

/* 16 CPUs in caches of two, four a node. */
static void eight_caches(void)
{
	reset(16, 2);
	per_node = 4;
	dispatching = 4;
}

static void an_idle_cpu_takes_from_its_node_first(void)
{
	eight_caches();
	enters(1, 4, 5);
	enters(2, 3, 5);
	TRUE(rg_steal(4));
	SAME(cpus[4].thread, 2);
	SAME(shared.pulls, 1);
	TRUE(rg_steal(4));
	SAME(cpus[4].thread, 1);
	FALSE(rg_steal(4));
	enters(3, 2, 5); /* its own queue is no other */
	FALSE(rg_steal(4));
	enters(1, 0, 5);
	options.balance = RG_BALANCE_NONE;
	FALSE(rg_steal(4));
	cpus[4].hint = rg_some(0);
	TRUE(rg_steal(4));
	SAME(cpus[4].thread, 1);
	SAME(cpus[4].hint, 0);
	SAME(shared.pulls, 3);
	options.balance = RG_BALANCE_GVTS;
	enters(1, 0, 5);
	shared.queues = 1;
	FALSE(rg_steal(4));
}

static void a_woken_cpu_takes_what_it_was_woken_for(void)
{
	eight_caches();
	enters(1, 3, 5);
	enters(2, 6, 5);
	FALSE(rg_wake_for(-1, rg_some(6)));
	TRUE(rg_wake_for(4, rg_some(6)));
	SAME(cpus[4].hint, rg_some(6));
	SAME(kicks[4][RG_KICK_IDLE], 1);
	TRUE(rg_steal(4));
	SAME(cpus[4].thread, 2);
	cpus[4].hint = rg_some(6);
	TRUE(rg_steal(4));
	SAME(cpus[4].thread, 1);
	enters(3, 2, 5);
	cpus[4].hint = rg_some(2);
	FALSE(rg_steal_hinted(&cpus[4], 4, RG_NEVER));
	SAME(cpus[4].hint, 0);
	enters(1, 6, 100);
	cpus[4].hint = rg_some(6);
	FALSE(rg_steal_hinted(&cpus[4], 4, 100));
	cpus[4].hint = rg_some(6);
	TRUE(rg_steal_hinted(&cpus[4], 4, 101));
}

/* Of more than 8 others it asks 8 at a time, and asks again until it has been round. */
static void a_cpu_asks_eight_queues_at_a_time(void)
{
	reset(16, 1);
	dispatching = 0;
	FALSE(rg_steal(0));
	SAME(cpus[0].asked, 8);
	SAME(kicks[0][RG_KICK_IDLE], 1);
	enters(1, 8, 5);
	FALSE(rg_steal(0));
	SAME(cpus[0].asked, 0);
	SAME(kicks[0][RG_KICK_IDLE], 1);
	TRUE(rg_steal(0));
	SAME(cpus[0].thread, 1);
	enters(1, 15, 5);
	FALSE(rg_steal(0));
	TRUE(rg_steal(0));
	SAME(cpus[0].asked, 0);
	reset(9, 1);
	FALSE(rg_steal(0));
	SAME(cpus[0].asked, 0);
	SAME(kicks[0][RG_KICK_IDLE], 0);
	SAME(rg_queue_after(7, 1, 9), 8);
	SAME(rg_queue_after(7, 2, 9), 0);
}

static void only_lesser_vruntimes_are_taken_where_there_is_a_limit(void)
{
	eight_caches();
	enters(1, 3, RG_VTIME_BEGIN + 100);
	FALSE(rg_steal_next(&cpus[4], 4, 8, 1, RG_VTIME_BEGIN + 100));
	TRUE(rg_steal_next(&cpus[4], 4, 8, 1, RG_VTIME_BEGIN + 101));
	enters(1, 3, RG_VTIME_BEGIN + 100);
	FALSE(rg_steal_next(&cpus[4], 4, 8, 0, RG_NEVER));
	TRUE(rg_steal_next(&cpus[4], 4, 8, 1, RG_NEVER));
}

/* A CPU that is far ahead takes from a queue that is further behind than caches may be. */
static void a_cpu_far_ahead_takes_from_a_queue_far_behind(void)
{
	struct rg_thread prev = { .account.vruntime = at(1000) };

	for (u32 reason = 0; reason < 6; reason++) {
		eight_caches();
		enters(1, 6, at(699));
		shared.cpusets[0].vtime.min_vruntime = at(reason == 1 ? 700 : 699);
		if (reason == 2)
			enters(2, 2, at(999));
		if (reason == 3)
			enters(2, 16 + 4, at(999));
		if (reason == 4)
			shared.queues = 1;
		if (reason == 5)
			options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
		SAME(rg_gvts_far_behind(4, &prev), !reason);
		SAME(shared.pulls, !reason);
	}
	eight_caches();
	enters(1, 6, at(700));
	shared.cpusets[0].vtime.min_vruntime = at(0);
	FALSE(rg_gvts_far_behind(4, &prev));
	FALSE(rg_gvts_far_behind(4, 0)); /* it has none at all: that is rg_steal's */
}

/* What waits for it is that of sets that admit it. */
static void the_least_here_is_what_the_cpu_may_take(void)
{
	eight_caches();
	enters(1, 2, at(500));
	SAME(rg_gvts_least_here(4), at(500));
	thread_in(2, 2, 0, 4);
	bind(&tasks[2], 3 << 6);
	rg_cpuset_refresh(&tasks[2], &threads[2], now);
	rg_index_enter_row(2, 2, at(300));
	SAME(rg_gvts_least_here(4), at(300));
	rg_refuse(&shared, &cpus[4], threads[2].cpuset);
	SAME(rg_gvts_least_here(4), at(500));
	SAME(rg_least_for(5, 2), at(300));
}

/* A thread moves between two caches if they then reach the next target at nearer times. */
static void a_pull_between_caches_evens_them(void)
{
	for (u32 with = 0; with < 2; with++) {
		reset(8, 4);
		dispatching = 0;
		for (u32 row = 1; row <= 6; row++) {
			enters(row, 1, at(1000 - 100));
			threads[row].utilised = 1024;
			threads[row].woke_at = now;
		}
		for (u32 row = 7; with && row <= 12; row++) {
			enters(row, 0, at(1000 - 90));
			threads[row].utilised = 1024;
		}
		cpus[0].pool = 1;
		SAME(rg_pull_from(0, 4, at(1000), 300 * MS, 90 * MS), with ? 90 * MS : RG_NEVER);
	}
}

/* Whether one move brings two queues nearer; of times of 10 and 4 a move of 3 does, of 6 not. */
static void two_queues_are_nearer_after_a_move(void)
{
	struct rg_cpu *here = &cpus[0];

	reset(8, 4);
	here->needs[0] = (struct rg_need){ .total_ns = 10 * MS, .capacity = 1024 };
	here->needs[1] = (struct rg_need){ .total_ns = 4 * MS, .capacity = 1024 };
	for (u64 moved = 1; moved < 9; moved++) {
		reset(8, 4);
		here->needs[0] = (struct rg_need){ .total_ns = 10 * MS, .capacity = 1024 };
		here->needs[1] = (struct rg_need){ .total_ns = 4 * MS, .capacity = 1024 };
		enters(1, 1, at(1000) - moved * MS);
		if (moved != 6)
			SAME(rg_pull_evens(here, &queues[1], at(1000)), moved < 6);
	}
	/* To change places is not to be nearer. */
	reset(8, 4);
	enters(1, 1, at(1000 - 6));
	here->needs[0].capacity = here->needs[1].capacity = 1024;
	here->needs[1].total_ns = 4 * MS;
	here->needs[0].total_ns = 4 * MS + rg_need_of(at(1000 - 6), NICE_0, 1024, at(1000));
	FALSE(rg_pull_evens(here, &queues[1], at(1000)));
	here->needs[0].total_ns++;
	TRUE(rg_pull_evens(here, &queues[1], at(1000)));
	here->needs[0] = (struct rg_need){ .total_ns = 10 * MS, .capacity = 1024 };
	here->needs[1].capacity = 2048; /* the other takes half as long, and has 8 to go */
	here->needs[1].total_ns = 4 * MS;
	enters(2, 1, at(1000) - 12 * MS);
	FALSE(rg_pull_evens(here, &queues[1], at(1000)));
	here->needs[0].total_ns = 12 * MS;
	TRUE(rg_pull_evens(here, &queues[1], at(1000)));
}

/* ---- fork.h ---- */

static void a_new_thread_goes_to_the_emptiest_queue(void)
{
	struct task_struct *t;

	eight_caches();
	t = thread_in(1, 1, 0, 0);
	for (u32 id = 0; id < 8; id++)
		queues[id].threads = 3;
	queues[5].threads = queues[6].threads = 1;
	TRUE(rg_queue_of(rg_fork_cpu(t, 0)) == 5 || rg_queue_of(rg_fork_cpu(t, 0)) == 6);
	t->may = 3 << 10;
	SAME(rg_queue_of(rg_fork_cpu(t, 0)), 5);
	t->may = 3 << 12;
	SAME(rg_queue_of(rg_fork_cpu(t, 0)), 6);
	t->may = ALL_CPUS;
	queues[1].threads = 0;
	SAME(rg_fork_cpu(t, 3), 3);
	SAME(rg_queue_of(rg_fork_cpu(t, 0)), 1);
	shared.queues = 1;
	SAME(rg_fork_cpu(t, 5), 5);
	SAME(shared.spread, 0);
	/* By strides: of equal queues the first that is met. */
	shared.queues = 8;
	for (u32 id = 0; id < 8; id++)
		queues[id].threads = 3;
	SAME(rg_fork_cpu(t, 3), 0);
	queues[0].threads = 4;
	SAME(rg_fork_cpu(t, 3), 5);
	options.balance = RG_BALANCE_NONE;
	SAME(rg_balance_fork(t, 7), 7);
	options.balance = RG_BALANCE_STEAL;
	SAME(rg_balance_fork(t, 7), 5);
}

/* ---- dwrr.h ---- */

static void a_round_takes_what_has_not_used_it_up(void)
{
	rearguard(8, 1);
	options.balance = RG_BALANCE_DWRR;
	options.pick = RG_PICK_THREAD;
	options.order = RG_ORDER_VTIME;
	options.queue = RG_QUEUE_CPU;
	options.interval_ns[RG_LEVEL_MACHINE] = 30 * MS;
	options.min_vruntime = RG_MIN_VRUNTIME_TARGET;
	clear();
	SAME(rg_init(), 0);
	dispatching = 0;
	enters(1, 3, at(30));
	SAME(rg_pull_from(0, 3, at(30), 30 * MS, 7), 7);
	FALSE(rg_dwrr_take(0, 3, at(30)));
	SAME(rg_pull_from(0, 3, at(31), 30 * MS, 7), RG_NEVER);
	SAME(cpus[0].thread, 1);
	FALSE(rg_dwrr_take(0, 3, at(31)));
	threads[1].account.vruntime = at(0) - 5;
	rg_balance_place(&threads[1].account, &threads[1], &cpus[0], &queues[0]);
	SAME(threads[1].account.vruntime, at(0));
	threads[1].account.vruntime = at(7);
	rg_balance_place(&threads[1].account, &threads[1], &cpus[0], &queues[0]);
	SAME(threads[1].account.vruntime, at(7));
}

/* ---- queue.h ---- */

/* A thread counts where it runs or waits; a queue's first and last are told to its domain. */
static void threads_of_a_queue_are_counted(void)
{
	struct rg_target *domain;

	reset(8, 4);
	domain = rg_target(0, RG_LEVEL_MACHINE);
	thread_in(1, 1, 0, 0);
	thread_in(2, 2, 0, 0);
	rg_queue_move(&threads[1], rg_some(1));
	rg_queue_move(&threads[1], rg_some(1));
	rg_queue_move(&threads[2], rg_some(1));
	SAME(queues[1].threads, 2);
	SAME(domain->busy, 1);
	rg_queue_move(&threads[1], rg_some(0));
	SAME(queues[1].threads, 1);
	SAME(domain->busy, 2);
	rg_queue_move(&threads[1], 0);
	SAME(queues[0].threads, 0);
	SAME(domain->busy, 1);
	rg_queue_move(&threads[2], 0);
	SAME(domain->busy, 0);
	FALSE(rg_is_waited_in(0));
	queues[0].unlisted = 1;
	TRUE(rg_is_waited_in(0));
	queues[0].capacity = 0;
	FALSE(rg_is_waited_in(0));
	queues[1].least = 5;
	TRUE(rg_is_waited_in(1));
	cpus[0].follower = 3;
	SAME(rg_follower(&cpus[0]), 3);
	cpus[0].thread = 3;
	SAME(rg_follower(&cpus[0]), 0);
	cpus[0].thread = 4;
	options.direct = 0;
	SAME(rg_follower(&cpus[0]), 0);
}

/* Only what waits beyond of a set of CPUs makes a CPU look for it: sets may be 10 ms apart. */
static void sets_that_wait_beyond_are_fetched_early(void)
{
	struct rg_thread prev = { .account.vruntime = at(1000) };

	for (u32 set = 0; set < 3; set++) {
		eight_caches();
		enters(1, 6, at(900));
		shared.cpusets[0].vtime.min_vruntime = at(600);
		cpus[4].span.beyond = 1ULL << set;
		SAME(rg_gvts_far_behind(4, &prev), !!set);
	}
	for (u32 more = 0; more < 2; more++) {
		eight_caches();
		enters(1, 6, at(990) - more);
		cpus[4].span.beyond = 1 << 1;
		SAME(rg_gvts_far_behind(4, &prev), more);
	}
}

/* On a large machine the next search for an empty queue begins where the last one ended. */
static void a_search_for_a_new_threads_cpu_goes_on(void)
{
	reset(8, 4);
	options.cpus = per_node = 40;
	options.stride = 7;
	queues[0].threads = 1;
	shared.spread = 3;
	thread_in(1, 1, 0, 0);
	rg_fork_cpu(&tasks[1], 0);
	SAME(shared.spread, (3 + 32 * 7) % 40);
}

/* Two caches are enough to be held together. */
static void two_queues_are_held_together(void)
{
	struct rg_thread prev = { .account.vruntime = at(1000) };

	reset(8, 4);
	dispatching = 0;
	enters(1, 1, at(699));
	shared.cpusets[0].vtime.min_vruntime = at(699);
	TRUE(rg_gvts_far_behind(0, &prev));
	reset(8, 4);
	prev.account.vruntime = at(301);
	FALSE(rg_gvts_before(0, &prev));
	SAME(machine()->at, at(600));
}
