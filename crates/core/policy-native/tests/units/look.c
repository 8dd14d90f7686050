/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks for the least vruntimes (min_vruntime.h). */

/* A CPU runs a thread of a set. */
static void runs(u32 row, u32 cpu, u32 set, long long ms, u64 weight)
{
	thread_in(row, row, 0, (s32)cpu);
	threads[row].woke_at = now;
	threads[row].burst_mean_ns = MS;
	cpus[cpu].pool = row << 1;
	cpus[cpu].thread = row;
	cpus[cpu].vtime = set;
	cpus[cpu].vruntime = at(ms);
	cpus[cpu].weight = weight;
	cpus[cpu].since = now;
}

/* One whole look, of all 8 CPUs. */
static void look_round(void)
{
	for (u32 i = 0; i < 40; i++) {
		rg_look_on((s32)(i % 8), now);
		if (!shared.looking.seen)
			break;
	}
	SAME(shared.looking.seen, 0);
	SAME(shared.looking.busy, 0);
}

/* The model: the least of all that run or wait; a min_vruntime never falls by a look. */
static void the_min_vruntime_is_the_least_of_all(void)
{
	for (u32 round = 0; round < 200; round++) {
		long long least = 1000000, begin = (long long)below(2000) - 1000;
		u32 count = 1 + (u32)below(8);

		reset(8, 4);
		options.infeasible = 0;
		shared.cpusets[0].vtime.min_vruntime = at(begin);
		for (u32 row = 1; row <= count; row++) {
			long long ms = (long long)below(4000) - 2000;

			if (below(2))
				runs(row, row - 1, 0, ms, NICE_0);
			else
				enters(row, (u32)below(2), at(ms));
			least = ms < least ? ms : least;
		}
		look_round();
		least = least > begin ? least + control : begin;
		SAME(shared.cpusets[0].vtime.min_vruntime, at(least));
	}
}

/* Two busy CPUs a look, of eight steps; none while another CPU looks. */
static void a_look_goes_on_by_two_busy_cpus(void)
{
	reset(8, 4);
	for (u32 cpu = 0; cpu < 8; cpu++)
		runs(cpu + 1, cpu, 0, 0, NICE_0);
	TRUE(rg_look_on(3, now));
	SAME(shared.looking.seen, 2);
	SAME(cpus[3].looked_at, now);
	TRUE(rg_look_on(3, now));
	SAME(shared.looking.seen, 4);
	shared.looking.busy = 1;
	FALSE(rg_look_on(3, now));
	SAME(shared.looking.seen, 4);
	reset(16, 4);
	TRUE(rg_look_on(3, now));
	SAME(shared.looking.seen, 8);
	now += 250000;
	rg_look_around(3, &cpus[3], now - 1);
	SAME(shared.looking.seen, 8);
	rg_look_around(3, &cpus[3], now);
	SAME(shared.looking.seen, 16);
	SAME(cpus[3].looked_at, now);
	rg_look_around(4, &cpus[4], now);
	SAME(shared.looking.seen, 0);
	options.min_vruntime = RG_MIN_VRUNTIME_TARGET;
	rg_look_around(5, &cpus[5], now);
	SAME(cpus[5].looked_at, 0);
}

/* Each queue has a look of its own where each has a virtual time. */
static void a_queue_may_have_a_look_of_its_own(void)
{
	reset(8, 4);
	options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
	runs(1, 4, 1, 50, NICE_0);
	queues[13].least = at(30);
	rg_look_on(5, now);
	rg_look_on(5, now);
	SAME(queues[1].vtime.min_vruntime, at(30));
	SAME(queues[0].vtime.min_vruntime, at(0));
	queues[13].least = at(80);
	rg_look_on(5, now);
	rg_look_on(5, now);
	SAME(queues[1].vtime.min_vruntime, at(50));
	/* A thread that wakes meanwhile is not overlooked. */
	rg_look_on(5, now);
	cpus[4].vruntime = at(90);
	rg_vtime_offer(&queues[1].vtime, at(60));
	rg_look_on(5, now);
	SAME(queues[1].vtime.min_vruntime, at(50));
}

static void offers_are_the_least(void)
{
	u64 value = RG_NEVER;

	rg_offer(&value, RG_NEVER);
	SAME(value, RG_NEVER);
	rg_offer(&value, at(5));
	SAME(value, at(5));
	rg_offer(&value, at(6));
	SAME(value, at(5));
	rg_offer(&value, at(-5));
	SAME(value, at(-5));
}

