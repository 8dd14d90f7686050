/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The index and the choice of the next thread (index/index.h, choose.h, pick/pick.h). */

/* A thread waits in a queue, of a pool that it may share. */
static void pool_waits(u32 row, u32 queue, u32 pool, long long ms, u64 arrival)
{
	thread_in(row, row, 0, (s32)queue * 4);
	threads[row].pool = pool;
	threads[row].weight = NICE_0;
	threads[row].arrival = arrival;
	threads[row].burst_mean_ns = MS;
	threads[row].account = (struct rg_account){ .vruntime = at(ms), .vtime = rg_some(0) };
	put(dsq_of(queue), (struct place){ &tasks[row], arrival, 0 });
	rg_index_enter_row(row, queue, at(ms));
}

/* Who comes to CPU 0, which has no thread of its own; 0: none. */
static u32 next_of(u32 cpu)
{
	dispatching = (s32)cpu;
	return rg_pick_own((s32)cpu, 0) ? cpus[cpu].thread : 0;
}

/* The pool's first thread runs on the pool's least vruntime. */
static void the_first_of_a_pool_runs_on_its_least_vruntime(void)
{
	reset(8, 4);
	pool_waits(1, 0, 4, 50, 100);
	pool_waits(2, 0, 4, 20, 200);
	pool_waits(3, 0, 6, 30, 50);
	threads[1].clocks = queues[0].batch = 1;
	SAME(next_of(0), 1);
	SAME(threads[1].clocks + queues[0].batch, 0); /* it holds the clock no more by waiting */
	SAME(cpus[0].vruntime, at(20));
	SAME(threads[1].account.vruntime, at(20));
	SAME(cpus[0].inversions, 1);
	SAME(threads[1].waits + threads[1].row, 0);
	SAME(threads[1].cpu, 0);
	SAME(next_of(1), 3);
	SAME(cpus[1].vruntime, at(30));
	SAME(cpus[1].inversions, 0);
	SAME(next_of(2), 2);
	SAME(threads[2].account.vruntime, at(50));
	SAME(next_of(3), 0);
	SAME(cpus[2].choices, 1);
	SAME(queues[0].least, RG_NEVER);
	SAME(queues[0].waiting, 0);
}

/* A vruntime whose thread has left is adopted by the next of its pool, or dropped as the least. */
static void orphans_are_adopted_or_dropped(void)
{
	reset(8, 4);
	pool_waits(1, 0, 4, 10, 100);
	pool_waits(2, 0, 4, 20, 200);
	pool_waits(3, 0, 6, 30, 50);
	take(dsq_of(0), position_in(dsq_of(0), 1));
	rg_index_leave_row(1);
	SAME(queues[0].heaps[0].count, 3);
	SAME(queues[0].least, at(10));
	pool_waits(1, 0, 4, 90, 300);
	SAME(queues[0].heaps[0].count, 3); /* it finds one that is left */
	take(dsq_of(0), position_in(dsq_of(0), 1));
	take(dsq_of(0), position_in(dsq_of(0), 2));
	rg_index_leave_row(1);
	rg_index_leave_row(2);
	SAME(queues[0].heaps[0].count, 1);
	SAME(queues[0].least, at(30));
	SAME(queues[0].first, 3);
	SAME(next_of(0), 3);
}

/* Vruntimes without a thread hide one behind them: the CPU asks until it has passed them. */
static void a_thread_behind_many_orphans_is_found(void)
{
	for (u32 behind = 0; behind < 2; behind++) {
		reset(8, 4);
		pool_waits(1, 0, 2, 0, 1);
		for (u32 row = 2; row <= 40; row++)
			pool_waits(row, 0, 2 * row, row, row);
		for (u32 row = 2; row <= 40; row++) {
			rg_pool_unlink(rg_pool_at(rg_number(threads[row].row)), &threads[row]);
			take(dsq_of(0), position_in(dsq_of(0), row));
		}
		if (behind)
			pool_waits(50, 0, 100, 1000, 50);
		SAME(next_of(0), 1);
		SAME(next_of(0), behind ? 50 : 0);
		SAME(queues[0].heaps[0].count, 0);
		SAME(queues[0].least, RG_NEVER);
		SAME(kicks[0][RG_KICK_PREEMPT], 0);
	}
}

