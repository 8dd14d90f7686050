/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets that compete for a CPU (span.h, converge.h). */

/* Row 5 of the sets is that of CPUs 0 to 3, 6 that of 0 and 1; both are known to run on CPU 0. */
static void two_sets(void)
{
	reset(8, 4);
	shared.cpusets[5].affinity = 55;
	shared.cpusets[6].affinity = 66;
	rg_admit(&shared, &cpus[0], 5);
	rg_admit(&shared, &cpus[0], 6);
	for (u32 set = 0; set < 7; set++)
		vtime_of_set(set)->met_at = now;
}

/* A thread of a set waits in the queue of CPU 0, or in its own. */
static void set_waits(u32 row, u32 queue, u32 set, long long ms)
{
	thread_in(row, row, 0, 0);
	threads[row].pool = row << 1 | 1;
	threads[row].cpuset = set;
	threads[row].weight = NICE_0;
	threads[row].burst_mean_ns = MS;
	threads[row].account.vruntime = at(ms);
	threads[row].account.vtime = rg_some(queue ? RG_CPUSETS + queue : set);
	put(dsq_of(queue), (struct place){ &tasks[row], row, 0 });
	rg_index_enter_row(row, queue, at(ms));
}

static void runs_of(u32 row, u32 set, long long ms)
{
	runs(row, 0, set, ms, NICE_0);
	threads[row].weight = NICE_0;
	threads[row].cpuset = set < RG_CPUSETS ? set : 0;
	threads[row].account.vtime = rg_some(set);
	threads[row].account.vruntime = at(ms);
}

static bool converges(u32 row)
{
	return rg_converge(&cpus[0], 0, &tasks[row], &threads[row]);
}

/* Half of a second is more than the 314 ms that a set may be behind another. */
static void a_set_far_behind_is_raised(void)
{
	two_sets();
	set_waits(1, 0, 0, 1000);
	set_waits(2, 0, 5, 500);
	runs_of(3, 0, 1010);
	vtime_of_set(5)->min_vruntime = at(490);
	TRUE(converges(3));
	SAME(vtime_of_set(5)->shift, (1000 - 314 - 500) * MS);
	SAME(vtime_of_set(5)->min_vruntime, at(490 + 186));
	SAME(vtime_of_all()->shift, 0);
	SAME(queues[0].least, at(686));
	SAME(cpus[0].span.last.vruntime, at(686)); /* what follows sees it there */
	SAME(cpus[0].span.bound.vruntime, at(686));
	TRUE(converges(3));
	SAME(vtime_of_set(5)->shift, 186 * MS); /* once */
	SAME(threads[3].account.vruntime, at(1010));
}

/* A thread that was placed before the min_vruntime does not put its set behind. */
static void a_placed_thread_puts_no_set_behind(void)
{
	two_sets();
	set_waits(1, 0, 0, 1000);
	set_waits(2, 0, 5, 500);
	runs_of(3, 0, 1010);
	vtime_of_set(5)->min_vruntime = at(600);
	TRUE(converges(3));
	SAME(vtime_of_set(5)->shift, 86 * MS);
	vtime_of_set(5)->min_vruntime = at(690);
	TRUE(converges(3));
	SAME(vtime_of_set(5)->shift, 86 * MS);
}

/* Sets that do not run here, as far as is known, are none of its business. */
static void a_set_of_other_cpus_is_left_alone(void)
{
	two_sets();
	cpus[0].admits[5] = 0;
	set_waits(1, 0, 0, 1000);
	set_waits(2, 0, 5, 500);
	runs_of(3, 0, 1010);
	TRUE(converges(3));
	SAME(vtime_of_set(5)->shift, 0);
	/* A tick meets a thread of it here. */
	runs_of(4, 5, 500);
	TRUE(converges(4));
	SAME(cpus[0].admits[5], 55);
	TRUE(vtime_of_set(5)->shift);
}

