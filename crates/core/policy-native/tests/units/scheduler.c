/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The callbacks (scheduler.h), and what begins and ends with a wake-up (activate.h). */

static struct rg_thread *sleeper(u32 row, u32 group, s32 cpu)
{
	thread_in(row, row, group, cpu);
	threads[row].fresh = 0;
	threads[row].burst_mean_ns = threads[row].burst_usual_ns = MS;
	threads[row].slept_at = now;
	return &threads[row];
}

static void wakes(u32 row)
{
	s32 cpu = tasks[row].pinned ? tasks[row].cpu : rg_select_cpu(&tasks[row], tasks[row].cpu);

	tasks[row].cpu = cpu;
	if (position_in(dsq_of(LOCAL(cpu)), row) < 0)
		rg_enqueue(&tasks[row], RG_ENQUEUE_WAKEUP);
}

/* The CPU asks; the next thread that it runs. */
static u32 dispatches(s32 cpu, u32 prev)
{
	dispatching = cpu;
	rg_dispatch(cpu, prev ? &tasks[prev] : 0);
	return dsq_of(LOCAL(cpu))->count ? take(dsq_of(LOCAL(cpu)), 0).thread->row : prev;
}

static void passes(u32 row, u64 ns)
{
	now += ns;
	tasks[row].exec_ns += ns;
}

static void a_new_thread_is_blank(void)
{
	threads[1].owes_ns = 5;
	tasks[1].exec_ns = 9;
	thread_in(1, 7, 3, 0);
	SAME(threads[1].owes_ns, 0);
	SAME(threads[1].slot, 1);
	SAME(threads[1].process, 1 << 20 | 7);
	SAME(threads[1].slept_at, now);
	SAME(threads[1].weight, NICE_0);
	SAME(threads[1].fresh, 1);
	SAME(threads[1].group, 3);
	tasks[1].exec_ns = 77;
	rg_init_thread(&tasks[1], 0);
	SAME(threads[1].exec_seen, 77);
}

/* What begins when a thread wakes. */
static void a_thread_becomes_active(void)
{
	struct rg_thread *thread = sleeper(1, 1, 0);

	reset(8, 4);
	rg_init_group(1, 0, 100);
	thread = sleeper(1, 1, 0);
	rg_limit_group(1, 80 * MS, 100 * MS, 0);
	thread->burst = 5 * MS;
	thread->slept_at = now - 2 * MS;
	thread->exec_seen = RG_NEVER;
	thread->utilised = 1024;
	thread->cut_off = 0;
	tasks[1].exec_ns = 33;
	processes[1].burst_mean_ns = 3 * MS;
	rg_activate(&tasks[1], thread, 5, now);
	SAME(thread->burst, 3 * MS);
	SAME(thread->burst_usual_ns, 3 * MS);
	SAME(thread->queue, rg_some(1));
	SAME(thread->exec_seen, 33);
	NEAR(thread->utilised, 1024 - 32, 1e9, 1);
	SAME(thread->counted, 1024);
	SAME(thread->spends, RG_SPENDS | RG_SPENDS_BRIEFLY(0));
	SAME(groups[1].share.active, 1024);
	SAME(groups[1].budget.active, 1);
	SAME(thread->wants_at, now);
	SAME(thread->woke_at, now);
	SAME(thread->arrival, now);
	SAME(thread->pool, rg_pool(&tasks[1], thread));
	SAME(thread->account.vtime, rg_some(0));
	SAME(vtime_of_all()->least, thread->account.vruntime);
	SAME(cpus[5].looked_at, now);
	now += MS;
	rg_deactivate(&tasks[1], thread);
	SAME(thread->slept_at, now);
	SAME(thread->counted, 0);
	SAME(thread->queue, 0);
	SAME(thread->spends, 0);
	SAME(groups[1].share.active, 0);
	SAME(groups[1].budget.active, 0);
}

