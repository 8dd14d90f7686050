/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What groups were promised (promise.h), and how urgent threads come to the front (urgent.h). */

/* Groups 1 > 2 > 3, of which the second has a promise of 40 ms for half a CPU. */
static void promised_groups(void)
{
	for (u32 g = 1; g <= 3; g++)
		rg_init_group(g, g - 1, 100);
	rg_promise_group(2, 40 * MS, 500000);
}

static struct rg_promise *promise(void)
{
	return &groups[2].promise;
}

/* A thread of the promised group that woke now and has its vruntime. */
static struct rg_thread *promised_thread(u32 row)
{
	thread_in(row, row, 3, 0);
	threads[row].promise = 2;
	threads[row].woke_at = now;
	threads[row].account.vtime = rg_some(0);
	threads[row].account.vruntime = RG_VTIME_BEGIN + SECOND;
	return &threads[row];
}

static void the_nearest_promise_counts(void)
{
	promised_groups();
	thread_in(1, 1, 3, 0);
	thread_in(2, 1, 1, 0);
	SAME(rg_promise_of(1), 2);
	SAME(rg_promise_of(2), 0);
	rg_promise_group(3, MS, 1000);
	SAME(rg_promise_of(1), 3);
	thread_in(3, 1, 0, 0);
	SAME(rg_promise_of(3), 0);
	for (u32 g = 1; g <= 8; g++)
		rg_init_group(g, g - 1, 100);
	thread_in(4, 1, 8, 0); /* the deepest */
	SAME(rg_promise_of(4), 0);
	rg_promise_group(1, MS, 1000);
	SAME(rg_promise_of(4), 1);
}

/* The model: what is promised of each nanosecond, less what was used, within both bounds. */
static void a_promise_fills_with_time(void)
{
	promised_groups();
	for (u32 i = 0; i < 200; i++) {
		u64 share = between(1000, 8000000), full = share * 100;
		long long left;

		rg_promise_group(2, 40 * MS, share);
		rg_promise_settle(promise(), 0);
		left = promise()->left_ns;
		for (u32 step = 0; step < 50; step++) {
			u64 span = below(4) ? below(40 * MS) : below(3 * SECOND);
			u64 ran = below(2 * full / 3);
			long long before;

			now += span;
			left += least(span, SECOND) * share / 1000000 - ran + control;
			before = left;
			left = left > (long long)full ? (long long)full : left;
			left = left < -(long long)full ? -(long long)full : left;
			SAME(rg_promise_settle(promise(), ran), before);
			SAME(promise()->left_ns, left);
		}
	}
}

/* The first promise begins full; a later one with what is left, and what is owed outlives it. */
static void a_promise_begins(void)
{
	promised_groups();
	SAME(promise()->left_ns, 50 * MS);
	SAME(promise()->most_ns, 50 * MS);
	rg_promise_settle(promise(), 80 * MS);
	SAME(promise()->left_ns, -30 * MS);
	promise()->wakes = promise()->late = promise()->used_ns = 5;
	rg_promise_group(2, 0, 0);
	SAME(promise()->left_ns, -30 * MS);
	SAME(promise()->most_ns, 50 * MS);
	SAME(promise()->wakes + promise()->late + promise()->used_ns, 0);
	rg_promise_group(2, 10 * MS, 100000);
	SAME(promise()->left_ns, -30 * MS);
	promise()->left_ns = 8 * MS;
	rg_promise_group(2, 10 * MS, 50000);
	SAME(promise()->left_ns, 5 * MS);
	promise()->left_ns = 3 * MS;
	rg_promise_group(2, 10 * MS, 100000);
	SAME(promise()->left_ns, 3 * MS);
	SAME(promise()->within_ns, 10 * MS);
}

