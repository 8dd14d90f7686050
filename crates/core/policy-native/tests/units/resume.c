/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that a quota holds and lets go (resume.h), through the callbacks. */

/* A group's timer is due now. */
static void timer_comes(u32 group)
{
	budget_of(group)->due_at = now;
	rg_group_due(group);
}

/* A group without anything left; two threads that want a CPU are held. */
static void held_threads(void)
{
	reset(8, 4);
	rg_init_group(1, 0, 100);
	sleeper(1, 1, 0);
	sleeper(2, 1, 0);
	rg_limit_group(1, 80 * MS, 100 * MS, 0);
	budget_of(1)->left_ns = 0;
	wakes(1);
	now += 5;
	wakes(2);
}

static void threads_are_held_and_let_go(void)
{
	held_threads();
	SAME(dsq_of(RG_HELD(1))->count, 2);
	SAME(budget_of(1)->held, 2);
	SAME(threads[1].counted, 0);
	SAME(threads[1].queued_at, now - 5);
	SAME(dispatches(0, 0), 0);
	timer_comes(1); /* it is too early */
	SAME(dsq_of(RG_HELD(1))->count, 2);
	now += 100 * MS;
	idle = 1 << 3;
	timer_comes(1);
	SAME(dsq_of(RG_HELD(1))->count, 0);
	SAME(budget_of(1)->held, 0);
	SAME(budget_of(1)->active, 2);
	SAME(threads[1].held, 0);
	SAME(threads[1].queued_at, now);
	SAME(threads[1].waits, rg_some(0));
	SAME(cpus[3].resumed, 1);
	SAME(cpus[3].hint, rg_some(0));
	SAME(kicks[3][RG_KICK_IDLE], 1);
	SAME(threads[1].burst, 0);
	SAME(threads[1].wants_at, now - 100 * MS - 5);
	/* The CPU takes the first; the other one's goes elsewhere. */
	idle = 1 << 2;
	SAME(dispatches(3, 0), 1);
	SAME(cpus[3].resumed, 0);
	SAME(cpus[2].resumed, 1);
	SAME(kicks[2][RG_KICK_IDLE], 1);
	FALSE(rg_resume_elsewhere(3));
	/* CPU 0 is as good as any; where none idles none is woken. */
	for (u32 none = 0; none < 2; none++) {
		held_threads();
		now += 100 * MS;
		idle = !none;
		timer_comes(1);
		SAME(cpus[0].resumed, !none);
		SAME(kicks[0][RG_KICK_IDLE], !none);
		SAME(dsq_of(0)->count, 2);
	}
}

/* As many as may have a turn: the first that may not is the last to be asked, but for sweeps. */
static void a_timer_lets_go_as_many_as_may(void)
{
	held_threads();
	budget_of(1)->swept_at = now + SECOND;
	budget_of(1)->left_ns = 50001;
	budget_of(1)->expected_ns = MS;
	timer_comes(1);
	SAME(budget_of(1)->held, 0);
	SAME(budget_of(1)->active, 2);
	held_threads();
	budget_of(1)->classes = 0; /* batch threads */
	threads[1].held_brief = threads[2].held_brief = budget_of(1)->held_brief = 0;
	budget_of(1)->swept_at = now + SECOND;
	budget_of(1)->left_ns = 4 * MS;
	timer_comes(1);
	SAME(budget_of(1)->held, 1);
	SAME(position_in(dsq_of(RG_HELD(1)), 2), 0);
	SAME(threads[2].held, rg_some(1));
	/* A sweep finds one that ends behind it. */
	sleeper(3, 1, 0);
	wakes(3);
	budget_of(1)->left_ns = 0;
	SAME(budget_of(1)->held, 2);
	tasks[3].ending = 1;
	timer_comes(1);
	SAME(threads[3].held, rg_some(1));
	budget_of(1)->swept_at = 0;
	timer_comes(1);
	SAME(threads[3].held, 0);
	SAME(threads[3].waits, rg_some(0));
	SAME(threads[2].held, rg_some(1));
}

/* What runs and has no turn left leaves its CPU, and is cut off. */
static void a_thread_without_a_turn_leaves_its_cpu(void)
{
	held_threads();
	now += 100 * MS;
	timer_comes(1);
	SAME(dispatches(0, 0), 1);
	tasks[1].runnable = 1;
	passes(1, MS);
	budget_of(1)->left_ns = -MS;
	SAME(dispatches(0, 1), 2);
	SAME(vacated, 1);
	rg_stopping(&tasks[1], 1);
	rg_enqueue(&tasks[1], 0);
	SAME(threads[1].held, rg_some(1));
	SAME(threads[1].cut_off, rg_some(0));
	SAME(threads[1].counted, 0);
	SAME(budget_of(1)->active, 1);
	/* To be held is no sleep for its burst. */
	SAME(threads[1].burst, MS);
	budget_of(1)->left_ns = 80 * MS;
	now += 20 * MS;
	timer_comes(1);
	SAME(threads[1].burst, MS);
	SAME(threads[1].held, 0);
}

