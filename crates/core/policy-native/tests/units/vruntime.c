/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vruntimes of threads (vruntime.h, clock.h): charges and moves. */

static struct rg_vtime *vtime_of_all(void)
{
	return &shared.cpusets[0].vtime;
}

static struct rg_vtime *vtime_of_set(u32 set)
{
	return &shared.cpusets[set].vtime;
}

/* A thread that has the virtual time of all CPUs and an account there, at so many ms. */
static struct rg_thread *accounted(u32 row, u32 group, s32 cpu, long long ms)
{
	thread_in(row, row, group, cpu);
	threads[row].account.vtime = rg_some(0);
	threads[row].account.vruntime = at(ms);
	threads[row].weight = NICE_0;
	threads[row].exec_seen = 0;
	threads[row].burst_mean_ns = MS;
	return &threads[row];
}

static void charge(u32 row, u64 ran_ns)
{
	tasks[row].exec_ns += ran_ns;
	rg_charge(&tasks[row], &threads[row]);
}

/* By CPU time / effective weight, what was received since it was charged last. */
static void a_thread_is_charged_by_its_weight(void)
{
	struct rg_thread *thread = accounted(1, 0, 0, 100);

	vtime_of_all()->min_vruntime = at(90);
	shared.looking.contended = 1;
	charge(1, 8 * MS);
	SAME(thread->account.vruntime, at(108));
	SAME(thread->ran_ns, 8 * MS);
	SAME(thread->burst, 8 * MS);
	charge(1, 0);
	SAME(thread->account.vruntime, at(108));
	thread->weight = NICE_0 / 4;
	charge(1, MS);
	SAME(thread->account.vruntime, at(112));
	tasks[1].exec_ns = 0; /* it was away */
	rg_charge(&tasks[1], thread);
	SAME(thread->account.vruntime, at(112));
	charge(1, MS);
	SAME(thread->account.vruntime, at(116));
	/* What its virtual time was moved by meanwhile. */
	vtime_of_all()->shift = 5;
	charge(1, 0);
	SAME(thread->account.vruntime, at(116) + 5);
	SAME(thread->account.shift, 5);
	TRUE(thread->pool == rg_pool(&tasks[1], thread));
}

/* While no thread waits it gets no more than 10 ms past the min_vruntime. */
static void a_thread_that_has_a_cpu_to_itself_gets_little_ahead(void)
{
	struct rg_thread *thread = accounted(1, 1, 0, 0);

	rg_init_group(1, 0, 100);
	thread->top = 1024;
	options.burst_limit_ns = RG_NEVER; /* no clock */
	charge(1, 30 * MS);
	SAME(thread->account.vruntime, at(10));
	SAME(thread->owes_ns, 0);
	thread->owes_ns = 7 * MS;
	charge(1, 0);
	SAME(thread->owes_ns, 0);
	SAME(thread->account.vruntime, at(10));
	thread->top = 102400; /* an instalment is a millisecond, and no debt is left of the rest */
	charge(1, 5 * MS);
	SAME(thread->owes_ns, 0);
	SAME(thread->account.vruntime, at(10));
	thread->top = 1024;
	thread->account.vruntime = at(50); /* what is owed stays */
	charge(1, MS);
	SAME(thread->account.vruntime, at(50));
	queues[8].least = 5;
	charge(1, MS);
	SAME(thread->account.vruntime, at(51));
	queues[8].least = RG_NEVER;
	cpus[0].follower = 9;
	charge(1, MS);
	SAME(thread->account.vruntime, at(52));
	cpus[0].follower = 0;
	shared.looking.contended = 1;
	charge(1, MS);
	SAME(thread->account.vruntime, at(53));
	shared.looking.contended = 0;
	options.vruntime_cap_ns = RG_NEVER;
	charge(1, MS);
	SAME(thread->account.vruntime, at(54));
}

/* Nothing is owed beyond what a thread may be behind those that wait. */
static void a_thread_that_has_a_cpu_is_not_left_behind(void)
{
	struct rg_thread *thread = accounted(1, 0, 0, 0);

	options.burst_limit_ns = RG_NEVER;
	vtime_of_all()->min_vruntime = at(1000);
	shared.looking.contended = 1;
	charge(1, MS);
	SAME(thread->account.vruntime, at(1000 - 14 - 300));
	thread->account.vruntime = at(900);
	charge(1, MS);
	SAME(thread->account.vruntime, at(901));
	options.infeasible = 0;
	thread->account.vruntime = at(0);
	charge(1, MS);
	SAME(thread->account.vruntime, at(1));
}