/* Nothing is taken off where no thread waits, here or elsewhere. */
static void a_promise_pays_beside_others_alone(void)
{
	promised_groups();
	promised_thread(1);
	FALSE(rg_promise_charge(1, 0, MS));
	SAME(promise()->left_ns, 50 * MS);
	queues[0].least = 1;
	TRUE(rg_promise_charge(1, 0, MS));
	FALSE(rg_promise_charge(1, 4, MS));
	queues[0].least = RG_NEVER;
	queues[8].least = 1;
	TRUE(rg_promise_charge(1, 0, MS));
	FALSE(rg_promise_charge(1, 1, MS));
	queues[8].least = RG_NEVER;
	shared.looking.contended = 1;
	TRUE(rg_promise_charge(1, 1, MS));
	SAME(promise()->left_ns, 47 * MS);
	SAME(promise()->used_ns, 3 * MS);
	threads[1].promise = 0;
	FALSE(rg_promise_charge(1, 1, MS));
}

/* From half of the promise on, and a slice for the choice. */
static void a_thread_is_urgent_after_half_of_the_time(void)
{
	struct rg_thread *thread;

	promised_groups();
	thread = promised_thread(1);
	SAME(rg_urgent_at(thread, promise()), now + 16 * MS);
	promise()->within_ns = 8 * MS;
	SAME(rg_urgent_at(thread, promise()), now);
	promise()->within_ns = 40 * MS;
	FALSE(rg_urgent_lend(1, now + 16 * MS - 1));
	SAME(thread->lent, RG_LENT_NOTHING);
	thread->owes_ns = 5;
	TRUE(rg_urgent_lend(1, now + 16 * MS));
	SAME(thread->lent, RG_LENT_SERVES);
	SAME(thread->account.vruntime, RG_VTIME_BEGIN - 8 * MS - 2 * MS);
	SAME(thread->owes_ns, 0);
	thread->account.vruntime -= 5; /* one that is before that stays */
	rg_urgent_lend(1, now + 16 * MS);
	SAME(thread->account.vruntime, RG_VTIME_BEGIN - 10 * MS - 5);
	thread->promise = 0;
	FALSE(rg_urgent_lend(1, now + SECOND));
	SAME(thread->lent, RG_LENT_NOTHING);
	thread->promise = 2;
	thread->account.vtime = 0;
	FALSE(rg_urgent_lend(1, now + SECOND));
}

/* One that computes borrows from the upper half alone. */
static void a_thread_that_computes_leaves_half(void)
{
	struct rg_thread *thread;

	promised_groups();
	thread = promised_thread(1);
	thread->batch = 1;
	TRUE(rg_serves(thread, now + 50 * MS));
	FALSE(rg_serves(thread, now + 50 * MS + 1));
	promise()->left_ns = 25 * MS;
	TRUE(rg_may_borrow(thread, promise(), now));
	FALSE(rg_may_borrow(thread, promise(), now + SECOND));
	promise()->left_ns++;
	TRUE(rg_urgent_lend(1, now + SECOND));
	SAME(thread->lent, RG_LENT_BUSY);
	thread->batch = 0;
	TRUE(rg_serves(thread, now + SECOND));
	promise()->left_ns = 0;
	FALSE(rg_may_borrow(thread, promise(), now));
	FALSE(rg_urgent_lend(1, now + SECOND));
	promise()->left_ns = 1;
	TRUE(rg_may_borrow(thread, promise(), now));
}

static void what_is_lent_is_forgiven(void)
{
	promised_groups();
	promised_thread(1);
	groups[1].surplus_ns = groups[3].surplus_ns = 5;
	groups[2].surplus_ns = -5;
	rg_urgent_lend(1, now + SECOND);
	SAME(groups[1].surplus_ns, 0);
	SAME(groups[2].surplus_ns, -5);
	SAME(groups[3].surplus_ns, 0);
}

/* How many were served, and how many too late. */
static void wakes_are_counted(void)
{
	promised_groups();
	promised_thread(1);
	TRUE(rg_promise_served(1, now + 40 * MS));
	TRUE(rg_promise_served(1, now + 40 * MS + 1));
	SAME(promise()->wakes, 2);
	SAME(promise()->late, 1);
	threads[1].promise = 0;
	FALSE(rg_promise_served(1, now + SECOND));
}

