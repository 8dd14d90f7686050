/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that leave their CPU for another (give_way.h). */

/* Threads wait for CPU 0 that may not run everywhere, and it runs one that may. */
static void a_cpu_is_wanted_by_bound_threads(void)
{
	two_sets();
	runs_of(3, 0, 500);
	FALSE(rg_is_wanted_by_bound(&queues[0], &queues[8], &cpus[0], &threads[3]));
	set_waits(1, 0, 0, 1000);
	FALSE(rg_is_wanted_by_bound(&queues[0], &queues[8], &cpus[0], &threads[3]));
	set_waits(2, 0, 5, 1000);
	TRUE(rg_is_wanted_by_bound(&queues[0], &queues[8], &cpus[0], &threads[3]));
	threads[3].cpuset = 5;
	FALSE(rg_is_wanted_by_bound(&queues[0], &queues[8], &cpus[0], &threads[3]));
	threads[3].cpuset = 0;
	cpus[0].admits[5] = 0;
	FALSE(rg_is_wanted_by_bound(&queues[0], &queues[8], &cpus[0], &threads[3]));
	queues[8].least = 5;
	TRUE(rg_is_wanted_by_bound(&queues[0], &queues[8], &cpus[0], &threads[3]));
}

static void what_runs_gives_way_to_an_idle_cpu(void)
{
	two_sets();
	runs_of(3, 0, 500);
	tasks[3].may = 9;
	idle = 1 << 2;
	FALSE(rg_gives_way(&tasks[3], 0));
	set_waits(2, 8, 0, 1000);
	FALSE(rg_gives_way(&tasks[3], 0));
	SAME(queues[0].crowded, rg_some(0));
	idle = 1 << 3;
	TRUE(rg_gives_way(&tasks[3], 0));
	SAME(cpus[3].hint, rg_some(0));
	SAME(kicks[3][RG_KICK_IDLE], 1);
	idle = 1 << 3;
	tasks[3].pinned = 1;
	FALSE(rg_gives_way(&tasks[3], 0));
	cpus[0].leaves = rg_some(6);
	TRUE(rg_gives_way(&tasks[3], 0));
	SAME(kicks[6][RG_KICK_PREEMPT], 1);
	SAME(cpus[0].leaves, 0);
}

/* A CPU that falls idle lets such a CPU choose again. */
static void an_idle_cpu_relieves_a_crowded_one(void)
{
	two_sets();
	rg_relieve(&shared, &queues[0], &cpus[1]);
	SAME(kicks[0][RG_KICK_PREEMPT], 0);
	runs_of(3, 5, 500);
	queues[0].crowded = rg_some(0);
	rg_relieve(&shared, &queues[0], &cpus[1]);
	SAME(queues[0].crowded, rg_some(0));
	rg_admit(&shared, &cpus[1], 5);
	rg_relieve(&shared, &queues[0], &cpus[1]);
	SAME(queues[0].crowded, 0);
	SAME(kicks[0][RG_KICK_PREEMPT], 1);
	queues[0].crowded = rg_some(0);
	cpus[0].vtime = RG_CPUSETS + 8;
	rg_relieve(&shared, &queues[0], &cpus[1]);
	SAME(queues[0].crowded, 0);
	SAME(kicks[0][RG_KICK_PREEMPT], 1);
	queues[0].crowded = rg_some(0);
	cpus[0].pool = 0;
	cpus[0].vtime = 0;
	rg_relieve(&shared, &queues[0], &cpus[1]);
	SAME(kicks[0][RG_KICK_PREEMPT], 1);
}

/* In a tick it leaves for a CPU that runs what is further ahead than the first bound one. */
static void what_runs_leaves_for_a_cpu_that_runs_later(void)
{
	for (u32 reason = 0; reason < 8; reason++) {
		two_sets();
		runs_of(3, 0, 500);
		runs(4, 2, 0, reason == 1 ? 415 : 415 + 1, NICE_0);
		cpus[2].vruntime += reason != 1;
		cpus[2].ordered = reason == 2;
		cpus[2].pool = reason != 3;
		cpus[0].span.bound = (struct rg_foremost){ .vruntime = at(401), .set = 5 };
		if (reason == 1)
			cpus[2].vruntime = at(401 + 1 + 14);
		if (reason == 0)
			cpus[2].vruntime = at(401 + 1 + 14) + 1;
		if (reason == 4)
			rg_admit(&shared, &cpus[2], 5);
		if (reason == 5)
			tasks[3].may = 3;
		if (reason == 6)
			tasks[3].pinned = 1;
		if (reason == 7)
			cpus[0].span.bound.vruntime = RG_NEVER;
		slices[3] = 9;
		if (reason)
			cpus[2].vruntime += reason == 1 ? 0 : SECOND;
		rg_leave_if_wanted(&cpus[0], 0, &tasks[3]);
		SAME(cpus[0].leaves, reason ? 0 : rg_some(2));
		SAME(slices[3], reason ? 9 : 0);
	}
}