/* A thread alone that comes back finds its old vruntime: its own counts, sooner or later. */
static void a_thread_alone_has_its_own_vruntime(void)
{
	reset(8, 4);
	pool_waits(1, 0, 3, 10, 100);
	pool_waits(2, 0, 4, 5, 50);
	take(dsq_of(0), position_in(dsq_of(0), 1));
	rg_index_leave_row(1);
	SAME(queues[0].heaps[0].count, 2);
	pool_waits(1, 0, 3, 40, 100);
	SAME(queues[0].heaps[0].count, 2);
	pool_waits(3, 0, 6, 20, 60);
	SAME(next_of(0), 2);
	SAME(next_of(1), 3);
	SAME(next_of(2), 1);
	SAME(cpus[2].vruntime, at(40));
	pool_waits(1, 0, 3, 40, 100);
	pool_waits(2, 0, 4, 5, 50);
	take(dsq_of(0), position_in(dsq_of(0), 1));
	rg_index_leave_row(1);
	pool_waits(1, 0, 3, 1, 100); /* an earlier one is pushed */
	SAME(queues[0].heaps[0].count, 3);
	SAME(queues[0].least, at(1));
	SAME(next_of(0), 1);
	SAME(cpus[0].vruntime, at(1));
	SAME(next_of(1), 2);
	SAME(next_of(2), 0);
	SAME(queues[0].heaps[0].count, 0);
	reset(8, 4);
	pool_waits(1, 0, 3, -50, 100);
	pool_waits(2, 0, 4, -60, 50);
	take(dsq_of(0), position_in(dsq_of(0), 1));
	rg_index_leave_row(1);
	pool_waits(1, 0, 3, -40, 100); /* it is known where the one is that it has left */
	SAME(queues[0].heaps[0].count, 2);
}

/* Once its old vruntime has been replaced, what it comes with is compared with that. */
static void what_replaced_an_old_vruntime_is_known(void)
{
	reset(8, 4);
	pool_waits(1, 0, 3, -50, 100);
	pool_waits(2, 0, 4, -60, 50);
	take(dsq_of(0), position_in(dsq_of(0), 1));
	rg_index_leave_row(1);
	pool_waits(1, 0, 3, 40, 100);
	SAME(next_of(0), 2);
	pool_waits(5, 0, 8, 10, 50);
	take(dsq_of(0), position_in(dsq_of(0), 5));
	rg_index_leave_row(5);
	SAME(queues[0].least, at(40));
	pool_waits(2, 0, 4, 5, 50);
	take(dsq_of(0), position_in(dsq_of(0), 1));
	rg_index_leave_row(1);
	pool_waits(1, 0, 3, 20, 100);
	SAME(queues[0].heaps[0].count, 3);
	SAME(next_of(0), 2);
	SAME(next_of(0), 1);
	SAME(cpus[0].vruntime, at(20));
}

/* A thread of a set counts there while it waits. */
static void threads_of_sets_are_counted(void)
{
	reset(8, 4);
	thread_in(1, 1, 0, 0);
	threads[1].pool = 4;
	threads[1].cpuset = 7;
	threads[1].batch = 1;
	threads[1].burst = 50 * MS;
	threads[1].burst_mean_ns = MS;
	threads[1].ran_ns = 5 * MS;
	rg_index_enter_row(1, 0, at(5));
	SAME(shared.cpusets[7].waiting, 1);
	SAME(threads[1].waits_cpuset, 7);
	SAME(threads[1].waits, rg_some(0));
	SAME(queues[0].batch, 1);
	SAME(threads[1].clocks, 1);
	SAME(threads[1].runs_on, 1);
	SAME(queues[0].waiting, 1 << 7);
	rg_index_leave_row(1);
	SAME(shared.cpusets[7].waiting, 0);
	SAME(queues[0].batch, 0);
	SAME(threads[1].waits, 0);
	threads[1].batch = 0;
	threads[1].ran_ns = 0;
	rg_index_enter_row(1, 8, at(5));
	SAME(shared.cpusets[7].waiting, 0);
	SAME(threads[1].waits_cpuset, 0);
	SAME(queues[8].batch, 0);
	SAME(threads[1].runs_on, 0);
	rg_index_leave_row(1);
	SAME(shared.cpusets[7].waiting, 0);
}