/* One that was cut off keeps its distance, and no look comes between those of a group. */
static void a_cut_off_thread_comes_back(void)
{
	reset(8, 4);
	sleeper(1, 0, 0);
	threads[1].account = (struct rg_account){ .vruntime = at(500), .vtime = rg_some(0) };
	vtime_of_all()->min_vruntime = at(1000);
	rg_cut_off(&threads[1], &threads[1].account);
	rg_activate(&tasks[1], &threads[1], 0, now);
	SAME(cpus[0].looked_at, 0);
	SAME(threads[1].account.vruntime, at(500));
	SAME(threads[1].cut_off, 0);
	SAME(vtime_of_all()->least, at(500));
}

static void an_idle_cpu_takes_a_waking_thread_at_once(void)
{
	reset(8, 4);
	sleeper(1, 0, 2);
	idle = 1 << 6;
	SAME(rg_select_cpu(&tasks[1], 2), 6);
	SAME(cpus[6].thread, 1);
	TRUE(cpus[6].pool);
	SAME(threads[1].cpu, 6);
	SAME(inserted, 1);
	SAME(dsq_of(LOCAL(2))->count, 1);
}

/* Where none idles it waits at the CPU that it preempts, if that is of another queue. */
static void a_waking_thread_goes_to_its_victim(void)
{
	reset(8, 4);
	sleeper(1, 0, 0);
	runs(2, 6, 0, 50, NICE_0);
	SAME(rg_select_cpu(&tasks[1], 0), 6);
	SAME(threads[1].victim, rg_some(6));
	SAME(threads[1].queued_at, now);
	cpus[6].pool = 0;
	runs(2, 2, 0, 50, NICE_0);
	SAME(rg_select_cpu(&tasks[1], 0), 0);
	SAME(threads[1].victim, rg_some(2));
	rg_enqueue(&tasks[1], RG_ENQUEUE_WAKEUP);
	SAME(kicks[2][RG_KICK_PREEMPT], 1);
	SAME(threads[1].victim, 0);
	SAME(dsq_of(0)->count, 1);
	cpus[2].ordered = 0;
	rg_select_cpu(&tasks[1], 0);
	rg_enqueue(&tasks[1], 0); /* it does not wake */
	SAME(kicks[2][RG_KICK_PREEMPT], 1);
	cpus[2].pool = 0;
	SAME(rg_select_cpu(&tasks[1], 0), 0);
	SAME(threads[1].victim, 0);
	options.preempt = 0;
	threads[1].counted = 0;
	rg_select_cpu(&tasks[1], 0);
	SAME(threads[1].counted, 0);
	rg_enqueue(&tasks[1], RG_ENQUEUE_WAKEUP);
	SAME(kicks[2][RG_KICK_PREEMPT], 1);
	options.preempt = 1;
	threads[1].fresh = 1;
	threads[1].counted = 0;
	runs(2, 2, 0, 50, NICE_0);
	TRUE(rg_select_cpu(&tasks[1], 0) >= 4); /* a new one goes to an empty queue */
	SAME(threads[1].counted, 0);
}

static void a_bound_thread_preempts_its_cpu(void)
{
	reset(8, 4);
	sleeper(1, 0, 3);
	bind(&tasks[1], 8);
	threads[1].burst_mean_ns = SECOND;
	runs(2, 3, 0, 50, NICE_0);
	rg_enqueue(&tasks[1], RG_ENQUEUE_WAKEUP);
	SAME(kicks[3][RG_KICK_PREEMPT], 1);
	SAME(dsq_of(11)->count, 1);
	SAME(threads[1].queue, rg_some(0));
	rg_enqueue(&tasks[1], 0);
	SAME(kicks[3][RG_KICK_PREEMPT], 1);
}

/* One that may go elsewhere, and has found no CPU to preempt, preempts none. */
static void a_thread_without_a_victim_preempts_none(void)
{
	reset(8, 4);
	sleeper(1, 0, 0);
	runs(2, 0, 0, 50, NICE_0);
	rg_enqueue(&tasks[1], RG_ENQUEUE_WAKEUP);
	SAME(kicks[0][RG_KICK_PREEMPT], 0);
	SAME(threads[1].waits, rg_some(0));
}

