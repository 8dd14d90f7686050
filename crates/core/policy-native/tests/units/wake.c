/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a waking thread begins (vruntime.h). */

/* The credit of a thread that waits in the queue of all, or of one CPU alone. */
static void the_credit_of_a_waking_thread(void)
{
	struct rg_thread thread = { .weight = NICE_0, .burst_usual_ns = 3 * MS };
	struct rg_vtime *vtime = vtime_of_all();

	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[0]), 5 * MS);
	thread.weight = NICE_0 / 2;
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[0]), 2 * MS);
	thread.weight = NICE_0 / 4;
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[0]), 0);
	vtime->has_batch = 1; /* batch threads are to be preempted */
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[0]), 8 * MS);
	/* A pinned one: credit is CPU time where both have less weight than nice 0. */
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[8]), 8 * MS);
	cpus[0].pool = 1;
	cpus[0].weight = NICE_0 / 8;
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[8]), 32 * MS);
	cpus[0].weight = NICE_0 / 2;
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[8]), 16 * MS);
	cpus[0].weight = NICE_0 * 2;
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[8]), 8 * MS);
	thread.burst_usual_ns = 4 * MS;
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[8]), 8 * MS);
	thread.burst_usual_ns++;
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[8]), 4 * MS - 1);
	thread.burst_usual_ns = 9 * MS;
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[8]), 0);
	thread.burst_usual_ns = MS;
	vtime->has_batch = 0;
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[8]), 8 * MS);
	options.cpus = 1;
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[0]), 7 * MS);
	thread.helper = 1;
	SAME(rg_wakeup_credit(&thread, vtime, &cpus[0], &queues[0]), 0);
}

/* A waking thread begins at min_vruntime less its credit, or where it was. */
static void a_waking_thread_is_placed(void)
{
	struct { long long from, to; } cases[] = {
		{ 0, 992 },	{ 992, 992 },	{ 993, 993 },
		{ 1318, 1318 }, { 1319, 1318 }, { 9000, 1318 },
	};

	for (u32 i = 0; i < 6; i++) {
		struct rg_thread *thread = accounted(1, 0, 0, cases[i].from);

		vtime_of_all()->min_vruntime = at(1000);
		rg_vruntime_place(&thread->account, thread, &cpus[0], &queues[0]);
		SAME(thread->account.vruntime, at(cases[i].to));
		options.min_vruntime = RG_MIN_VRUNTIME_QUEUE; /* there debt has no bound */
		queues[0].vtime.min_vruntime = at(1000);
		thread->account.vruntime = at(cases[i].from);
		rg_vruntime_place(&thread->account, thread, &cpus[0], &queues[0]);
		SAME(thread->account.vruntime, at(cases[i].from < 992 ? 992 : cases[i].from));
		options.min_vruntime = RG_MIN_VRUNTIME_MACHINE;
	}
}

/* It pays what it owes, and is late by what its group has received in advance. */
static void debts_of_a_waking_thread(void)
{
	struct rg_thread *thread = accounted(1, 1, 0, 1000);

	vtime_of_all()->min_vruntime = at(1000);
	rg_init_group(1, 0, 100);
	groups[1].share.active = 2048;
	thread->owes_ns = 20 * MS;
	rg_vruntime_place(&thread->account, thread, &cpus[0], &queues[0]);
	SAME(thread->account.vruntime, at(1020));
	SAME(thread->owes_ns, 0);
	groups[1].surplus_ns = 140 * MS;
	rg_vruntime_place(&thread->account, thread, &cpus[0], &queues[0]);
	SAME(thread->account.vruntime, at(1000 - 8 + 40));
	thread->account.vruntime = at(9000);
	rg_vruntime_place(&thread->account, thread, &cpus[0], &queues[0]);
	SAME(thread->account.vruntime, at(1000 + 318 + 40));
}

/* A thread that a quota cut off did not sleep: it keeps its distance to the min_vruntime. */
static void a_thread_that_was_cut_off_keeps_its_distance(void)
{
	struct rg_thread *thread = accounted(1, 0, 0, 500);

	vtime_of_all()->min_vruntime = at(1000);
	rg_cut_off(thread, &thread->account);
	vtime_of_all()->min_vruntime = at(1700);
	vtime_of_all()->shift = 5;
	rg_vruntime_place(&thread->account, thread, &cpus[0], &queues[0]);
	SAME(thread->account.vruntime, at(1200) + 5);
	/* In another virtual time it begins as one that wakes. */
	thread->cut_off = rg_some(9);
	rg_vruntime_place(&thread->account, thread, &cpus[0], &queues[0]);
	SAME(thread->account.vruntime, at(1692));
	thread->account.vtime = 0;
	thread->cut_off = 0;
	rg_cut_off(thread, &thread->account);
	SAME(thread->cut_off, 0);
}