/* Where there is no room the queue alone knows of a thread. */
static void threads_without_room_are_found_by_a_walk(void)
{
	reset(8, 4);
	queues[0].heaps[0].capacity = 8192; /* no extent is larger */
	queues[0].heaps[0].count = 8192;
	for (u32 row = 1; row <= 4; row++)
		pool_waits(row, 0, row < 3 ? 4 : 2 * row + (row == 4), 50 - row, 100 - row);
	queues[0].heaps[0].count = 0;
	queues[0].least = RG_NEVER;
	SAME(queues[0].unlisted, 4);
	SAME(queues[0].came, 4);
	SAME(threads[1].unlisted, 1);
	SAME(rg_find_unlisted(0, 0, RG_NEVER), 4);
	SAME(rg_find_unlisted(0, 0, at(46)), 0);
	SAME(rg_find_unlisted(0, 0, at(47)), 4);
	tasks[4].may = 2;
	SAME(rg_find_unlisted(0, 0, RG_NEVER), 3);
	tasks[3].may = 2;
	SAME(rg_find_unlisted(0, 0, RG_NEVER), 2);
	SAME(rg_find_unlisted_of(0, 0, 4), 2);
	SAME(rg_find_unlisted_of(0, 0, 99), 0);
	threads[2].arrival = 100;
	put(dsq_of(0), take(dsq_of(0), position_in(dsq_of(0), 2)));
	dsq_of(0)->at[position_in(dsq_of(0), 2)].key = 100;
	SAME(next_of(0), 2);
	SAME(queues[0].unlisted, 3);
	SAME(threads[2].unlisted, 0);
	/* One of the index comes before, if its vruntime is less. */
	pool_waits(7, 0, 70, 10, 500);
	SAME(next_of(0), 7);
	pool_waits(7, 0, 70, 60, 500);
	SAME(next_of(1), 4);
	SAME(queues[0].unlisted, 2);
	SAME(next_of(0), 1);
	SAME(next_of(0), 7);
	SAME(next_of(0), 0);
}

/* A CPU's own queue may have the least; and threads that may not run here are passed by. */
static void a_cpu_has_two_queues(void)
{
	reset(8, 4);
	pool_waits(1, 0, 4, 10, 100);
	pool_waits(2, 8, 6, 5, 100);
	SAME(next_of(0), 2);
	pool_waits(2, 8, 6, 10, 100);
	SAME(next_of(0), 1);
	SAME(queues[0].crowded, rg_some(0));
	SAME(next_of(0), 2);
	pool_waits(2, 8, 6, 5, 100);
	SAME(next_of(1), 0);
	SAME(next_of(0), 2);
	queues[0].crowded = 0;
	pool_waits(1, 0, 4, 10, 100);
	SAME(next_of(0), 1);
	SAME(queues[0].crowded, 0);
}

/* A set that does not admit a CPU is refused once and for all; idle CPUs are woken for it. */
static void a_set_that_does_not_admit_the_cpu_is_refused(void)
{
	reset(8, 4);
	for (u32 row = 1; row <= 2; row++) {
		thread_in(row, row, 0, 0);
		bind(&tasks[row], 6);
		rg_cpuset_refresh(&tasks[row], &threads[row], now);
		threads[row].pool = 2 * row;
		put(dsq_of(0), (struct place){ &tasks[row], row, 0 });
		rg_index_enter_row(row, 0, at(row));
	}
	pool_waits(3, 0, 40, 9, 100);
	cpus[1].pool = 7;
	SAME(next_of(0), 3);
	SAME(kicks[0][RG_KICK_IDLE] + kicks[1][RG_KICK_IDLE], 0);
	SAME(kicks[2][RG_KICK_IDLE], 1);
	TRUE(rg_is_refused(&shared, &cpus[0], threads[1].cpuset));
	SAME(next_of(0), 0);
	SAME(kicks[2][RG_KICK_IDLE], 1);
	SAME(shared.cpusets[threads[1].cpuset].waiting, 2);
	SAME(next_of(2), 1);
	SAME(shared.cpusets[threads[1].cpuset].waiting, 1);
	SAME(next_of(2), 2);
	SAME(shared.cpusets[threads[1].cpuset].waiting, 0);
}

/* A thread that is not there yet is put back; the CPU asks again, at most 8 times in a row. */
static void a_thread_that_is_not_there_yet_is_put_back(void)
{
	reset(8, 4);
	pool_waits(1, 0, 4, 10, 100);
	dsq_of(0)->count = 0;
	for (u32 i = 1; i <= 12; i++) {
		SAME(next_of(0), 0);
		SAME(kicks[0][RG_KICK_PREEMPT], i < 8 ? i : 8);
		SAME(queues[0].least, at(10));
		SAME(cpus[0].pool, 0);
	}
	pool_waits(2, 0, 6, 20, 200);
	SAME(next_of(0), 2);
	put(dsq_of(0), (struct place){ &tasks[1], 100, 0 });
	SAME(next_of(0), 1); /* what was tried for one question may be taken for the next */
	SAME(cpus[0].ask.again, 0);
	SAME(cpus[0].ask.tries + cpus[0].ask.deferred + cpus[0].ask.gone, 0);
}