/* A thread waits in the queue by arrival and in the index, once; an idle CPU is woken for it. */
static void an_enqueued_thread_waits(void)
{
	reset(8, 4);
	sleeper(1, 0, 0);
	idle = 1 << 5;
	rg_enqueue(&tasks[1], 0);
	SAME(threads[1].waits, rg_some(0));
	SAME(threads[1].queued_at, now);
	SAME(dsq_of(0)->at[0].key, now);
	SAME(dsq_of(0)->at[0].slice_ns, 4 * MS);
	SAME(kicks[5][RG_KICK_IDLE], 1);
	SAME(cpus[5].hint, rg_some(0));
	take(dsq_of(0), 0);
	rg_enqueue(&tasks[1], 0);
	SAME(queues[0].heaps[0].count, 1);
	tasks[1].weight = 15; /* another nice value: it counts anew */
	take(dsq_of(0), 0);
	rg_enqueue(&tasks[1], 0);
	SAME(threads[1].counted, 15);
	tasks[1].kthread = 1;
	rg_enqueue(&tasks[1], 0);
	SAME(inserted, 1 + (RG_INSERT_HEAD | RG_INSERT_PREEMPT));
}

static void a_promised_thread_tells_its_queue(void)
{
	reset(8, 4);
	promised_groups();
	sleeper(1, 3, 0);
	rg_enqueue(&tasks[1], RG_ENQUEUE_WAKEUP);
	SAME(threads[1].promise, 2);
	SAME(queues[0].urgent_at, now + 16 * MS);
	options.promises = 0;
	queues[0].urgent_at = RG_NEVER;
	sleeper(2, 3, 0);
	rg_enqueue(&tasks[2], RG_ENQUEUE_WAKEUP);
	SAME(queues[0].urgent_at, RG_NEVER);
	options.promises = 1;
	rg_exit_thread(&tasks[1]);
	SAME(promise()->wakes, 1);
	SAME(threads[1].exec_seen, RG_NEVER);
	SAME(threads[1].waits, 0);
	SAME(threads[1].counted, 0);
}

/* The CPU's own thread goes on where it is the best; else another comes. */
static void a_cpu_chooses(void)
{
	reset(8, 4);
	sleeper(1, 0, 0);
	sleeper(2, 0, 0);
	wakes(1);
	SAME(dispatches(0, 0), 1);
	tasks[1].runnable = 1;
	passes(1, MS);
	slices[1] = 9;
	SAME(dispatches(0, 1), 1);
	SAME(slices[1], 4 * MS);
	SAME(rg_vruntime_running(&cpus[0], now), threads[1].account.vruntime);
	passes(1, 30 * MS);
	wakes(2);
	slices[1] = 9;
	SAME(dispatches(0, 1), 2);
	SAME(slices[1], 9);
	rg_stopping(&tasks[1], 1);
	rg_enqueue(&tasks[1], 0);
	tasks[2].runnable = 1;
	passes(2, 200 * MS);
	SAME(dispatches(0, 2), 1);
	rg_stopping(&tasks[2], 0);
	SAME(threads[2].counted, 0);
	SAME(threads[2].ran_ns, 0);
	tasks[1].runnable = 0; /* it blocked */
	SAME(dispatches(0, 1), 1);
}

/* What goes on learns what its groups are promised now, and a batch thread arrives anew. */
static void what_goes_on_is_asked_anew(void)
{
	reset(8, 4);
	promised_groups();
	sleeper(1, 3, 0);
	wakes(1);
	dispatches(0, 0);
	threads[1].promise = 0;
	threads[1].batch = tasks[1].runnable = 1;
	passes(1, 20 * MS);
	SAME(dispatches(0, 1), 1);
	SAME(threads[1].promise, 2);
	SAME(threads[1].lent, RG_LENT_SERVES);
	SAME(threads[1].arrival, now);
}