/* A thread that is held and enqueued anew, or ends, is not held any more. */
static void a_held_thread_may_leave(void)
{
	held_threads();
	take(dsq_of(RG_HELD(1)), 0);
	rg_exit_thread(&tasks[1]);
	SAME(budget_of(1)->held, 1);
	SAME(threads[1].held, 0);
	take(dsq_of(RG_HELD(1)), 0);
	tasks[2].ending = 1;
	rg_enqueue(&tasks[2], 0);
	SAME(budget_of(1)->held, 0);
	SAME(threads[2].waits, rg_some(0));
	SAME(dsq_of(0)->count, 1);
	held_threads();
	SAME(rg_select_cpu(&tasks[1], 5), 5);
	SAME(budget_of(1)->held, 2);
}

/* Held by a group outside once the inner one lets it go. */
static void a_thread_goes_from_one_holder_to_the_next(void)
{
	reset(8, 4);
	limited_groups();
	sleeper(1, 2, 0);
	budget_of(2)->left_ns = 0;
	wakes(1);
	SAME(threads[1].held, rg_some(2));
	budget_of(2)->left_ns = SECOND;
	budget_of(1)->left_ns = 0;
	timer_comes(2);
	SAME(threads[1].held, rg_some(1));
	SAME(budget_of(2)->held, 0);
	SAME(budget_of(1)->held, 1);
	SAME(dsq_of(RG_HELD(1))->count, 1);
	SAME(dsq_of(RG_HELD(1))->at[0].key, now);
}

/* A turn that is over before a tick is timed where quotas are. */
static void a_chosen_thread_has_its_turn(void)
{
	reset(8, 4);
	rg_init_group(1, 0, 100);
	sleeper(1, 1, 0);
	rg_limit_group(1, MS, 100 * MS, 0);
	wakes(1);
	SAME(dispatches(0, 0), 1);
	SAME(cpu_timer[0], now + MS);
	cpu_timer[0] = RG_NEVER;
	tasks[1].runnable = 1;
	SAME(dispatches(0, 1), 1);
	SAME(cpu_timer[0], now + MS);
	rg_stopping(&tasks[1], 0);
	cpu_timer[0] = RG_NEVER;
	idle = 1;
	wakes(1);
	SAME(cpu_timer[0], now + MS);
}

/* A thread that is not where it shall be let go from is asked for again soon. */
static void what_could_not_be_moved_is_tried_again(void)
{
	held_threads();
	now += 100 * MS;
	no_moves = 1;
	group_timer[1] = RG_NEVER;
	timer_comes(1);
	SAME(budget_of(1)->held, 0);
	SAME(group_timer[1], now + RG_RETRY_NS);
}

/* A batch thread that is held learns whether its group's are owed their turns. */
static void a_held_batch_thread_is_owed_its_turn(void)
{
	for (u32 brief = 0; brief < 2; brief++) {
		held_threads();
		threads[1].held_brief = brief;
		budget_of(1)->owed_ns = 10 * SECOND;
		timer_comes(1);
		SAME(threads[1].held, rg_some(1));
		SAME(threads[1].owed, !brief);
	}
}

/* A thread that runs when its group gets a quota counts before its turn is reckoned. */
static void a_turn_is_reckoned_with_the_thread_itself(void)
{
	reset(8, 4);
	rg_init_group(1, 0, 100);
	sleeper(1, 1, 0);
	sleeper(2, 1, 0);
	rg_limit_group(1, 80 * MS, 100 * MS, 0);
	budget_of(1)->classes = 0; /* batch threads */
	wakes(1);
	wakes(2);
	SAME(dispatches(0, 0), 1);
	budget_of(1)->left_ns = 3 * MS; /* less than the other one's turn */
	budget_of(1)->expected_ns = 1;
	rg_quota_leave(&threads[1]);
	cpu_timer[0] = RG_NEVER;
	rg_turn_begin(0);
	SAME(cpu_timer[0], now + RG_TURN_LEAST_NS);
}

/* It waits at the idle CPU that was found for it, also at the first. */
static void a_thread_is_let_go_at_an_idle_cpu(void)
{
	held_threads();
	tasks[1].cpu = tasks[2].cpu = 5;
	now += 100 * MS;
	idle = 1;
	timer_comes(1);
	SAME(threads[1].waits, rg_some(0));
	SAME(cpus[0].resumed, 1);
}