static void a_waking_thread_learns_its_promise(void)
{
	struct rg_thread *thread;

	promised_groups();
	thread = promised_thread(1);
	thread->promise = 0;
	thread->woke_at = now - SECOND;
	rg_urgent_ask(thread, now);
	SAME(thread->promise, 2);
	SAME(thread->lent, RG_LENT_SERVES);
	thread->group = 0;
	rg_urgent_ask(thread, now);
	SAME(thread->promise + thread->lent, 0);
	thread->group = 3;
	options.promises = 0;
	rg_urgent_ask(thread, now);
	SAME(thread->promise, 0);
}

/* In its queue it says when a choice shall look: once it is urgent, or a little later. */
static void a_queue_knows_when_to_look(void)
{
	struct rg_thread *thread;

	promised_groups();
	thread = promised_thread(1);
	TRUE(rg_urgent_wait(1, 0, now));
	SAME(queues[0].urgent_at, now + 16 * MS);
	TRUE(rg_urgent_wait(1, 1, now + 16 * MS));
	SAME(queues[1].urgent_at, now + 16 * MS);
	promise()->left_ns = 0;
	queues[1].urgent_at = RG_NEVER;
	TRUE(rg_urgent_wait(1, 1, now + 16 * MS));
	SAME(queues[1].urgent_at, now + 17 * MS);
	thread->promise = 0;
	FALSE(rg_urgent_wait(1, 2, now));
}

static void a_deadline_is_the_end_of_the_promise(void)
{
	struct rg_thread *thread;

	promised_groups();
	thread = promised_thread(1);
	SAME(rg_deadline(thread, now + 16 * MS - 1), RG_NEVER);
	SAME(rg_deadline(thread, now + 16 * MS), now + 40 * MS);
	thread->batch = 1;
	SAME(rg_deadline(thread, now + SECOND), RG_NEVER - 1);
	thread->batch = 0;
	promise()->left_ns = 0;
	SAME(rg_deadline(thread, now + SECOND), RG_NEVER);
	promise()->left_ns = MS;
	thread->promise = 0;
	SAME(rg_deadline(thread, now + SECOND), RG_NEVER);
}

/* Threads of these ages wait; which of them CPU 0 finds, and when it looks again. */
static u32 found_of(u32 count, const u64 *ages)
{
	for (u32 i = 0; i < count; i++) {
		promised_thread(i + 1)->woke_at = now - ages[i];
		put(dsq_of(0), (struct place){ &tasks[i + 1], now - ages[i], 0 });
	}
	cpus[0].ask.now = now;
	queues[0].urgent_at = RG_NEVER;
	return rg_find_urgent(0, 0);
}

static void the_earliest_deadline_is_found(void)
{
	u64 ages[] = { 30 * MS, 20 * MS, 5 * MS };

	promised_groups();
	SAME(found_of(3, ages), 1);
	SAME(queues[0].urgent_at, now);
	tasks[1].may = 2; /* it may not run here */
	SAME(rg_find_urgent(0, 0), 2);
	dsqs[0].count = 0;
	queues[0].urgent_at = RG_NEVER;
	SAME(found_of(1, ages + 2), 0);
	SAME(queues[0].urgent_at, now + 11 * MS);
	dsqs[0].count = 0;
	SAME(found_of(1, ages), 1);
	SAME(queues[0].urgent_at, RG_NEVER);
	dsqs[0].count = 0;
	SAME(found_of(2, ages + 1), 1);
	SAME(queues[0].urgent_at, now + 11 * MS);
	promise()->left_ns = 0;
	dsqs[0].count = 0;
	SAME(found_of(1, ages), 0);
	SAME(queues[0].urgent_at, now + MS);
}