/* A charge is taken off what it concerns: quotas, promises, surplus. */
static void a_charge_reaches_all_accounts(void)
{
	accounted(1, 2, 0, 0);
	rg_init_group(1, 0, 100);
	rg_init_group(2, 1, 100);
	rg_limit_group(1, 80 * MS, 100 * MS, 0);
	rg_promise_group(2, 40 * MS, 500000);
	threads[1].promise = 2;
	groups[1].share.active = groups[2].share.active = 1024;
	shared.looking.contended = 1;
	charge(1, 3 * MS);
	SAME(groups[1].budget.left_ns, 77 * MS);
	SAME(groups[2].promise.left_ns, 47 * MS);
	NEAR(groups[2].surplus_ns, 3.0 * MS, 1e9, 0);
	options.promises = 0;
	rg_limit_group(1, RG_NEVER, 100 * MS, 0);
	charge(1, 3 * MS);
	SAME(groups[2].promise.left_ns, 47 * MS);
	shared.looking.contended = 0;
	charge(1, 3 * MS);
	SAME(groups[2].surplus_ns, 0);
}

/* With one account a process each thread is charged to it. */
static void a_process_is_charged_for_its_threads(void)
{
	accounted(1, 0, 0, 0);
	options.fair = RG_FAIR_PROCESS;
	options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
	options.vruntime_cap_ns = RG_NEVER;
	processes[1].account.vruntime = at(7);
	charge(1, 3 * MS);
	SAME(processes[1].account.vruntime, at(10));
	SAME(threads[1].account.vruntime, at(0));
}

/* An account that enters another virtual time keeps its distance, within bounds. */
static void an_account_keeps_its_distance(void)
{
	struct { long long from, to; } cases[] = {
		{ 100, 500 }, { 120, 520 }, { 99, 499 }, { 418, 818 }, { 419, 818 }, { 900, 818 },
		{ -200, 200 }, { -201, 200 },
	};

	for (u32 i = 0; i < 8; i++) {
		struct rg_thread *thread = accounted(1, 0, 0, cases[i].from);

		vtime_of_all()->min_vruntime = at(100);
		vtime_of_set(3)->min_vruntime = at(500);
		vtime_of_set(3)->shift = 77;
		rg_renormalise(&thread->account, thread, 3);
		SAME(thread->account.vruntime, at(cases[i].to));
		SAME(thread->account.vtime, rg_some(3));
		SAME(thread->account.shift, 77);
		rg_renormalise(&thread->account, thread, 3);
		SAME(thread->account.vruntime, at(cases[i].to));
	}
}

static void a_new_account_begins_half_a_slice_behind(void)
{
	struct rg_account account = { .vruntime = 5 };
	struct rg_thread thread = { .weight = NICE_0 };

	vtime_of_all()->min_vruntime = at(100);
	vtime_of_all()->shift = 9;
	rg_renormalise(&account, &thread, 0);
	SAME(account.vruntime, at(102));
	SAME(account.shift, 9);
	/* In the same virtual time it stays where it is, but for its moves. */
	vtime_of_all()->shift = 10;
	account.vruntime = at(9000);
	rg_renormalise(&account, &thread, 0);
	SAME(account.vruntime, at(9000) + 1);
	/* With a virtual time a queue there are no bounds. */
	options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
	queues[1].vtime.min_vruntime = at(200);
	queues[0].vtime.min_vruntime = at(100);
	rg_renormalise(&account, &thread, 1);
	SAME(account.vruntime, at(9100) + 1 - 10);
}

/* Where a thread competes: in the set of its CPUs, or in what is bound to its CPU. */
static void a_thread_competes_in_its_set(void)
{
	struct task_struct *t = thread_in(1, 1, 0, 5);

	threads[1].cpuset = 7;
	SAME(rg_vtime_of(t, &threads[1], 5), 7);
	t->pinned = 1;
	SAME(rg_vtime_of(t, &threads[1], 5), RG_CPUSETS + 13);
	SAME(rg_queue_for(t, &cpus[5], 5), 13);
	options.pick = RG_PICK_CREDIT;
	SAME(rg_queue_for(t, &cpus[5], 5), 1);
	options.pick = RG_PICK_PROCESS;
	options.min_vruntime = RG_MIN_VRUNTIME_TARGET;
	SAME(rg_vtime_of(t, &threads[1], 5), 7);
	options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
	SAME(rg_vtime_of(t, &threads[1], 5), 1);
	TRUE(rg_vtime_at(1) == &queues[1].vtime);
	TRUE(rg_looking_of(5) == &queues[1].looking);
	options.min_vruntime = RG_MIN_VRUNTIME_MACHINE;
	TRUE(rg_vtime_at(7) == vtime_of_set(7));
	TRUE(rg_vtime_at(RG_CPUSETS + 13) == &queues[13].vtime);
	TRUE(rg_vtime_at(RG_CPUSETS - 1) == vtime_of_set(63));
	TRUE(rg_looking_of(5) == &shared.looking);
	t->pinned = 0;
	SAME(rg_queue_for(t, &cpus[5], 5), 1);
	/* Where a queue serves one CPU both are the same. */
	reset(4, 1);
	tasks[1].pinned = 1;
	SAME(rg_vtime_of(t, &threads[1], 2), 0);
}

