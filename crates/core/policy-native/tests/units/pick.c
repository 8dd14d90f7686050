/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a CPU shows and takes once it has chosen (pick/pick.h, pick/starvation.h). */

/* What a CPU shows after a choice that failed: its own thread again, or none. */
static void a_cpu_shows_its_own_thread_again(void)
{
	reset(8, 4);
	thread_in(9, 9, 0, 0);
	threads[9].pool = 6;
	cpus[0].ask.mine = 9;
	cpus[0].ask.vruntime = at(30);
	rg_pick_restore_curr(&cpus[0]);
	SAME(cpus[0].thread, 9);
	SAME(cpus[0].pool, 6);
	SAME(cpus[0].vruntime, at(30));
	cpus[0].ask.mine = 0;
	rg_pick_restore_curr(&cpus[0]);
	SAME(cpus[0].pool, 0);
}

/* It weighs what its group is worth now. */
static void a_picked_thread_is_weighed_anew(void)
{
	reset(8, 4);
	pool_waits(1, 0, 4, 10, 100);
	threads[1].counted = 1024;
	threads[1].weight = 7;
	SAME(next_of(0), 1);
	SAME(threads[1].weight, NICE_0);
	SAME(cpus[0].ask.pick.key, rg_pool_key(4, 0, 0)); /* where it would be put back */
}

/* A pool whose last vruntime is dropped gives its row back. */
static void a_pool_without_vruntimes_leaves_its_row(void)
{
	u32 row;

	reset(8, 4);
	pool_waits(1, 0, 4, 10, 100);
	row = threads[1].row;
	rg_index_leave_row(1);
	TRUE(rg_pool_at(rg_number(row))->key & RG_POOL_EMPTY);
	SAME(queues[0].heaps[0].count, 0);
}

/* What comes from another queue is compared with no thread that the CPU asked for before. */
static void another_queue_is_asked_without_an_own_thread(void)
{
	reset(8, 4);
	pool_waits(1, 1, 4, 50, 100);
	thread_in(9, 9, 0, 0);
	threads[9].pool = 20;
	threads[9].account.vruntime = at(10);
	rg_ask_for(&cpus[0], 0, &tasks[9]);
	dispatching = 0;
	TRUE(rg_pick_other(0, 1));
	SAME(cpus[0].thread, 1);
	SAME(cpus[0].ask.mine, 0);
}

/* A thread that left meanwhile, or may not run here any more, is not taken. */
static void a_thread_that_cannot_be_moved_is_not_taken(void)
{
	reset(8, 4);
	pool_waits(1, 0, 4, 10, 100);
	threads[1].woke_at = now - 7 * SECOND;
	threads[1].counted = 1024;
	threads[1].weight = 7;
	cpus[0].ask.now = now;
	no_moves = 1;
	FALSE(rg_pick_row(0, 0, 1));
	FALSE(rg_pick_overdue(0, 0));
	SAME(cpus[0].thread, 0);
	SAME(threads[1].waits, rg_some(0));
	no_moves = 0;
	TRUE(rg_pick_overdue(0, 0));
	SAME(cpus[0].thread, 1);
	SAME(threads[1].weight, NICE_0);
}

/* A thread that is back with another set says nothing of the set that it was found in. */
static void a_thread_that_comes_back_with_another_set_refuses_none(void)
{
	u32 set;

	reset(8, 4);
	thread_in(1, 1, 0, 0);
	bind(&tasks[1], 6);
	rg_cpuset_refresh(&tasks[1], &threads[1], now);
	threads[1].pool = 2;
	put(dsq_of(0), (struct place){ &tasks[1], 1, 0 });
	rg_index_enter_row(1, 0, at(1));
	set = threads[1].cpuset;
	threads[1].cpuset++;
	SAME(next_of(0), 0);
	FALSE(rg_is_refused(&shared, &cpus[0], set));
	threads[1].cpuset--;
	SAME(next_of(0), 0);
	TRUE(rg_is_refused(&shared, &cpus[0], set)); /* the control */
}

/* While a thread has waited for 12 s every second choice looks. */
static void late_threads_are_looked_for_more_often(void)
{
	reset(8, 4);
	for (u32 row = 1; row <= 3; row++) {
		pool_waits(row, 0, 4 * row, 10, 100 * row);
		threads[row].woke_at = now - 12 * SECOND;
	}
	cpus[0].ask.now = now;
	dispatching = 0;
	cpus[0].choices = 16;
	TRUE(rg_pick_starving(0, &cpus[0], 0));
	SAME(cpus[0].hurry, 0);
	cpus[0].choices = 18;
	FALSE(rg_pick_starving(0, &cpus[0], 0)); /* the control: nobody has waited for so long */
	cpus[0].ask.now = ++now;
	cpus[0].choices = 32;
	TRUE(rg_pick_starving(0, &cpus[0], 0));
	SAME(cpus[0].hurry, 14);
	cpus[0].choices = 33;
	FALSE(rg_pick_starving(0, &cpus[0], 0));
	SAME(cpus[0].hurry, 14);
	cpus[0].choices = 34;
	TRUE(rg_pick_starving(0, &cpus[0], 0));
	cpus[0].choices = 36;
	FALSE(rg_pick_starving(0, &cpus[0], 0)); /* none is left */
	SAME(cpus[0].hurry, 0);
}