/* A set whose threads wait in two queues is where the last look has seen the foremost of all. */
static void a_set_is_where_it_waits_in_any_queue(void)
{
	two_sets();
	set_waits(1, 0, 0, 1000);
	set_waits(2, 0, 5, 500);
	set_waits(4, 1, 0, 800);
	runs_of(3, 0, 1010);
	vtime_of_all()->min_vruntime = at(700);
	vtime_of_all()->ahead = 100 * MS;
	vtime_of_all()->mean_weight = NICE_0;
	TRUE(converges(3));
	SAME(vtime_of_set(5)->shift, 0);
	/* None of it waits here any more, and what runs of it is far behind. */
	rg_index_leave(&threads[1]);
	runs_of(3, 0, 300);
	TRUE(converges(3));
	SAME(vtime_of_all()->shift, 0);
	SAME(threads[3].account.vruntime, at(800 - 314));
}

/* What runs is raised alone behind where the waiting threads of its set are. */
static void what_runs_is_raised_to_where_its_set_waits(void)
{
	two_sets();
	set_waits(1, 0, 0, 1000);
	set_waits(2, 0, 5, 1000);
	runs_of(3, 0, 500);
	TRUE(converges(3));
	SAME(threads[3].account.vruntime, at(686));
	SAME(cpus[0].vruntime, at(686));
	SAME(vtime_of_all()->shift, 0);
	/* Where none waits the set is where it is: at the begin of its turn. */
	two_sets();
	set_waits(2, 0, 5, 1000);
	runs_of(3, 0, 500);
	vtime_of_all()->min_vruntime = at(480);
	TRUE(converges(3));
	SAME(vtime_of_all()->shift, (686 - 486) * MS);
	SAME(threads[3].account.vruntime, at(700));
	SAME(cpus[0].vruntime, at(700));
}

/* One that has met no other for 300 ms: the others are raised to it, it to the foremost of them. */
static void a_newcomer_has_no_lead(void)
{
	two_sets();
	set_waits(1, 0, 0, 1000);
	set_waits(2, 0, 5, 900);
	runs_of(3, 0, 1010);
	vtime_of_set(5)->met_at = now - 300 * MS;
	TRUE(converges(3));
	SAME(vtime_of_set(5)->shift, 0);
	vtime_of_set(5)->met_at = now - 300 * MS - 1;
	TRUE(converges(3));
	SAME(vtime_of_set(5)->shift, 100 * MS);
	SAME(vtime_of_set(5)->met_at, now);
	vtime_of_all()->met_at = now - SECOND;
	two_sets();
	set_waits(1, 0, 0, 1000);
	set_waits(2, 0, 5, 900);
	runs_of(3, 0, 1010);
	vtime_of_all()->met_at = now - SECOND;
	TRUE(converges(3));
	SAME(vtime_of_set(5)->shift, 100 * MS);
	SAME(vtime_of_all()->shift, 0);
	now += 75 * MS;
	TRUE(converges(3));
	SAME(vtime_of_all()->met_at, now - 75 * MS);
	now++;
	TRUE(converges(3));
	SAME(vtime_of_all()->met_at, now);
}

/* All that waits and runs shares one virtual time: nothing to compare. */
static void one_virtual_time_is_converged(void)
{
	two_sets();
	runs_of(3, 0, 500);
	FALSE(converges(3));
	set_waits(1, 0, 0, 1000);
	FALSE(converges(3));
	cpus[0].vtime = 5;
	TRUE(rg_is_converged(&queues[0], &queues[0], &cpus[0]));
	FALSE(rg_is_converged(&queues[0], &queues[8], &cpus[0]));
	cpus[0].vtime = 0;
	TRUE(rg_is_converged(&queues[0], &queues[8], &cpus[0]));
	queues[8].least = at(5);
	FALSE(rg_is_converged(&queues[0], &queues[8], &cpus[0]));
	rg_index_leave_row(1);
	FALSE(rg_is_converged(&queues[0], &queues[8], &cpus[0]));
	cpus[0].vtime = RG_CPUSETS + 8;
	TRUE(rg_is_converged(&queues[0], &queues[8], &cpus[0]));
	queues[8].least = RG_NEVER;
	FALSE(rg_is_converged(&queues[0], &queues[8], &cpus[0]));
	cpus[0].vtime = RG_CPUSETS;
	FALSE(rg_is_converged(&queues[0], &queues[8], &cpus[0]));
	cpus[0].vtime = 0;
	set_waits(1, 0, 5, 1000);
	FALSE(rg_is_converged(&queues[0], &queues[8], &cpus[0]));
	options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
	FALSE(converges(3));
}