/* ---- The min_vruntime that it is placed by ---- */

static void waits_on(u32 queue, u32 row, u64 vruntime, bool runs_on)
{
	queues[queue].least = vruntime;
	queues[queue].first = row;
	threads[row].runs_on = runs_on;
}

/* Before all that runs on at its CPU, as far as caches may be apart. */
static void a_waking_thread_comes_before_what_runs_on(void)
{
	struct rg_vtime *vtime = vtime_of_all();

	vtime->min_vruntime = at(1000);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[0], 0), at(1000));
	waits_on(0, 1, at(900), 0);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[0], 0), at(1000));
	waits_on(0, 1, at(900), 1);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[0], 0), at(900));
	waits_on(0, 1, at(600), 1);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[0], 0), at(700));
	waits_on(0, 1, at(1100), 1);
	queues[0].waiting = 1;
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[0], 0), at(1000));
	queues[0].waiting = 2; /* none of its own set waits: it takes up where theirs is */
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[0], 0), at(1100));
	SAME(vtime->min_vruntime, at(1100));
	waits_on(8, 2, at(1050), 1);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[0], 0), at(1050));
	SAME(vtime->min_vruntime, at(1100));
	cpus[0].pool = 1;
	cpus[0].vtime = 3;
	vtime_of_set(3)->min_vruntime = at(1040);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[0], 0), at(1040));
	SAME(vtime->min_vruntime, at(1100));
	vtime_of_set(3)->min_vruntime = at(1200);
	waits_on(8, 2, RG_NEVER, 1);
	waits_on(0, 1, at(1300), 1);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[0], 0), at(1200));
	SAME(vtime->min_vruntime, at(1200));
	/* What is bound to the CPU says nothing of where a set is. */
	cpus[0].vtime = RG_CPUSETS + 8;
	queues[8].vtime.min_vruntime = at(1250);
	waits_on(0, 1, RG_NEVER, 1);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[0], 0), at(1200));
	options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
	waits_on(0, 1, at(5), 1);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[0], 0), at(1200));
}

/* A bound one: of what waits for its CPU or runs there. Where no other is their time goes there. */
static void a_bound_thread_begins_where_its_cpu_is(void)
{
	struct rg_vtime *vtime = &queues[8].vtime;

	vtime->min_vruntime = at(1000);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[8], 0), at(1000));
	cpus[0].pool = 1;
	cpus[0].vruntime = at(800);
	cpus[0].weight = NICE_0;
	cpus[0].since = now;
	vtime_of_all()->min_vruntime = at(850);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[8], 0), at(800));
	SAME(vtime->min_vruntime, at(800));
	SAME(vtime->shift, -200 * MS);
	now += 20 * MS; /* it runs on */
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[8], 0), at(820));
	SAME(vtime->min_vruntime, at(820));
	vtime_of_all()->min_vruntime = at(810);
	queues[8].least = at(900);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[8], 0), at(810));
	SAME(vtime->min_vruntime, at(820));
	queues[8].least = at(500);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[8], 0), at(500));
	queues[8].least = RG_NEVER;
	cpus[0].vtime = RG_CPUSETS + 8; /* a bound one runs */
	cpus[0].vruntime = at(700);
	cpus[0].since = now;
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[8], 0), at(700));
	SAME(vtime->min_vruntime, at(820));
	queues[0].least = at(650);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[8], 0), at(650));
	queues[0].least = at(100);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[8], 0), at(400));
	queues[0].least = at(701);
	SAME(rg_min_vruntime(vtime, &cpus[0], &queues[8], 0), at(700));
}

/* Where threads of its own set wait its virtual time is where they are; else where others are. */
static void a_set_that_waits_keeps_its_virtual_time(void)
{
	for (u32 waits = 0; waits < 2; waits++) {
		reset(8, 4);
		cpus[0].pool = 2; /* of all CPUs */
		vtime_of_all()->min_vruntime = at(900);
		vtime_of_set(5)->min_vruntime = at(500);
		queues[0].waiting = waits ? 1 << 5 : 1 << 1;
		rg_min_vruntime(vtime_of_set(5), &cpus[0], &queues[0], 5);
		SAME(vtime_of_set(5)->min_vruntime, at(waits ? 500 : 900));
	}
}