/* Where threads are settled, the least of these. */
static void a_min_vruntime_is_of_the_settled(void)
{
	reset(8, 4);
	runs(1, 0, 0, 10, NICE_0);
	runs(2, 1, 0, 70, NICE_0);
	FALSE(rg_is_settled(&threads[1], now + 4 * MS));
	TRUE(rg_is_settled(&threads[1], now + 4 * MS + 1));
	threads[2].utilised = 512;
	FALSE(rg_is_settled(&threads[2], now));
	threads[2].utilised++;
	TRUE(rg_is_settled(&threads[2], now));
	look_round();
	SAME(vtime_of_all()->min_vruntime, at(70));
	reset(8, 4);
	options.infeasible = 0;
	runs(1, 0, 0, 10, NICE_0);
	runs(2, 1, 0, 70, NICE_0);
	threads[2].utilised = 1024;
	look_round();
	SAME(vtime_of_all()->min_vruntime, at(10));
}

/* Of a heap the top is asked: what stands below an entry of its last level is no earlier. */
static void the_settled_of_a_heap(void)
{
	u32 settled[] = { 0, 1, 2, 3, 6, 99 };
	long long least[] = { 10, 11, 12, 13, 16, 17 };

	for (u32 i = 0; i < 6; i++) {
		reset(8, 4);
		for (u32 row = 0; row < 9; row++) {
			enters(row + 1, 0, at(10 + row));
			threads[row + 1].woke_at = now;
			threads[row + 1].utilised = row == settled[i] ? 1024 : 0;
		}
		SAME(rg_least_settled(&queues[0].heaps[0], vtime_of_all(), now),
		     at(i == 4 ? 13 : i == 5 ? 13 : least[i]));
	}
	/* Without any below, each of the last level speaks for itself. */
	reset(8, 4);
	for (u32 row = 0; row < 7; row++) {
		enters(row + 1, 0, at(10 + row));
		threads[row + 1].woke_at = now;
		threads[row + 1].utilised = row == 5 ? 1024 : 0;
	}
	SAME(rg_least_settled(&queues[0].heaps[0], vtime_of_all(), now), at(15));
	threads[6].utilised = 0;
	SAME(rg_least_settled(&queues[0].heaps[0], vtime_of_all(), now), RG_NEVER);
	/* Where the root is settled none is before it. */
	threads[1].utilised = threads[2].utilised = 1024;
	queues[0].heaps[0].count = 3;
	SAME(rg_least_settled(&queues[0].heaps[0], vtime_of_all(), now), at(10));
}

/* A thread heavier than the others by a 64th, behind all, does not hold the min_vruntime back. */
static void a_heavy_thread_does_not_hold_it_back(void)
{
	for (u32 waited = 0; waited < 2; waited++) {
		reset(8, 4);
		for (u32 cpu = 0; cpu < 8; cpu++)
			runs(cpu + 1, cpu, 0, cpu ? 5000 : 100, cpu ? NICE_0 : 100 * NICE_0);
		for (u32 row = 1; row < 9; row++)
			threads[row].utilised = 1024;
		if (waited)
			enters(20, 0, at(4000));
		look_round();
		look_round(); /* which are too heavy the look before has told */
		SAME(vtime_of_all()->min_vruntime, at(waited ? 4000 - 314 : 100));
		vtime_of_all()->min_vruntime = at(0);
		queues[0].least = waited ? at(9000) : RG_NEVER;
		if (waited)
			rg_heap_at(&queues[0].heaps[0], 0)->vruntime = at(9000);
		look_round();
		SAME(vtime_of_all()->min_vruntime, at(waited ? 5000 : 100));
		cpus[7].pool = 0; /* a CPU idles: all have what they want */
		vtime_of_all()->min_vruntime = at(0);
		look_round();
		SAME(vtime_of_all()->min_vruntime, at(100));
	}
}

static void an_infeasible_weight_is_more_than_the_mean(void)
{
	struct rg_vtime vtime = { .seen_running = 4, .seen_weight = 4 * 63 * 64 };

	FALSE(rg_is_infeasible(&vtime, 64 * 64));
	TRUE(rg_is_infeasible(&vtime, 64 * 64 + 2));
	vtime.seen_running = 0;
	FALSE(rg_is_infeasible(&vtime, 1 << 30));
	vtime = (struct rg_vtime){ .seen_running = 4, .seen_weight = 400, .last_weight = 200 };
	vtime.floor = at(9);
	vtime.last = at(8);
	TRUE(rg_vtime_is_held_back(&vtime));
	vtime.last = at(9);
	FALSE(rg_vtime_is_held_back(&vtime));
	vtime.last = at(8);
	vtime.last_weight = 100;
	FALSE(rg_vtime_is_held_back(&vtime));
	vtime.last_weight = 200;
	vtime.floor = RG_NEVER;
	FALSE(rg_vtime_is_held_back(&vtime));
	vtime.floor = at(9);
	options.infeasible = 0;
	FALSE(rg_vtime_is_held_back(&vtime));
}