/* Bound threads that wait: forward to no further than 314 ms behind the last of the sets. */
static void bound_threads_come_after_the_sets(void)
{
	struct rg_vtime *own = &queues[8].vtime;

	two_sets();
	own->met_at = now;
	set_waits(1, 0, 0, 1000);
	set_waits(2, 8, 0, 500);
	runs_of(3, 0, 1010);
	TRUE(converges(3));
	SAME(own->shift, 186 * MS);
	SAME(queues[8].least, at(686));
	SAME(cpus[0].span.bound.vruntime, at(686));
	SAME(own->met_at, now);
	TRUE(converges(3));
	SAME(own->shift, 186 * MS);
	/* They are raised with the set, as far as they are behind it, and not beyond. */
	vtime_of_all()->shift += 100 * MS;
	TRUE(converges(3));
	SAME(own->shift, 286 * MS);
	vtime_of_all()->shift += 900 * MS;
	TRUE(converges(3));
	SAME(queues[8].least, at(1686));
}

/* Back, if a turn does not reach the sets; at once where they met none lately. */
static void bound_threads_come_back_to_the_sets(void)
{
	struct rg_vtime *own = &queues[8].vtime;

	two_sets();
	own->met_at = now;
	set_waits(1, 0, 0, 1000);
	set_waits(2, 8, 0, 1000 + 314);
	runs_of(3, 0, 1010);
	own->min_vruntime = at(1314);
	TRUE(converges(3));
	SAME(own->shift, 0);
	own->met_at = now - 301 * MS;
	TRUE(converges(3));
	SAME(queues[8].least, at(1000));
	two_sets();
	own->met_at = now;
	set_waits(1, 0, 0, 1000);
	set_waits(2, 8, 0, 1400);
	runs_of(3, 0, 1010);
	own->min_vruntime = at(1400);
	TRUE(converges(3));
	SAME(queues[8].least, at(1314));
	/* One of them that runs, and is the foremost, is where they are. */
	two_sets();
	own->met_at = now;
	set_waits(1, 0, 0, 1000);
	set_waits(2, 8, 0, 1400);
	runs_of(3, RG_CPUSETS + 8, 600);
	own->min_vruntime = at(0);
	TRUE(converges(3));
	SAME(own->shift, 86 * MS);
	SAME(threads[3].account.vruntime, at(686));
}

/* A bound thread that runs alone is raised by itself, not its virtual time. */
static void a_bound_thread_alone_is_raised_by_itself(void)
{
	two_sets();
	queues[8].vtime.met_at = now;
	set_waits(1, 0, 0, 1000);
	runs_of(3, RG_CPUSETS + 8, 500);
	TRUE(converges(3));
	SAME(queues[8].vtime.shift, 0);
	SAME(threads[3].account.vruntime, at(686));
	options.infeasible = 0;
	runs_of(3, RG_CPUSETS + 8, 500);
	TRUE(converges(3));
	SAME(threads[3].account.vruntime, at(686));
}

/* Sets 5 and 6 are behind that of all CPUs, by a second and more. */
static void two_fall_behind(void)
{
	set_waits(1, 0, 0, 2000);
	set_waits(2, 0, 5, 1000);
	set_waits(4, 0, 6, 900);
	runs_of(3, 0, 2010);
	vtime_of_set(5)->min_vruntime = vtime_of_set(6)->min_vruntime = at(0);
}

