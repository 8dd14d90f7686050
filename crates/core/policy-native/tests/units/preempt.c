/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which thread a waking one interrupts (preempt.h, hand_on.h), and which passes by (direct.h). */

/* A thread woke now, at 0 ms, on CPU 0. */
static struct rg_thread *woken(void)
{
	reset(8, 4);
	thread_in(1, 1, 0, 0);
	threads[1].account.vruntime = at(0);
	threads[1].queued_at = threads[1].woke_at = now;
	threads[1].pool = 2;
	threads[1].weight = NICE_0;
	return &threads[1];
}

/* The CPU that runs what is furthest ahead, by more than a millisecond. */
static void the_foremost_cpu_is_preempted(void)
{
	woken();
	SAME(rg_preempt_victim(&tasks[1], 0), -1);
	runs(2, 0, 0, 1, NICE_0);
	SAME(rg_preempt_victim(&tasks[1], 0), -1);
	cpus[0].vruntime++;
	SAME(rg_preempt_victim(&tasks[1], 0), 0);
	runs(3, 2, 0, 9, NICE_0);
	runs(4, 3, 0, 8, NICE_0);
	SAME(rg_preempt_victim(&tasks[1], 0), 2);
	cpus[3].weight = NICE_0 / 4; /* it runs on */
	cpus[3].since = now - MS;
	SAME(rg_preempt_victim(&tasks[1], 0), 3);
	tasks[1].may = 7;
	SAME(rg_preempt_victim(&tasks[1], 0), 2);
	cpus[2].ordered = 1;
	SAME(rg_preempt_victim(&tasks[1], 0), 0);
	cpus[0].pool = 2; /* a sibling's */
	SAME(rg_preempt_victim(&tasks[1], 0), -1);
	cpus[2].ordered = 0;
	rg_preempt(2);
	SAME(cpus[2].ordered, 1);
	SAME(kicks[2][RG_KICK_PREEMPT], 1);
	rg_preempt(-1);
}

/* Where its queue has none, the CPU of the machine that has. */
static void a_cpu_beyond_is_preempted(void)
{
	woken();
	runs(2, 6, 0, 9, NICE_0);
	runs(3, 7, 0, 8, NICE_0);
	SAME(rg_preempt_victim(&tasks[1], 0), 6);
	runs(4, 1, 0, 2, NICE_0);
	SAME(rg_preempt_victim(&tasks[1], 0), 1);
	SAME(rg_preempt_beyond(&tasks[1], 0), 6);
	cpus[1].vruntime = at(20); /* its own queue has been asked before */
	SAME(rg_preempt_beyond(&tasks[1], 0), 6);
	cpus[1].pool = 0;
	options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
	SAME(rg_preempt_victim(&tasks[1], 0), -1);
	SAME(queues[0].cursor, 0);
	queues[0].cpus = 9; /* of a larger queue the next look begins elsewhere */
	rg_preempt_victim(&tasks[1], 0);
	SAME(queues[0].cursor, 6);
	reset(4, 4);
	SAME(rg_preempt_beyond(&tasks[1], 0), -1);
}

/* Of a large queue: the one last seen foremost, home, and six others in turn. */
static void a_large_queue_is_asked_in_part(void)
{
	u32 asked[16] = {};

	woken();
	reset(16, 16);
	queues[0].victim = 11;
	SAME(rg_preempt_near(&queues[0], 3, 0), 11);
	SAME(rg_preempt_near(&queues[0], 3, 1), 3);
	SAME(rg_preempt_asked(&queues[0]), 8);
	for (u32 turn = 0; turn < 16; turn++) {
		for (u32 i = 2; i < 8; i++)
			asked[rg_preempt_near(&queues[0], 3, i) % 16]++;
		rg_preempt_turn(&queues[0]);
	}
	for (u32 cpu = 0; cpu < 16; cpu++)
		TRUE(asked[cpu] >= 4 && asked[cpu] <= 12);
	reset(8, 8);
	SAME(rg_preempt_asked(&queues[0]), 8);
	SAME(rg_preempt_near(&queues[0], 3, 0), 3);
	SAME(rg_preempt_near(&queues[0], 3, 7), 2);
	queues[0].cursor = 0;
	rg_preempt_turn(&queues[0]);
	SAME(queues[0].cursor, 6);
	rg_preempt_turn(&queues[0]);
	SAME(queues[0].cursor, 0);
}