/* The CPU's own thread may come before; and of a crowd only so many are asked. */
static void an_urgent_crowd_is_asked_in_part(void)
{
	u64 ages[40];

	promised_groups();
	promised_thread(500)->woke_at = now - 35 * MS;
	for (u32 i = 0; i < 40; i++)
		ages[i] = 20 * MS + i * 100000;
	cpus[0].ask.mine = 500;
	SAME(found_of(40, ages), 0);
	cpus[0].ask.mine = 0;
	dsqs[0].count = 0;
	for (u32 i = 0; i < 40; i++)
		ages[i] = 20 * MS;
	ages[38] = 30 * MS;
	for (u32 i = 0; i < 40; i++) {
		promised_thread(i + 1)->woke_at = now - ages[i];
		put(dsq_of(1), (struct place){ &tasks[i + 1], i, 0 });
	}
	cpus[4].ask.now = now;
	SAME(rg_find_urgent(4, 1), 1);
	promised_thread(17)->woke_at = now - 30 * MS;
	SAME(rg_find_urgent(4, 1), 1);
	promised_thread(16)->woke_at = now - 30 * MS;
	SAME(rg_find_urgent(4, 1), 16);
	SAME(queues[1].urgent_at, now);
}

/* A CPU's own thread that is not urgent yet does not come before one that is. */
static void only_an_urgent_thread_comes_before_another(void)
{
	promised_groups();
	rg_promise_group(3, SECOND, 500000);
	promised_thread(1)->promise = 3;
	threads[1].woke_at = now - 600 * MS;
	promised_thread(9); /* it woke now, within 40 ms */
	cpus[0].ask.mine = 9;
	cpus[0].ask.now = now;
	put(dsq_of(0), (struct place){ &tasks[1], 1, 0 });
	SAME(rg_find_urgent(0, 0), 1);
}

/* A choice fetches it, on a vruntime before all others. */
static void an_urgent_thread_is_fetched(void)
{
	u64 age = 30 * MS;

	promised_groups();
	found_of(1, &age);
	queues[0].urgent_at = now + 1;
	FALSE(rg_pick_urgent(0, &cpus[0], 0));
	queues[0].urgent_at = now;
	options.promises = 0;
	FALSE(rg_pick_urgent(0, &cpus[0], 0));
	options.promises = 1;
	TRUE(rg_pick_urgent(0, &cpus[0], 0));
	SAME(queues[0].urgent_at, RG_NEVER);
	SAME(cpus[0].thread, 1);
	SAME(cpus[0].vruntime, RG_VTIME_BEGIN - 10 * MS);
	FALSE(rg_pick_urgent(0, &cpus[0], 0));
	queues[0].urgent_at = now;
	FALSE(rg_pick_urgent(0, &cpus[0], 0)); /* none is any more */
	/* Where another is urgent, too, the next choice looks again. */
	put(dsq_of(0), (struct place){ &tasks[promised_thread(3)->slot], 1, 0 });
	put(dsq_of(0), (struct place){ &tasks[promised_thread(4)->slot], 2, 0 });
	threads[3].woke_at = threads[4].woke_at = now - age;
	queues[0].urgent_at = now;
	no_moves = 1;
	FALSE(rg_pick_urgent(0, &cpus[0], 0));
	no_moves = 0;
	queues[0].urgent_at = now;
	TRUE(rg_pick_urgent(0, &cpus[0], 0));
	SAME(queues[0].urgent_at, now);
	TRUE(rg_pick_urgent(0, &cpus[0], 0));
	/* Of its own queue first. */
	promised_thread(2)->woke_at = now - age;
	put(dsq_of(8), (struct place){ &tasks[2], 0, 0 });
	queues[8].urgent_at = queues[0].urgent_at = now;
	TRUE(rg_pick_urgent(0, &cpus[0], 0));
	SAME(cpus[0].thread, 2);
	SAME(queues[0].urgent_at, now);
}