/* The CPU's own thread: goes on, exchanges its vruntime, or gives way. */
static u32 against(long long mine_ms, u64 arrival, u32 pool)
{
	thread_in(9, 9, 0, 0);
	threads[9].pool = pool;
	threads[9].account = (struct rg_account){ .vruntime = at(mine_ms), .vtime = rg_some(0) };
	threads[9].arrival = arrival;
	threads[9].weight = NICE_0;
	threads[9].burst_mean_ns = MS;
	dispatching = 0;
	return rg_pick_own(0, &tasks[9]) ? cpus[0].thread : 9;
}

static void a_cpus_own_thread_is_compared(void)
{
	reset(8, 4);
	pool_waits(1, 0, 4, 10, 100);
	SAME(against(10, 500, 6), 9);
	SAME(queues[0].least, at(10));
	SAME(against(9, 100, 4), 9);
	SAME(against(9, 101, 4), 1); /* a sibling came earlier: it takes that vruntime over */
	SAME(cpus[0].vruntime, at(9));
	SAME(threads[1].account.vruntime, at(9));
	SAME(queues[0].heaps[0].count, 1); /* its own stays, for the other */
	threads[9].pool = 4;
	threads[9].account.vruntime = at(9);
	rg_index_enter_row(9, 0, at(9));
	SAME(queues[0].heaps[0].count, 1);
	SAME(queues[0].least, at(10));
	reset(8, 4);
	pool_waits(1, 0, 4, 10, 100);
	SAME(against(30, 100, 4), 9); /* it came first: it takes the least for its own */
	SAME(threads[9].account.vruntime, at(10));
	SAME(cpus[0].vruntime, at(10));
	SAME(queues[0].least, at(30));
	vtime_of_all()->shift = 5; /* it is without what its virtual time was moved by */
	SAME(against(40, 100, 4), 9);
	SAME(cpus[0].vruntime, at(30) + 5);
	SAME(rg_heap_at(&queues[0].heaps[0], 0)->vruntime, at(40) - 5);
	vtime_of_all()->shift = 0;
	rg_heap_at(&queues[0].heaps[0], 0)->vruntime = at(30);
	SAME(against(40, 101, 4), 1);
	SAME(cpus[0].vruntime, at(30));
	pool_waits(1, 0, 4, 10, 100);
	SAME(against(11, 5, 6), 1);
	pool_waits(1, 0, 4, 10, 100);
	thread_in(9, 9, 0, 0);
	threads[9].owes_ns = 5; /* who owes takes no sibling's vruntime */
	threads[9].pool = 4;
	threads[9].account.vruntime = at(30);
	threads[9].arrival = 50;
	SAME(rg_pick_own(0, &tasks[9]), 1);
}

/* Batch threads stay on their CPU while that lets them go early by no more than 10 ms. */
static void batch_stays(u32 row, u32 cpu)
{
	threads[row].batch = 1;
	threads[row].woke_at = now - SECOND;
	threads[row].cpu = cpu;
}

static void batch_threads_stay_on_their_cpu(void)
{
	long long ms[] = { 20, 20, 21, 15 };

	for (u32 i = 0; i < 4; i++) {
		reset(8, 4);
		pool_waits(1, 0, 3, 10, 100);
		pool_waits(2, 0, 5, ms[i], 100);
		batch_stays(1, 3);
		batch_stays(2, 0);
		if (i == 1)
			threads[2].woke_at = now - 50 * MS;
		if (i == 3)
			threads[1].owes_ns = 1;
		if (i == 3)
			cpus[0].ask.deferred = 0;
		threads[1].owes_ns = 0;
		threads[1].cpu = i == 3 ? 0 : 3;
		SAME(next_of(0), i ? 1 : 2);
	}
	/* Not before those that are bound to the CPU. */
	reset(8, 4);
	pool_waits(1, 0, 3, 10, 100);
	pool_waits(2, 0, 5, 20, 100);
	pool_waits(3, 8, 6, 19, 100);
	batch_stays(1, 3);
	batch_stays(2, 0);
	SAME(next_of(0), 1);
	/* The CPU's own one stays before both. */
	for (u32 i = 0; i < 2; i++) {
		reset(8, 4);
		pool_waits(1, 0, 3, 10, 100);
		batch_stays(1, 3);
		thread_in(9, 9, 0, 0);
		threads[9].weight = NICE_0;
		threads[9].pool = 19;
		threads[9].account.vruntime = at(20) + i;
		threads[9].account.vtime = rg_some(0);
		batch_stays(9, 0);
		cpus[0].ask.cpu = 0;
		SAME(rg_pick_own(0, &tasks[9]), i);
	}
	reset(8, 4);
	options.sticky_ns = 0;
	pool_waits(1, 0, 3, 10, 100);
	pool_waits(2, 0, 5, 10, 100);
	batch_stays(1, 3);
	batch_stays(2, 0);
	SAME(next_of(0), 1);
}