/* Where each queue has a virtual time, a thread keeps its distance when it changes its queue. */
static void a_thread_of_another_queue_is_renormalised(void)
{
	reset(8, 4);
	options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
	pool_waits(1, 1, 4, 1050, 100);
	threads[1].account.vtime = rg_some(1);
	queues[1].vtime.min_vruntime = at(1000);
	dispatching = 0;
	TRUE(rg_pick_other(0, 1));
	SAME(threads[1].account.vruntime, at(50));
	SAME(threads[1].account.vtime, rg_some(0));
}

/* A walk is for threads that no heap has, of a CPU that has none of its own. */
static void a_walk_finds_what_is_not_listed(void)
{
	reset(8, 4);
	pool_waits(1, 0, 4, 10, 100);
	pool_waits(2, 0, 4, 20, 200);
	SAME(rg_find_unlisted_of(0, 0, 4), 0);
	threads[2].unlisted = 1;
	SAME(rg_find_unlisted_of(0, 0, 4), 2);
	reset(8, 4);
	queues[0].heaps[0].capacity = 8192; /* no extent is larger */
	queues[0].heaps[0].count = 8192;
	pool_waits(1, 0, 4, 10, 100);
	queues[0].heaps[0].count = 0;
	queues[0].least = RG_NEVER;
	SAME(against(5, 100, 6), 9);
	SAME(queues[0].unlisted, 1);
}

/* Each question may ask for as many instalments as the last. */
static void a_question_begins_without_instalments(void)
{
	reset(8, 4);
	cpus[0].ask.deferred = cpus[0].ask.tries = 5;
	cpus[0].ask.gone = 1;
	rg_ask_for(&cpus[0], 0, 0);
	SAME(cpus[0].ask.deferred + cpus[0].ask.tries + cpus[0].ask.gone, 0);
}

/* What a CPU runs is compared with what waits, also where it has just been given way to. */
static void a_dispatch_compares_what_runs(void)
{
	reset(8, 4);
	sleeper(1, 0, 0);
	wakes(1);
	SAME(dispatches(0, 0), 1);
	tasks[1].runnable = 0; /* it blocks: none is compared */
	passes(1, MS);
	pool_waits(2, 0, 4, 9000, 100);
	SAME(dispatches(0, 1), 2);
	SAME(cpus[0].ask.mine, 0);
}

/* What runs gives way to a bound thread that is later, where it may go to an idle CPU. */
static void a_dispatch_lets_what_runs_give_way(void)
{
	for (u32 none = 0; none < 2; none++) {
		two_sets();
		options.balance = none ? RG_BALANCE_NONE : RG_BALANCE_GVTS;
		set_waits(2, 8, 0, 1000);
		runs_of(3, 0, 500);
		threads[3].counted = 1024;
		tasks[3].runnable = 1;
		idle = 1 << 3;
		SAME(dispatches(0, 3), none ? 3 : 2);
		SAME(kicks[3][RG_KICK_IDLE], !none);
	}
}

/* Only a thread that wakes passes by: one that has had its turn waits with the others. */
static void a_thread_that_does_not_wake_passes_by_none(void)
{
	for (u32 wakes_up = 0; wakes_up < 2; wakes_up++) {
		reset(8, 4);
		sleeper(1, 0, 0);
		runs(2, 0, 0, 0, NICE_0);
		bind(&tasks[1], 1);
		threads[1].burst_mean_ns = 50000;
		rg_activate(&tasks[1], &threads[1], 0, now);
		cpus[0].vruntime = threads[1].account.vruntime;
		rg_enqueue(&tasks[1], wakes_up ? RG_ENQUEUE_WAKEUP : 0);
		SAME(dsq_of(LOCAL(0))->count, wakes_up);
		SAME(threads[1].waits != 0, !wakes_up);
	}
}

/* A heap in an extent, where thread 1 waits; answers where the heap's own rows are. */
static u32 heap_in_an_extent(struct rg_heap *heap)
{
	u32 own;

	reset(8, 4);
	own = heap->base;
	heap->base = RG_EXTENTS_BEGIN;
	pool_waits(1, 0, 4, 10, 100);
	return own;
}