/* In stopping: what goes on elsewhere stays shown, what blocks does not, but for its follower. */
static void a_thread_stops(void)
{
	reset(8, 4);
	sleeper(1, 0, 0);
	sleeper(2, 0, 0);
	wakes(1);
	dispatches(0, 0);
	passes(1, MS);
	rg_stopping(&tasks[1], 1);
	TRUE(cpus[0].pool);
	SAME(cpus[0].weight, 0);
	SAME(cpus[0].vruntime, threads[1].account.vruntime);
	SAME(threads[1].counted, 1024);
	cpus[0].weight = 7;
	cpus[0].thread = 2; /* the next one is announced already */
	rg_stopping(&tasks[1], 0);
	TRUE(cpus[0].pool && cpus[0].weight == 7);
	SAME(threads[1].counted, 0);
	cpus[0].thread = 1;
	rg_stopping(&tasks[1], 0);
	SAME(cpus[0].pool, 0);
	threads[2].pool = 44;
	cpus[0].follower = 2;
	rg_stopping(&tasks[1], 0);
	SAME(cpus[0].thread, 2);
	SAME(cpus[0].pool, 44);
}

static void a_tick_meets_what_runs(void)
{
	reset(8, 4);
	sleeper(1, 0, 0);
	cpus[0].pool = 0;
	rg_tick(&tasks[1]); /* it came without a callback */
	SAME(threads[1].counted, 1024);
	SAME(cpus[0].thread, 1);
	TRUE(cpus[0].pool);
	SAME(cpus[0].looked_at, now);
	slices[1] = 9;
	passes(1, MS);
	rg_tick(&tasks[1]);
	SAME(threads[1].ran_ns, MS);
	SAME(cpus[0].vruntime, threads[1].account.vruntime);
	SAME(slices[1], 9);
	threads[2].pool = threads[1].pool;
	threads[2].arrival = now;
	cpus[0].follower = 2;
	rg_tick(&tasks[1]);
	SAME(slices[1], 4 * MS);
	rg_init_group(1, 0, 100);
	rg_limit_group(1, MS, 100 * MS, 0);
	groups[1].budget.left_ns = 0;
	rg_move_thread_group(&tasks[1], 1);
	SAME(threads[1].counted, 0);
	SAME(threads[1].group, 1);
	rg_tick(&tasks[1]);
	SAME(slices[1], 0);
}

static void a_yield_ends_the_slice(void)
{
	reset(8, 4);
	sleeper(1, 0, 0);
	slices[1] = 9;
	threads[1].arrival = 5;
	rg_yield(&tasks[1]);
	SAME(slices[1], 0);
	SAME(threads[1].arrival, now);
	TRUE(rg_yields(&threads[1]));
	options.yields = 0;
	threads[1].arrival = 5;
	rg_yield(&tasks[1]);
	SAME(threads[1].arrival, 5);
}

/* A CPU that falls idle asks again where a thread waits that did not see it idle. */
static void an_idle_cpu_asks_again(void)
{
	for (u32 reason = 0; reason < 8; reason++) {
		reset(8, 4);
		cpus[0].pool = 5;
		cpus[0].choices = 3;
		queues[0].waiting = reason == 1;
		queues[0].unlisted = reason == 2;
		queues[8].least = reason == 3 ? 5 : RG_NEVER;
		queues[8].unlisted = reason == 4;
		queues[1].waiting = reason >= 5;
		if (reason == 6)
			options.balance = RG_BALANCE_NONE;
		if (reason == 7)
			cpus[0].last_choice = 3;
		rg_idle(0);
		SAME(kicks[0][RG_KICK_IDLE], reason && reason < 6);
		SAME(cpus[0].pool, 0);
	}
	cpus[0].choices = 4;
	TRUE(rg_is_waited_beyond(0));
	SAME(cpus[0].last_choice, 5);
	queues[1].waiting = 0;
	FALSE(rg_is_waited_beyond(0));
	shared.queues = 1;
	queues[1].waiting = 1;
	FALSE(rg_is_waited_beyond(0));
	options.pick = RG_PICK_CREDIT;
	put(dsq_of(0), (struct place){ &tasks[1], 1, 0 });
	rg_idle(0);
	SAME(kicks[0][RG_KICK_IDLE], 1);
}