/* A thread that owes pays when its turn comes, and waits on, at the present weight. */
static void a_thread_that_owes_waits_on(void)
{
	reset(8, 4);
	pool_waits(1, 0, 3, 10, 100);
	pool_waits(2, 0, 6, 50, 200);
	threads[1].owes_ns = 100 * MS;
	threads[1].top = 1024;
	threads[1].counted = 1024;
	threads[1].weight = NICE_0 * 4; /* it has less now */
	SAME(next_of(0), 2);
	SAME(threads[1].account.vruntime, at(110));
	SAME(threads[1].owes_ns, 0);
	SAME(threads[1].instalments, 1);
	SAME(next_of(0), 1);
	SAME(cpus[0].vruntime, at(110));
	pool_waits(1, 0, 3, 10, 100);
	pool_waits(2, 0, 6, 50, 200);
	threads[1].owes_ns = 100 * MS;
	threads[1].top = 64 * 1024;
	threads[1].counted = 1024;
	threads[1].group = 0;
	SAME(next_of(0), 2);
	TRUE(threads[1].owes_ns > 0);
	TRUE(threads[1].instalments >= 4);
}

/* The longest waiter goes first in every 16th choice, on the min_vruntime, and waits anew. */
static void who_has_waited_for_six_seconds_goes_first(void)
{
	reset(8, 4);
	for (u32 row = 1; row <= 3; row++) {
		pool_waits(row, 0, 2 * row, row == 1 ? -500 : 10, row);
		threads[row].woke_at = now;
	}
	threads[1].woke_at = now - 6 * SECOND;
	threads[1].account.vruntime = at(900);
	cpus[0].choices = 15;
	vtime_of_all()->min_vruntime = at(1000);
	options.promises = 0;
	threads[2].woke_at = now - 7 * SECOND;
	tasks[1].may = 2;
	SAME(rg_find_overdue(0, 0), 0); /* it asks with what it asked last */
	cpus[0].ask.now = now;
	SAME(rg_find_overdue(0, 0), 0);
	threads[1].woke_at--;
	SAME(rg_find_overdue(0, 0), 2);
	SAME(rg_find_overdue(1, 0), 0);
	cpus[1].ask.now = now;
	SAME(rg_find_overdue(1, 0), 1);
	SAME(next_of(0), 2);
	SAME(threads[2].account.vruntime, at(1000));
	SAME(threads[2].woke_at, now);
	SAME(threads[2].arrival, now);
	SAME(threads[2].waits, 0);
	cpus[1].choices = 15;
	options.starvation_limit = 0;
	threads[1].batch = 0;
	SAME(rg_pick_starving(1, &cpus[1], 0), 0);
	options.starvation_limit = 1;
	SAME(rg_pick_starving(1, &cpus[1], 0), 0);
	cpus[1].choices = 32;
	dispatching = 1;
	SAME(rg_pick_starving(1, &cpus[1], 0), 1);
	SAME(cpus[1].hurry, 0);
	/* A batch thread waits since it entered the queue. */
	threads[3].batch = 1;
	threads[3].woke_at = 0;
	threads[3].queued_at = now - 6 * SECOND;
	FALSE(rg_has_waited_long(&threads[3], now));
	TRUE(rg_has_waited_long(&threads[3], now + 1));
	/* What it has used until now counts. */
	threads[3].utilised = 0;
	threads[3].woke_at = now - 32 * MS;
	rg_wait_anew(&threads[3], now);
	SAME(threads[3].utilised, 512);
	SAME(threads[3].woke_at, now);
}