/* Of a large machine the next eight CPUs from home on, and eight in turn. */
static void a_large_machine_is_asked_in_part(void)
{
	u32 asked[16] = {};

	reset(8, 4);
	SAME(rg_preempt_far(&queues[0], 2, 0), 3);
	SAME(rg_preempt_far(&queues[0], 2, 6), 1);
	reset(16, 4);
	queues[0].beyond = 5;
	SAME(rg_preempt_far(&queues[0], 2, 12), 15);
	SAME(rg_preempt_far(&queues[0], 2, 14), 1);
	options.cpus = 40;
	SAME(rg_preempt_far(&queues[0], 2, 7), 10);
	SAME(rg_preempt_far(&queues[0], 2, 8), 15);
	SAME(rg_preempt_far(&queues[0], 2, 15), 22);
	for (u32 i = 0; i < 5; i++) {
		asked[i] = queues[0].beyond;
		rg_preempt_turn(&queues[0]);
	}
	SAME(asked[1], 13);
	SAME(asked[2], 21);
	SAME(asked[3], 0);
	SAME(asked[4], 8);
	queues[0].beyond = 16;
	rg_preempt_turn(&queues[0]);
	SAME(queues[0].beyond, 24);
}

/* What a promise makes urgent preempts what is not, and not the other way. */
static void what_is_urgent_preempts(void)
{
	woken();
	runs(2, 0, 0, 50, NICE_0);
	SAME(rg_preempt_lead(&tasks[1], 0), 50 * MS);
	threads[2].lent = RG_LENT_BUSY;
	SAME(rg_preempt_lead(&tasks[1], 0), 0);
	threads[1].lent = RG_LENT_SERVES;
	SAME(rg_preempt_lead(&tasks[1], 0), 50 * MS + (1ULL << 62));
	threads[2].lent = RG_LENT_SERVES;
	SAME(rg_preempt_lead(&tasks[1], 0), 50 * MS);
	options.promises = 0;
	threads[2].lent = RG_LENT_NOTHING;
	SAME(rg_preempt_lead(&tasks[1], 0), 50 * MS);
	SAME(rg_preempt_home(&tasks[1], 0), 0);
	cpus[0].vruntime = at(1);
	SAME(rg_preempt_home(&tasks[1], 0), -1);
	SAME(rg_preempt_lead(&tasks[1], -1), 0);
}

/* No request waits for a helper of its own process. */
static void a_helper_is_preempted_early(void)
{
	woken();
	runs(2, 0, 0, 1, NICE_0);
	threads[2].process = threads[1].process;
	SAME(rg_preempt_home(&tasks[1], 0), -1);
	threads[2].helper = 1;
	SAME(rg_preempt_home(&tasks[1], 0), 0);
	threads[2].process++;
	SAME(rg_preempt_home(&tasks[1], 0), -1);
	threads[2].process--;
	threads[1].helper = 1;
	SAME(rg_preempt_home(&tasks[1], 0), -1);
	threads[1].helper = 0;
	cpus[0].vruntime = at(0);
	SAME(rg_preempt_home(&tasks[1], 0), -1);
	cpus[0].vruntime = at(30);
	SAME(rg_preempt_lead(&tasks[1], 0), 30 * MS);
}

