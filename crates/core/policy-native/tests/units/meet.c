/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of CPUs that come to compete: at a wake-up (meet.h), and where a thread's set changes. */

/* CPU 0 runs a thread of set 5 at so many ms, where its set is; set 6 is elsewhere. */
static void about_to_meet(long long five_ms, long long six_ms)
{
	two_sets();
	shared.cpusets[5].vtime.met_at = now - 301 * MS;
	shared.cpusets[5].vtime.min_vruntime = at(five_ms);
	shared.cpusets[6].vtime.min_vruntime = at(six_ms);
	runs_of(3, 5, five_ms);
}

static void meets(u32 set)
{
	rg_sets_meet(0, &cpus[0], vtime_of_set(set));
}

/* Of two sets, one of them new to others, the one that is more than 300 ms behind is raised. */
static void sets_that_have_not_met_are_compared_at_a_wakeup(void)
{
	struct { long long five, six, five_then, six_then; } cases[] = {
		{ 100, 500, 500, 500 }, { 200, 500, 200, 500 }, { 199, 500, 500, 500 },
		{ 500, 100, 500, 500 }, { 500, 200, 500, 200 }, { 500, 199, 500, 500 },
	};

	for (u32 i = 0; i < 6; i++) {
		bool raised = cases[i].five_then == cases[i].six_then;
		u64 from = now;

		about_to_meet(cases[i].five, cases[i].six);
		set_waits(4, 0, 5, cases[i].five + 2);
		vtime_of_set(6)->met_at = from - MS;
		meets(6);
		SAME(vtime_of_set(5)->min_vruntime, at(cases[i].five_then));
		SAME(vtime_of_set(6)->min_vruntime, at(cases[i].six_then));
		SAME(vtime_of_set(6)->shift, (cases[i].six_then - cases[i].six) * (long long)MS);
		SAME(cpus[0].vruntime, at(cases[i].five_then));
		SAME(queues[0].least, at(cases[i].five_then + 2));
		SAME(vtime_of_set(5)->met_at, raised ? now : from - 301 * MS);
		SAME(vtime_of_set(6)->met_at, raised ? now : from - MS);
	}
}

static void a_wakeup_compares_sets_of_cpus_alone(void)
{
	about_to_meet(100, 500);
	shared.cpusets[5].vtime.met_at = now - 300 * MS; /* both have met others lately */
	meets(6);
	SAME(vtime_of_set(5)->min_vruntime, at(100));
	shared.cpusets[6].vtime.met_at = now - 301 * MS; /* one of them is enough */
	meets(6);
	SAME(vtime_of_set(5)->min_vruntime, at(500));
	about_to_meet(100, 500);
	cpus[0].pool = 0;
	meets(6);
	SAME(vtime_of_set(5)->min_vruntime, at(100));
	about_to_meet(100, 500);
	runs_of(3, RG_CPUSETS + 8, 100);
	meets(6);
	SAME(queues[8].vtime.shift, 0);
	/* As a callback of the kernel brings it about, but not for a thread that is bound. */
	about_to_meet(100, 500);
	sleeper(7, 0, 0);
	bind(&tasks[7], 3);
	shared.cpusets[6].affinity = tasks[7].affinity;
	threads[7].cpuset = 6;
	wakes(7);
	SAME(vtime_of_set(5)->min_vruntime, at(500));
	about_to_meet(100, 500);
	sleeper(7, 0, 0);
	bind(&tasks[7], 1);
	queues[8].vtime.min_vruntime = at(500);
	wakes(7);
	SAME(vtime_of_set(5)->min_vruntime, at(100));
}

/* Its virtual time does not go on alone then, and what waits there is left behind. */
static void a_waiting_thread_of_another_cache_holds_its_set(void)
{
	two_sets();
	vtime_of_set(5)->min_vruntime = at(100);
	waits_on(0, 1, at(250), 1);
	shared.cpusets[5].waiting = 1;
	SAME(rg_min_vruntime(vtime_of_set(5), &cpus[0], &queues[0], 5), at(100));
	SAME(vtime_of_set(5)->min_vruntime, at(100));
	shared.cpusets[5].waiting = 0;
	SAME(rg_min_vruntime(vtime_of_set(5), &cpus[0], &queues[0], 5), at(250));
	SAME(vtime_of_set(5)->min_vruntime, at(250));
}