/* What a look says of running and waiting threads. */
static void a_look_notes_who_competes(void)
{
	reset(8, 4);
	runs(1, 0, 3, 10, NICE_0);
	shared.cpusets[3].affinity = 5;
	TRUE(rg_look_at(0, 0, now));
	SAME(shared.cpusets[3].vtime.used_at, now);
	SAME(shared.cpusets[3].vtime.turn, 4 * MS);
	SAME(shared.cpusets[3].vtime.running, 1);
	SAME(shared.cpusets[3].vtime.weight, NICE_0);
	SAME(shared.looking.idle, 0);
	FALSE(rg_look_at(1, 0, now));
	SAME(shared.looking.idle, 1);
	SAME(shared.looking.waited, 0);
	enters(2, 0, at(5));
	TRUE(rg_look_at(1, 0, now));
	SAME(shared.looking.waited, 1);
	SAME(vtime_of_all()->least, RG_NEVER); /* the first CPU of the queue looks at its heaps */
	TRUE(rg_look_at(0, 0, now));
	SAME(vtime_of_all()->least, at(5));
	SAME(vtime_of_all()->used_at, now);
	queues[13].least = at(1);
	TRUE(rg_look_at(5, 0, now));
	FALSE(rg_look_at(6, 0, now));
	SAME(queues[13].vtime.used_at, now);
	SAME(queues[0].victim, 0);
}

/* Threads count as waiting for 16 looks more. */
static void waiting_is_remembered_for_some_looks(void)
{
	reset(8, 4);
	enters(1, 0, at(5));
	look_round();
	SAME(shared.looking.contended, 16);
	rg_index_leave_row(1);
	for (u32 i = 15; i + 1; i--) {
		look_round();
		SAME(shared.looking.contended, i);
	}
	look_round();
	SAME(shared.looking.contended, 0);
}

/* So do batch threads hold the clock. */
static void batch_threads_hold_the_clock_for_some_looks(void)
{
	reset(8, 4);
	runs(1, 0, 0, 10, NICE_0);
	look_round();
	SAME(vtime_of_all()->has_batch, 0);
	threads[1].batch = 1;
	threads[1].burst = 50 * MS;
	look_round();
	SAME(vtime_of_all()->has_batch, 16);
	cpus[0].pool = 0;
	look_round();
	SAME(vtime_of_all()->has_batch, 15);
	enters(2, 1, at(5));
	queues[1].batch = 1;
	look_round();
	SAME(vtime_of_all()->has_batch, 16);
}

/* The mean weight of what runs, and the longest turn, which fade by an eighth. */
static void means_of_looks_fade(void)
{
	reset(8, 4);
	runs(1, 0, 0, 10, NICE_0);
	runs(2, 1, 0, 10, 3 * NICE_0);
	look_round();
	SAME(vtime_of_all()->mean_weight, 2 * NICE_0);
	SAME(vtime_of_all()->turn, 3500000);
	cpus[1].pool = 0;
	look_round();
	SAME(vtime_of_all()->mean_weight, 2 * NICE_0 - NICE_0 / 8);
	cpus[0].pool = 0;
	look_round();
	SAME(vtime_of_all()->mean_weight, 2 * NICE_0 - NICE_0 / 8);
	NEAR(vtime_of_all()->turn, 4.0 * MS * 49 / 64, 1000, 0);
}

/* That of bound threads is the least of what they compete with, and falls to it. */
static void bound_threads_are_where_their_cpu_is(void)
{
	struct rg_vtime *own = &queues[8].vtime;

	reset(8, 4);
	own->min_vruntime = at(900);
	rg_look_at(0, 0, now);
	SAME(own->min_vruntime, at(900)); /* none wants the CPU */
	queues[8].least = at(700);
	rg_look_at(0, 0, now);
	SAME(own->min_vruntime, at(700));
	runs(1, 0, RG_CPUSETS + 8, 650, NICE_0);
	rg_look_at(0, 0, now);
	SAME(own->min_vruntime, at(650));
	SAME(vtime_of_all()->least, RG_NEVER);
	cpus[0].vtime = 0;
	vtime_of_all()->min_vruntime = at(640);
	rg_look_at(0, 0, now);
	SAME(own->min_vruntime, at(640));
	cpus[0].vruntime = at(990);
	vtime_of_all()->min_vruntime = at(950);
	rg_look_at(0, 0, now);
	SAME(own->min_vruntime, at(700));
	/* Sets that wait, if threads of them are known to run there. */
	shared.cpusets[4].affinity = 77;
	shared.cpusets[4].vtime.min_vruntime = at(600);
	queues[0].waiting = 1 << 4;
	rg_look_at(1, 0, now);
	rg_look_at(0, 0, now);
	SAME(own->min_vruntime, at(700));
	rg_admit(&shared, &cpus[0], 4);
	rg_look_at(0, 0, now);
	SAME(own->min_vruntime, at(600));
	queues[8].least = RG_NEVER;
	rg_look_at(0, 0, now);
	SAME(own->min_vruntime, at(600));
}