/* A thread that has run for a millisecond and wakes another hands on its work. */
static void a_thread_that_computes_hands_on(void)
{
	for (u32 reason = 0; reason < 5; reason++) {
		woken();
		runs(2, 0, 0, 50, NICE_0);
		threads[2].ran_ns = 600000;
		cpus[0].since = now - 400000 - (reason != 1);
		waker = reason == 2 ? 0 : 2;
		if (reason == 3)
			cpus[0].thread = 5;
		if (reason == 4)
			threads[2].cpu = 3;
		rg_hand_on(&threads[1], now);
		SAME(threads[1].hands, reason ? 0 : RG_IS_HANDED);
		SAME(threads[2].hands, reason ? 0 : RG_HANDS_ON);
		cpus[0].thread = 2;
		SAME(rg_preempt_lead(&tasks[1], 0) > 0, !!reason);
	}
	woken();
	threads[1].hands = RG_IS_HANDED;
	FALSE(rg_is_same_work(&threads[1], &threads[2]));
	threads[2].hands = RG_IS_HANDED;
	FALSE(rg_is_same_work(&threads[1], &threads[2]));
	threads[2].hands |= RG_HANDS_ON;
	TRUE(rg_is_same_work(&threads[1], &threads[2]));
	threads[1].hands = RG_HANDS_ON;
	FALSE(rg_is_same_work(&threads[1], &threads[2]));
}

/* ---- direct.h ---- */

/* CPU 0 runs one thread; another, bound to it, wakes and is due. */
static bool passes_by(void)
{
	return rg_direct(&tasks[1], &threads[1], &cpus[0], 0);
}

static void a_lone_waking_thread_passes_by(void)
{
	for (u32 reason = 0; reason < 12; reason++) {
		woken();
		runs(2, 0, 0, 1, NICE_0);
		bind(&tasks[1], 1);
		threads[1].burst_mean_ns = 99999;
		cpus[0].pool = reason != 1;
		cpus[0].follower = reason == 2 ? 7 : 0;
		tasks[1].pinned = reason != 3;
		threads[1].burst_mean_ns += reason == 4;
		queues[reason == 5 ? 8 : 9].least = 5;
		queues[reason == 6 ? 0 : 1].least = 5;
		cpus[0].vruntime += reason == 7 ? 1 : 0; /* it would preempt */
		if (reason >= 8)
			cpus[0].vruntime = at(-4) - (reason == 8);
		if (reason >= 10)
			cpus[0].pool = threads[1].pool;
		threads[1].arrival = 5;
		threads[2].arrival = reason == 10 ? 6 : 5;
		SAME(passes_by(), reason == 0 || reason == 9 || reason == 11);
		if (reason)
			continue;
		SAME(cpus[0].follower, 1);
		SAME(threads[1].cpu, 0);
		SAME(inserted, 1);
	}
}

/* An earlier sibling goes on past its slice, unless another pool's thread is before it. */
static void an_earlier_sibling_outlasts_its_follower(void)
{
	for (u32 reason = 0; reason < 9; reason++) {
		woken();
		runs(2, 0, 0, 5, NICE_0);
		threads[2].account.vruntime = at(5);
		threads[2].pool = threads[1].pool + (reason == 1) * 2;
		threads[2].arrival = 7;
		threads[1].arrival = reason == 2 ? 6 : 7;
		cpus[0].follower = reason == 3 ? 0 : 1;
		threads[9].pool = reason == 4 ? threads[2].pool : 99;
		queues[8].first = queues[0].first = 9;
		queues[8].least = reason == 5 || reason == 4 ? at(5) - 1 : at(5);
		queues[0].least = reason == 6 || reason == 4 ? at(5) - 1 : RG_NEVER;
		SAME(rg_outlasts(&cpus[0], &threads[2]), reason == 0 || reason == 4 || reason >= 7);
	}
}

static void a_follower_is_shown_when_it_runs(void)
{
	woken();
	cpus[0].follower = 1;
	rg_direct_set_curr(&cpus[0]);
	SAME(cpus[0].thread, 1);
	SAME(cpus[0].vruntime, at(0));
	SAME(cpus[0].since, now);
}

/* ---- burst.h ---- */

/* A bucket of 50 ms makes a batch thread, and an empty one ends it. */
static void a_full_bucket_makes_a_batch_thread(void)
{
	struct rg_thread thread = {};
	struct task_struct *t = thread_in(1, 1, 0, 0);

	rg_burst_fill(&thread, 50 * MS - 1);
	SAME(thread.batch, 0);
	SAME(thread.ran_ns, 50 * MS - 1);
	rg_burst_fill(&thread, 9);
	SAME(thread.batch, 1);
	SAME(thread.burst, 50 * MS);
	rg_burst_drain(t, &thread, 50 * MS - 1);
	SAME(thread.burst, 1);
	SAME(thread.batch, 1);
	rg_burst_drain(t, &thread, 1);
	SAME(thread.batch, 0);
}