/* A heap whose last thread leaves the index gives its extent back. */
static void a_heap_without_threads_leaves_its_extent(void)
{
	struct rg_heap *heap = &queues[0].heaps[0];
	u32 own = heap_in_an_extent(heap);

	SAME(heap->base, RG_EXTENTS_BEGIN);
	rg_index_leave_row(1);
	SAME(heap->base, own);
}

/* A thread alone runs on its own vruntime if an earlier one was left; of a pool on that. */
static void a_picked_thread_runs_on_what_is_its_own(void)
{
	for (u32 alone = 0; alone < 2; alone++) {
		reset(8, 4);
		pool_waits(1, 0, 4 + alone, 40, 100);
		cpus[0].ask.pick = (struct rg_listing){ .slot = 1, .vruntime = at(10) };
		SAME(rg_pick_settle(0, 0), RG_TAKEN);
		SAME(threads[1].account.vruntime, at(alone ? 40 : 10));
		SAME(cpus[0].vruntime, at(alone ? 40 : 10));
		SAME(cpus[0].inversions, !alone);
	}
}

/* A thread bound to the CPU for which the index has no room comes if its vruntime is the least. */
static void a_bound_thread_without_room_comes_by_its_vruntime(void)
{
	for (u32 later = 0; later < 2; later++) {
		reset(8, 4);
		queues[8].heaps[0].capacity = queues[8].heaps[0].count = 8192;
		pool_waits(1, 8, 4, 20, 100);
		queues[8].heaps[0].count = 0;
		queues[8].least = RG_NEVER;
		SAME(queues[8].unlisted, 1);
		SAME(against(later ? 19 : 21, 200, 6), later ? 9 : 1);
		SAME(dsq_of(8)->count, later);
	}
}

/* A sibling of a set takes the vruntime over as it is, moves of the set's virtual time included. */
static void a_sibling_of_a_set_takes_the_vruntime_over(void)
{
	reset(8, 4);
	for (u32 row = 1; row <= 9; row += 8) {
		thread_in(row, row, 0, 0);
		bind(&tasks[row], 3);
		rg_cpuset_refresh(&tasks[row], &threads[row], now);
		threads[row].pool = 4;
		threads[row].weight = NICE_0;
		threads[row].burst_mean_ns = MS;
		threads[row].arrival = 100 * row;
		threads[row].account.vtime = rg_some(threads[row].cpuset);
	}
	vtime_of_set(threads[1].cpuset)->shift = threads[1].account.shift = 5 * MS;
	threads[1].account.vruntime = at(30);
	threads[9].account = threads[1].account;
	threads[9].account.vruntime = at(9);
	put(dsq_of(0), (struct place){ &tasks[1], 100, 0 });
	rg_index_enter_row(1, 0, rg_unshifted(&threads[1].account));
	dispatching = 0;
	TRUE(rg_pick_own(0, &tasks[9]));
	SAME(cpus[0].thread, 1);
	SAME(cpus[0].vruntime, at(9));
	SAME(threads[1].account.vruntime, at(9));
}

/* A choice lets 16 threads pay by instalments; another one pays all at once. */
static void a_choice_takes_sixteen_instalments(void)
{
	reset(8, 4);
	for (u32 i = 0; i < 18; i++) {
		struct rg_thread thread = { .owes_ns = SECOND, .top = 64 * 1024 };

		thread.weight = NICE_0;
		rg_pick_pay(&cpus[0], &thread, at(0));
		SAME(!thread.owes_ns, i >= 16);
	}
}

/* A choice passes over as many as four threads that are not there. */
static void a_choice_tries_four_threads(void)
{
	for (u32 gone = 3; gone < 6; gone++) {
		reset(8, 4);
		for (u32 row = 1; row <= 6; row++)
			pool_waits(row, 0, 2 * row, row, row);
		for (u32 row = 1; row <= gone; row++)
			take(dsq_of(0), position_in(dsq_of(0), row));
		SAME(next_of(0), gone < 4 ? gone + 1 : 0);
		SAME(kicks[0][RG_KICK_PREEMPT], 1); /* it asks again in any case */
	}
}

/* A heap that a choice empties gives its extent back; one that it does not keeps it. */
static void a_heap_that_a_choice_empties_leaves_its_extent(void)
{
	struct rg_heap *heap = &queues[0].heaps[0];
	u32 own = heap_in_an_extent(heap);

	pool_waits(2, 0, 6, 20, 100);
	SAME(next_of(0), 1);
	SAME(heap->base, RG_EXTENTS_BEGIN);
	SAME(next_of(0), 2);
	SAME(heap->base, own);
}