/* What a promise lets go before fair order says nothing of virtual time. */
static void what_is_lent_is_not_looked_at(void)
{
	reset(8, 4);
	runs(1, 0, 0, 10, NICE_0);
	vtime_of_all()->min_vruntime = at(20);
	threads[1].lent = RG_LENT_SERVES;
	rg_look_at(0, 0, now);
	SAME(vtime_of_all()->least, RG_NEVER);
	vtime_of_all()->min_vruntime = at(10);
	rg_look_at(0, 0, now);
	SAME(vtime_of_all()->least, at(10));
	vtime_of_all()->min_vruntime = at(20);
	threads[1].lent = RG_LENT_NOTHING;
	FALSE(rg_is_ahead(&cpus[0], vtime_of_all(), at(10)));
	threads[1].lent = RG_LENT_BUSY;
	options.promises = 0;
	FALSE(rg_is_ahead(&cpus[0], vtime_of_all(), at(10)));
}

/* The CPU that runs the greatest vruntime is the first to be preempted. */
static void the_foremost_cpu_is_remembered(void)
{
	reset(8, 4);
	runs(1, 2, 0, 50, NICE_0);
	runs(2, 3, 0, 40, NICE_0);
	rg_look_at(3, 0, now);
	SAME(queues[0].victim, 3);
	rg_look_at(2, 0, now);
	SAME(queues[0].victim, 2);
	rg_look_at(3, 0, now);
	SAME(queues[0].victim, 2);
	cpus[2].pool = 0;
	rg_look_at(3, 0, now);
	SAME(queues[0].victim, 3);
}

/* A look begins without what was seen before, and tells the next which weights were too great. */
static void a_look_begins_anew(void)
{
	struct rg_vtime *vtime = vtime_of_all();

	reset(8, 4);
	vtime->least = vtime->settled = vtime->floor = vtime->last = 5;
	vtime->weight = 6;
	vtime->running = 7;
	shared.cpusets[2].vtime.weight = 8; /* of no set */
	rg_look_turn(0, 0);
	TRUE(vtime->least == RG_NEVER && vtime->settled == RG_NEVER);
	TRUE(vtime->floor == RG_NEVER && vtime->last == RG_NEVER);
	SAME(vtime->seen_weight, 6);
	SAME(vtime->seen_running, 7);
	SAME(vtime->weight + vtime->running, 0);
	SAME(shared.cpusets[2].vtime.weight, 8);
	shared.cpusets[62].affinity = 9;
	shared.cpusets[62].vtime.weight = 8;
	rg_look_turn(0, 0);
	SAME(shared.cpusets[62].vtime.weight, 0);
}

/* The settled threads that wait count where they are behind all that has just woken. */
static void settled_threads_that_wait_are_followed(void)
{
	reset(8, 4);
	enters(1, 0, at(700));
	threads[1].utilised = 1024;
	runs(2, 1, 0, 500, NICE_0);
	look_round();
	look_round();
	SAME(vtime_of_all()->min_vruntime, at(700));
}

/* A look says of each set where its foremost waiting thread is; where none waits, where all are. */
static void a_look_says_where_a_set_waits(void)
{
	reset(8, 4);
	enters(1, 1, at(700));
	threads[1].woke_at = now;
	runs(2, 1, 0, 500, NICE_0);
	look_round();
	SAME(vtime_of_all()->min_vruntime, at(500));
	SAME(vtime_of_all()->min_vruntime + vtime_of_all()->ahead, at(700));
	rg_index_leave_row(1);
	look_round();
	SAME(vtime_of_all()->ahead, 0);
}

/* A bound thread that runs, and none of whose siblings wait, is where their virtual time is. */
static void a_bound_thread_that_runs_alone_is_followed(void)
{
	struct rg_vtime *own = &queues[8].vtime;

	reset(8, 4);
	own->min_vruntime = at(900);
	runs(1, 0, RG_CPUSETS + 8, 650, NICE_0);
	rg_look_at(0, 0, now);
	SAME(own->min_vruntime, at(650));
	runs(1, 0, 0, 600, NICE_0);
	vtime_of_all()->min_vruntime = at(600);
	rg_look_at(0, 0, now);
	SAME(own->min_vruntime, at(650)); /* none is bound any more */
}