/* Three sets of which two are behind: the last takes part in what the other is raised by. */
static void sets_that_fall_behind_are_raised_together(void)
{
	two_sets();
	two_fall_behind();
	TRUE(converges(3));
	/* 5 to where it may be; 6 as far behind that as 5 was before. */
	SAME(vtime_of_set(5)->shift, 686 * MS);
	SAME(vtime_of_set(5)->raised, 686 * MS);
	SAME(vtime_of_set(6)->shift, (1000 - 314 + 686 - 900) * MS);
	SAME(vtime_of_set(6)->raised, 0);
	/* With infeasible=off each by itself. */
	two_sets();
	options.infeasible = 0;
	two_fall_behind();
	TRUE(converges(3));
	SAME(vtime_of_set(6)->shift, 786 * MS);
	SAME(vtime_of_set(6)->raised, 786 * MS);
}

static void a_set_takes_part_in_raises_elsewhere(void)
{
	struct rg_span span = { .now = now, .raised = 500, .foremost = at(1000) };
	struct rg_foremost first = { .vruntime = at(100), .floor = at(-200), .batch = 1 };
	struct rg_vtime vtime = { .raised = 200, .raised_at = now - 300 * MS + 1 };

	rg_span_join(&span, &vtime, &first);
	SAME(vtime.shift, 300);
	SAME(first.vruntime, at(100) + 300);
	SAME(first.floor, at(-200) + 300);
	SAME(vtime.raised, 500);
	SAME(vtime.raised_at, now);
	vtime = (struct rg_vtime){ .raised_at = now - 300 * MS };
	rg_span_join(&span, &vtime, &first);
	SAME(vtime.shift, 0);
	SAME(vtime.raised, 500);
	vtime = (struct rg_vtime){ .raised_at = now };
	first.batch = 0;
	rg_span_join(&span, &vtime, &first);
	SAME(vtime.shift, 0);
	vtime = (struct rg_vtime){ .raised_at = now, .raised = 9 };
	first.batch = 1;
	span.foremost = first.vruntime + 40; /* not beyond the foremost */
	rg_span_join(&span, &vtime, &first);
	SAME(vtime.shift, 40);
	vtime = (struct rg_vtime){ .raised_at = now, .raised = 900 };
	rg_span_join(&span, &vtime, &first);
	SAME(vtime.shift, 0);
	SAME(vtime.raised, 900);
}

/* The two that are behind all others, and how far all may be. */
static void a_span_knows_the_last_two(void)
{
	long long ms[] = { 50, 20, 90, 30, 10, 40 };

	cpus[0].span.raised = cpus[0].span.count = 7; /* of the tick before */
	rg_span_begin(&cpus[0].span, 0);
	SAME(cpus[0].span.raised, 0);
	SAME(cpus[0].span.count, 0);
	for (u32 i = 0; i < 6; i++) {
		struct rg_foremost first = { .vruntime = at(ms[i]), .set = i };

		first.floor = at(ms[i] - 314);
		rg_span_note(&cpus[0].span, &first, i == 3);
		rg_span_note_last(&cpus[0].span, &first, i == 4);
	}
	SAME(cpus[0].span.least.set, 4);
	SAME(cpus[0].span.second.set, 1);
	SAME(cpus[0].span.foremost, at(90));
	SAME(cpus[0].span.floor, at(90 - 314));
	SAME(cpus[0].span.alone, at(30 - 314));
	SAME(cpus[0].span.last.set, 4);
	SAME(cpus[0].span.bound.set, 1);
	rg_span_begin(&cpus[0].span, 0);
	for (u32 i = 0; i < 3; i++) {
		long long from_the_last[] = { 10, 30, 20 };
		struct rg_foremost first = { .vruntime = at(from_the_last[i]), .set = i };

		rg_span_note(&cpus[0].span, &first, 0);
	}
	SAME(cpus[0].span.least.set, 0);
	SAME(cpus[0].span.second.set, 2);
	SAME(rg_last(RG_NEVER, 5), 5);
	SAME(rg_last(5, RG_NEVER), 5);
	SAME(rg_last(4, 5), 5);
	SAME(rg_last(5, 4), 5);
}