/* A helper's bursts are eight times as long as those of its process, and longer than 2 ms. */
static void a_helper_is_known_from_its_bursts(void)
{
	struct { u64 own, process; bool is; } cases[] = {
		{ 2 * MS, 10, 0 }, { 2 * MS + 1, 10, 1 }, { 8 * MS, MS, 0 }, { 8 * MS + 1, MS, 1 },
	};
	struct task_struct *t = thread_in(1, 1, 0, 0);

	for (u32 i = 0; i < 4; i++) {
		struct rg_thread thread = { .burst_mean_ns = cases[i].own };

		processes[1].burst_mean_ns = cases[i].process;
		rg_burst_drain(t, &thread, MS);
		SAME(thread.helper, cases[i].is);
		SAME(thread.batch, cases[i].is);
		SAME(thread.burst_usual_ns, cases[i].is ? cases[i].own : cases[i].process);
		options.burst_limit_ns = RG_NEVER;
		thread.batch = 0;
		rg_burst_drain(t, &thread, MS);
		SAME(thread.helper + thread.batch, 0);
		options.burst_limit_ns = 50 * MS;
	}
}

/* Four bursts of a thread and 64 of its process make a mean, of which a helper's counts little. */
static void bursts_have_means(void)
{
	struct task_struct *t = thread_in(1, 1, 0, 0);
	struct rg_thread *thread = &threads[1];

	processes[1].burst_mean_ns = 0;
	thread->ran_ns = 64 * MS;
	thread->yields_ns = thread->hands = 1;
	rg_burst_end(t, thread);
	SAME(thread->burst_mean_ns, 64 * MS);
	SAME(processes[1].burst_mean_ns, 64 * MS);
	SAME(thread->ran_ns + thread->yields_ns + thread->hands, 0);
	rg_burst_end(t, thread);
	SAME(thread->burst_mean_ns, 48 * MS);
	SAME(processes[1].burst_mean_ns, 63 * MS);
	processes[1].burst_mean_ns = 64 * MS;
	thread->ran_ns = 514 * MS - 1;
	rg_burst_end(t, thread);
	NEAR(processes[1].burst_mean_ns, 63 * MS + 514 * MS / 64.0, 1e9, 2);
	processes[1].burst_mean_ns = 64 * MS;
	thread->ran_ns = SECOND;
	rg_burst_end(t, thread);
	NEAR(processes[1].burst_mean_ns, 63 * MS + 514 * MS / 64.0, 1e9, 2);
}

static void batch_threads_hold_the_clock(void)
{
	struct rg_thread thread = { .ran_ns = 4 * MS };

	FALSE(rg_holds_clock(&thread)); /* it has never slept */
	thread.ran_ns++;
	TRUE(rg_holds_clock(&thread));
	thread.burst_mean_ns = 1;
	FALSE(rg_holds_clock(&thread));
	thread.burst = 25 * MS + 1;
	FALSE(rg_holds_clock(&thread));
	thread.batch = 1;
	TRUE(rg_holds_clock(&thread));
	thread.burst--;
	FALSE(rg_holds_clock(&thread));
	thread = (struct rg_thread){ .burst_mean_ns = 1, .utilised = 512, .ran_ns = 4 * MS };
	FALSE(rg_runs_on(&thread));
	thread.utilised++;
	TRUE(rg_runs_on(&thread));
	thread.utilised--;
	thread.ran_ns++;
	TRUE(rg_runs_on(&thread));
	thread.ran_ns = thread.burst_mean_ns = 0;
	TRUE(rg_runs_on(&thread));
}

static void a_wait_begins_with_a_burst(void)
{
	struct rg_thread thread = { .held_at = 5 };

	rg_burst_begin(&thread, 9);
	SAME(thread.wants_at, 5);
	thread.held_at = 0;
	rg_burst_begin(&thread, 9);
	SAME(thread.wants_at, 9);
	thread.ran_ns = 1;
	rg_burst_begin(&thread, 11);
	SAME(thread.wants_at, 9);
}