/* In a tick it also leaves for a CPU of another queue. */
static void what_runs_leaves_for_another_queue(void)
{
	two_sets();
	runs_of(3, 0, 500);
	runs(4, 6, 0, 2000, NICE_0);
	cpus[0].span.bound = (struct rg_foremost){ .vruntime = at(401), .set = 5 };
	rg_leave_if_wanted(&cpus[0], 0, &tasks[3]);
	SAME(cpus[0].leaves, rg_some(6));
}

/* What runs goes to a CPU whose own thread goes on to a third, also to the first of all. */
static void a_thread_leaves_by_way_of_another_cpu(void)
{
	two_sets();
	cpus[0].admits[5] = 0;
	rg_admit(&shared, &cpus[1], 5);
	runs(3, 1, 0, 500, NICE_0);
	runs(4, 2, 0, 400, NICE_0);
	runs(5, 0, 0, 2000, NICE_0);
	tasks[3].may = 6;
	cpus[1].span.bound = (struct rg_foremost){ .vruntime = at(401), .set = 5 };
	rg_leave_if_wanted(&cpus[1], 1, &tasks[3]);
	SAME(cpus[1].leaves, rg_some(2));
	SAME(cpus[2].leaves, rg_some(0));
}

/* A tick that compares sets also sees that what runs shall leave for a CPU that runs later. */
static void a_tick_lets_what_runs_leave(void)
{
	two_sets();
	set_waits(1, 0, 0, 1000);
	set_waits(2, 0, 5, 1000);
	runs_of(3, 0, 1010);
	runs(4, 2, 0, 5000, NICE_0);
	threads[3].counted = 1024;
	rg_tick(&tasks[3]);
	SAME(cpus[0].leaves, rg_some(2));
}

/* Sets that wait in other queues, and may run here, are noted. */
static void sets_of_other_queues_are_noted(void)
{
	two_sets();
	queues[1].waiting = 1 << 5 | 1 << 7 | 1;
	TRUE(rg_look_beyond(0));
	SAME(cpus[0].span.beyond & (1 << 5 | 1), 1 << 5 | 1);
	SAME(cpus[0].span.beyond & 1 << 3, 0);
	queues[1].waiting = 1 << 6; /* as it is now */
	TRUE(rg_look_beyond(0));
	SAME(cpus[0].span.beyond, 1 << 6);
}

/* CPU 0 is as good as any other: of its queue, also if that is the only one, and of another. */
static void what_runs_leaves_for_the_first_cpu(void)
{
	for (u32 far = 0; far < 3; far++) {
		s32 from = far == 2 ? 4 : 1;

		two_sets();
		shared.queues -= far == 1;
		cpus[0].admits[5] = 0;
		rg_admit(&shared, &cpus[from], 5);
		runs(3, (u32)from, 0, 500, NICE_0);
		runs(5, 0, 0, 2000, NICE_0);
		cpus[from].span.bound = (struct rg_foremost){ .vruntime = at(401), .set = 5 };
		rg_leave_if_wanted(&cpus[from], from, &tasks[3]);
		SAME(cpus[from].leaves, rg_some(0));
	}
}

/* The CPU itself is none to go to, also where what waits is bound to it. */
static void what_runs_does_not_leave_for_its_own_cpu(void)
{
	for (u32 queues_less = 0; queues_less < 2; queues_less++) {
		two_sets();
		shared.queues -= queues_less;
		runs_of(3, 0, 500);
		cpus[0].span.bound = (struct rg_foremost){ .vruntime = at(401) };
		rg_leave_if_wanted(&cpus[0], 0, &tasks[3]);
		SAME(cpus[0].leaves, 0);
	}
}

/* Also as the one where another thread goes on to a third. */
static void a_thread_leaves_by_way_of_the_first_cpu(void)
{
	two_sets();
	cpus[0].admits[5] = 0;
	rg_admit(&shared, &cpus[1], 5);
	runs(3, 1, 0, 500, NICE_0);
	runs(4, 0, 0, 400, NICE_0);
	runs(5, 2, 0, 2000, NICE_0);
	tasks[3].may = 3;
	cpus[1].span.bound = (struct rg_foremost){ .vruntime = at(401), .set = 5 };
	rg_leave_if_wanted(&cpus[1], 1, &tasks[3]);
	SAME(cpus[1].leaves, rg_some(0));
	SAME(cpus[0].leaves, rg_some(2));
}