/* ---- clock.h ---- */

/* Without batch threads virtual time goes on by what all receive, by the weight of all. */
static void virtual_time_goes_on_by_what_all_receive(void)
{
	struct rg_vtime *vtime = vtime_of_all();
	struct rg_thread *thread = accounted(1, 0, 0, 0);

	thread->queue = rg_some(0);
	queues[0].threads = 3;
	shared.looking.contended = 1;
	charge(1, 590000);
	SAME(vtime->min_vruntime, at(0));
	SAME(cpus[0].advance, 98333);
	charge(1, 20000);
	SAME(vtime->min_vruntime, at(0) + 98333 + 3333);
	SAME(cpus[0].advance, 0);
	vtime->mean_weight = 2 * NICE_0;
	charge(1, 12 * MS);
	SAME(vtime->min_vruntime, at(1) + 101666);
	vtime->mean_weight = NICE_0 / 2;
	charge(1, 6 * MS);
	SAME(vtime->min_vruntime, at(2) + 101666);
	/* What a CPU has of another virtual time goes there first. */
	cpus[0].advances = 3;
	cpus[0].advance = 777;
	charge(1, 60000);
	SAME(vtime_of_set(3)->min_vruntime, at(0) + 777);
	SAME(cpus[0].advance, 10000);
	SAME(cpus[0].advances, 0);
	vtime->has_batch = 1;
	charge(1, 12 * MS);
	SAME(vtime->min_vruntime, at(2) + 101666);
	cpus[0].advance = 5;
	rg_clock_flush(&cpus[0]);
	SAME(vtime->min_vruntime, at(2) + 101666);
	thread->queue = 0;
	SAME(rg_clock_advance(vtime, thread, MS), 0);
	vtime->has_batch = 0;
	TRUE(rg_has_clock(vtime));
	options.burst_limit_ns = RG_NEVER;
	FALSE(rg_has_clock(vtime));
	options.burst_limit_ns = MS;
	options.min_vruntime = RG_MIN_VRUNTIME_TARGET;
	FALSE(rg_has_clock(vtime));
}

/* That of bound threads has no clock. */
static void bound_threads_have_no_clock(void)
{
	struct rg_thread *thread = accounted(1, 0, 0, 0);

	thread->account.vtime = rg_some(RG_CPUSETS + 8);
	thread->queue = rg_some(0);
	queues[0].threads = 1;
	shared.looking.contended = 1;
	charge(1, 12 * MS);
	SAME(queues[8].vtime.min_vruntime, at(0));
	SAME(cpus[0].advance, 0);
}

/* What a CPU says that it runs. */
static void a_cpu_shows_what_it_runs(void)
{
	struct rg_thread *thread = accounted(1, 0, 0, 33);

	thread->pool = 99;
	threads[1].account.vtime = rg_some(5);
	cpus[2].ordered = cpus[2].leaves = 1;
	rg_set_curr(2, &tasks[1], thread);
	SAME(cpus[2].vtime, 5);
	SAME(cpus[2].vruntime, at(33));
	SAME(cpus[2].weight, NICE_0);
	SAME(cpus[2].since, now);
	SAME(cpus[2].thread, 1);
	SAME(cpus[2].pool, 99);
	SAME(cpus[2].ordered + cpus[2].leaves, 0);
	enters(2, 1, at(0));
	threads[2].counted = 1024;
	threads[2].weight = 7; /* as of when it last ran */
	rg_set_next(6, &tasks[2], &threads[2]);
	SAME(threads[2].waits, 0);
	SAME(threads[2].queue, rg_some(1));
	SAME(threads[2].cpu, 6);
	SAME(cpus[6].thread, 2);
	SAME(cpus[6].weight, NICE_0);
	SAME(queues[1].least, RG_NEVER);
}