/* A walk that finds none must end: each newcomer is worth eight. */
static void walks_of_an_idle_cpu_end(void)
{
	reset(8, 4);
	FALSE(rg_walks_again(&cpus[0], &queues[0]));
	queues[0].unlisted = 1;
	for (u32 i = 0; i < 10; i++)
		SAME(rg_walks_again(&cpus[0], &queues[0]), i < 8);
	queues[0].came++;
	for (u32 i = 0; i < 10; i++)
		SAME(rg_walks_again(&cpus[0], &queues[0]), i < 8);
}

/* A CPU of the ninth queue is not asked for. */
static void eight_queues_are_looked_at_beyond(void)
{
	reset(16, 1);
	cpus[0].choices = 1;
	queues[9].waiting = 1;
	FALSE(rg_is_waited_beyond(0));
	queues[8].waiting = 1;
	TRUE(rg_is_waited_beyond(0));
	cpus[0].choices = 0;
	cpus[0].last_choice = 9;
	queues[8].waiting = 0;
	queues[1].waiting = 1;
	TRUE(rg_is_waited_beyond(0));
}

/* A thread that finds no idle CPU is handed on by one that computes. */
static void a_thread_is_handed_on_when_it_wakes(void)
{
	reset(8, 4);
	sleeper(1, 0, 0);
	runs(2, 0, 0, 50, NICE_0);
	threads[2].ran_ns = 2 * MS;
	waker = 2;
	rg_select_cpu(&tasks[1], 0);
	SAME(threads[1].hands, RG_IS_HANDED);
	SAME(threads[2].hands, RG_HANDS_ON);
	SAME(threads[1].victim, 0); /* both are the same work by now */
}

/* A thread that comes to another queue is ordered by its vruntime there. */
static void order_by_vruntime_is_that_of_the_new_queue(void)
{
	reset(8, 4);
	options.order = RG_ORDER_VTIME;
	options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
	sleeper(1, 0, 0);
	rg_activate(&tasks[1], &threads[1], 0, now);
	queues[1].vtime.min_vruntime = at(5000);
	rg_want(&tasks[1], &threads[1], 4, now);
	SAME(threads[1].arrival, threads[1].account.vruntime - RG_VTIME_BEGIN);
	TRUE(rg_before(at(4000), threads[1].account.vruntime));
}

/* A CPU without a thread takes one of another queue in dispatch; one that has a thread does not. */
static void an_idle_cpu_takes_from_another_queue_in_dispatch(void)
{
	reset(8, 4);
	enters(1, 1, at(10));
	SAME(dispatches(0, 0), 1);
	sleeper(2, 0, 0);
	wakes(2);
	SAME(dispatches(0, 0), 2);
	enters(1, 1, threads[2].account.vruntime);
	tasks[2].runnable = 1;
	SAME(dispatches(0, 2), 2);
	SAME(dsq_of(1)->count, 1);
	options.balance = RG_BALANCE_CREDIT;
	FALSE(rg_balance_idle(0));
}

/*
 * Around a suspend the kernel runs threads from their queues without asking. One that blocks then
 * is not found by who asks later, and its siblings are.
 */
static void a_thread_that_ran_without_being_asked_for_waits_no_more(void)
{
	reset(2, 2);
	for (u32 row = 1; row <= 2; row++) {
		sleeper(row, 0, 0);
		tasks[row].process = 7;
		wakes(row);
	}
	TRUE(threads[1].waits && threads[2].waits);
	take(dsq_of(0), position_in(dsq_of(0), 1));
	rg_stopping(&tasks[1], 0);
	FALSE(threads[1].waits);
	SAME(dispatches(0, 0), 2);
	SAME(cpus[0].ask.gone, 0);
}

/* A thread whose affinity changed while it slept competes in the virtual time of its new set. */
static void a_waking_thread_has_its_present_set(void)
{
	reset(8, 4);
	sleeper(1, 0, 0);
	rg_activate(&tasks[1], &threads[1], 0, now);
	SAME(threads[1].account.vtime, rg_some(0));
	rg_deactivate(&tasks[1], &threads[1]);
	bind(&tasks[1], 3);
	rg_activate(&tasks[1], &threads[1], 0, now);
	TRUE(threads[1].cpuset);
	SAME(threads[1].account.vtime, rg_some(threads[1].cpuset));
}