static u64 comes_to_five(u32 counted, long long ms)
{
	struct rg_thread *thread = accounted(1, 0, 0, ms);

	vtime_of_all()->min_vruntime = at(100);
	vtime_of_set(5)->min_vruntime = at(500);
	vtime_of_set(5)->has_batch = 1;
	thread->counted = counted;
	rg_renormalise(&thread->account, thread, 5);
	return thread->account.vruntime;
}

static void a_thread_that_wants_a_cpu_brings_little_lag(void)
{
	two_sets();
	SAME(comes_to_five(1024, 96), at(496));
	SAME(comes_to_five(1024, 95), at(496));
	SAME(comes_to_five(1024, -300), at(496));
	SAME(comes_to_five(1024, 120), at(520));
	SAME(comes_to_five(0, 95), at(495));
	SAME(comes_to_five(0, -300), at(200));
}

/* Where a set is after a thread has entered it, which is at its old set's min_vruntime. */
static u64 set_after(u32 has_batch, u64 burst_ns, long long from_ms)
{
	struct rg_thread *thread = accounted(1, 0, 0, from_ms);

	vtime_of_all()->min_vruntime = at(from_ms);
	vtime_of_set(5)->min_vruntime = at(500);
	vtime_of_set(5)->has_batch = has_batch;
	thread->counted = 1024;
	thread->batch = burst_ns > 50 * MS;
	thread->burst = burst_ns;
	rg_renormalise(&thread->account, thread, 5);
	SAME(thread->account.vruntime, vtime_of_set(5)->min_vruntime);
	return vtime_of_set(5)->min_vruntime;
}

static void a_set_begins_where_its_first_batch_thread_was(void)
{
	two_sets();
	SAME(set_after(0, SECOND, 700), at(700));
	SAME(vtime_of_set(5)->has_batch, RG_CONTENDED_LOOKS);
	SAME(vtime_of_set(5)->shift, 200 * MS);
	SAME(set_after(1, SECOND, 700), at(500));
	SAME(set_after(0, MS, 700), at(500));
	SAME(set_after(0, SECOND, 300), at(500)); /* it is not put back */
	/* What is bound to a CPU is where it competes there. */
	accounted(2, 0, 0, 700)->counted = 1024;
	threads[2].batch = 1;
	threads[2].burst = SECOND;
	queues[8].vtime.min_vruntime = at(500);
	rg_renormalise(&threads[2].account, &threads[2], RG_CPUSETS + 8);
	SAME(queues[8].vtime.min_vruntime, at(500));
	options.min_vruntime = RG_MIN_VRUNTIME_TARGET;
	SAME(set_after(0, SECOND, 700), at(500));
}

/* A thread runs on while its affinity changes: the next tick counts it in its new set. */
static void a_tick_meets_a_new_set(void)
{
	two_sets();
	sleeper(1, 0, 0);
	rg_tick(&tasks[1]);
	SAME(cpus[0].vtime, 0);
	bind(&tasks[1], 3);
	shared.cpusets[6].affinity = tasks[1].affinity;
	passes(1, MS);
	rg_tick(&tasks[1]);
	SAME(threads[1].cpuset, rg_cpuset_find(tasks[1].affinity, now));
	SAME(cpus[0].vtime, threads[1].cpuset);
	FALSE(threads[1].cpuset == 0);
}

/* CPUs of its queue that it may run on compare its set in their next tick. */
static void a_thread_that_comes_to_a_set_is_known_near(void)
{
	struct rg_thread *thread;
	u32 set;

	two_sets();
	thread = sleeper(1, 0, 1);
	bind(&tasks[1], 0xfa);
	rg_cpuset_refresh(&tasks[1], thread, now);
	set = thread->cpuset;
	rg_attach_near(&tasks[1], 1);
	for (s32 cpu = 0; cpu < 8; cpu++)
		SAME(rg_is_admitted(&shared, &cpus[cpu], set), cpu == 1 || cpu == 3);
	cpus[1].admits[set] = 0; /* later it is what a tick meets */
	rg_attach_near(&tasks[1], 1);
	FALSE(rg_is_admitted(&shared, &cpus[1], set));
	thread->account.vtime = 0;
	options.min_vruntime = RG_MIN_VRUNTIME_TARGET;
	rg_attach_near(&tasks[1], 1);
	FALSE(rg_is_admitted(&shared, &cpus[1], set));
}