/* A raise is noted of the second last set, and of one that is beside the last. */
static void raises_are_noted_of_the_last_sets(void)
{
	for (u32 set = 4; set < 6; set++) {
		struct rg_span span = { .second.set = 5, .floor = at(0), .raised = 10 };
		struct rg_foremost first = { .set = set, .floor = at(10) };
		struct rg_vtime vtime = { .raised = 50 };

		span.least.vruntime = at(1000);
		rg_span_note_raised(&span, &vtime, &first);
		SAME(span.raised, set == 5 ? 50 : 10);
	}
}

/* A set that waits beyond the queue counts where none of it waits or runs here. */
static void a_set_beyond_counts(void)
{
	struct rg_foremost first;

	two_sets();
	cpus[0].span.beyond = 1 << 5;
	TRUE(rg_foremost_of(0, vtime_of_set(5), &cpus[0], 5, &first));
	FALSE(rg_foremost_of(0, vtime_of_set(6), &cpus[0], 6, &first));
}

/* A set that waits beyond is where the last look has seen it, as far before others as a turn. */
static void a_set_beyond_has_a_floor(void)
{
	struct rg_vtime vtime = { .min_vruntime = at(500), .mean_weight = NICE_0, .has_batch = 3 };
	struct rg_foremost first = rg_foremost_beyond(&vtime, 5);

	SAME(first.vruntime, at(500));
	SAME(first.floor, at(500 - 314));
	SAME(first.set, 5);
	TRUE(first.batch);
}

/* Bound threads take part in what the last set is raised by since they met it there. */
static void bound_threads_follow_one_set_at_a_time(void)
{
	struct rg_span span = { .last = { .vruntime = at(1000), .set = 5 } };
	struct rg_queue *own = &queues[8];

	two_sets();
	vtime_of_set(5)->shift = 400 * MS;
	vtime_of_set(6)->shift = 900 * MS;
	SAME(rg_follow(&shared, own, &span, at(500)), 0);
	vtime_of_set(5)->shift += 30 * MS;
	SAME(rg_follow(&shared, own, &span, at(500)), 30 * MS);
	SAME(rg_follow(&shared, own, &span, at(500)), 0);
	span.last.set = 6;
	SAME(rg_follow(&shared, own, &span, at(500)), 0);
	vtime_of_set(6)->shift += 800 * MS;
	SAME(rg_follow(&shared, own, &span, at(500)), 500 * MS); /* as far as they are behind */
	vtime_of_set(6)->shift += 800 * MS;
	span.last.vruntime = RG_NEVER;
	SAME(rg_follow(&shared, own, &span, at(500)), 0);
}

/* A virtual time has met another one where two compete. */
static void one_virtual_time_meets_none(void)
{
	for (u32 count = 1; count < 3; count++) {
		struct rg_span span = { .now = now, .count = count };
		struct rg_vtime vtime = { .met_at = now - SECOND };

		rg_meet(&vtime, &span);
		SAME(vtime.met_at, count > 1 ? now : now - SECOND);
	}
}

/* The first that waits and may not run everywhere: of a set, or bound to the CPU. */
static void the_first_bound_thread_is_of_either_kind(void)
{
	for (long long ms = 890; ms < 920; ms += 20) {
		two_sets();
		queues[8].vtime.met_at = now;
		set_waits(1, 0, 0, 1000);
		set_waits(2, 8, 0, ms);
		set_waits(4, 0, 5, 900);
		runs_of(3, 0, 1010);
		TRUE(converges(3));
		SAME(cpus[0].span.bound.vruntime, at(ms < 900 ? ms : 900));
		SAME(cpus[0].span.bound.set, ms < 900 ? 0 : 5);
	}
}
