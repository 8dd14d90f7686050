/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pools of waiting threads and their rows (index/pools.h, pick/pool.h). */

#define LINKED 40

/* The model: rows of threads, by arrival and, of equal ones, in the order in which they came. */
static u32 linked[LINKED], links;

static void model_link(u32 row)
{
	u32 at = links++;

	for (; at && threads[linked[at - 1]].arrival > threads[row].arrival - control; at--)
		linked[at] = linked[at - 1];
	linked[at] = row;
}

static void model_unlink(u32 at)
{
	links--;
	memmove(&linked[at], &linked[at + 1], (links - at) * sizeof(*linked));
}

static void pool_is_linked(struct rg_pool *pool)
{
	SAME(pool->waiting, links);
	SAME(pool->first, links ? linked[0] : 0);
	SAME(pool->last, links ? linked[links - 1] : 0);
	for (u32 i = 0; i < links; i++) {
		SAME(threads[linked[i]].prev, i ? linked[i - 1] : 0);
		SAME(threads[linked[i]].next, i + 1 < links ? linked[i + 1] : 0);
	}
}

static void a_pool_is_a_list_by_arrival(void)
{
	struct rg_pool pool = {};
	bool waits[LINKED + 1] = {};

	links = 0;
	for (u32 step = 0; step < 20000; step++) {
		u32 row = 1 + (u32)below(LINKED);

		if (waits[row]) {
			for (u32 i = 0; i < links; i++)
				if (linked[i] == row)
					model_unlink(i);
			threads[row].row = 5;
			rg_pool_unlink(&pool, &threads[row]);
			SAME(threads[row].row, 0);
		} else {
			threads[row].arrival = 100 + below(60);
			model_link(row);
			rg_pool_link(&pool, row, &threads[row]);
		}
		waits[row] = !waits[row];
		pool_is_linked(&pool);
	}
}

/* From the end to which an arrival is nearer: a walk from the other would be long. */
static void a_late_arrival_is_found_from_the_end(void)
{
	struct rg_pool pool = {};

	for (u32 row = 1; row < 900; row++) {
		threads[row].arrival = row < 800 ? row : row + 100000;
		rg_pool_link(&pool, row, &threads[row]);
	}
	/* A walk over what is far from it would come here. */
	threads[450].next = threads[450].prev = 450;
	threads[900].arrival = 100800;
	rg_pool_link(&pool, 900, &threads[900]);
	SAME(threads[900].prev, 800);
	threads[901].arrival = 20;
	rg_pool_link(&pool, 901, &threads[901]);
	SAME(threads[901].prev, 20);
	SAME(threads[901].next, 21);
}

/* Keys of another pool, queue or set are other ones. */
static void keys_of_pools_differ(void)
{
	for (u32 i = 0; i < 2000; i++) {
		u64 pool = below(1ULL << 41);
		u32 queue = (u32)below(RG_QUEUES), set = (u32)below(RG_CPUSETS);
		u64 key = rg_pool_key(pool, queue, set);

		SAME(key >> 19, pool);
		SAME(key >> 6 & 8191, queue);
		SAME(key & 63, set);
		TRUE(rg_pool_bucket(key) % 8 == 0 && rg_pool_bucket(key) <= 65528);
	}
}

/* Buckets are spread over the table: of 4,096 keys in 8,192 buckets two thirds find an own one. */
static void keys_are_spread(void)
{
	static unsigned char used[RG_POOLS];
	u32 buckets = 0;

	memset(used, 0, sizeof(used));
	for (u32 i = 0; i < 4096; i++) {
		u32 bucket = rg_pool_bucket(rg_pool_key(1ULL << 24 | i << 1, 3, 0));

		buckets += !used[bucket]++;
	}
	TRUE(buckets > 2700);
}

static void rows_of_pools_are_claimed_and_left(void)
{
	u64 keys[9];
	u32 found = 0;

	/* Nine keys of one bucket. */
	for (u64 pool = 2; found < 9; pool += 2)
		if (!rg_pool_bucket(rg_pool_key(pool, 1, 0)))
			keys[found++] = rg_pool_key(pool, 1, 0);
	for (u32 i = 0; i < 8; i++) {
		SAME(rg_pool_find(keys[i], 0, 1), 0);
		SAME(rg_pool_claim(keys[i]), i + 1);
		pools[i].waiting = 1;
		SAME(rg_pool_find(keys[i], 0, 0), i + 1);
		SAME(rg_pool_find(keys[i], (i + 1) % 8 + 1, 0), i + 1);
	}
	SAME(rg_pool_claim(keys[8]), 0);
	SAME(rg_pool_find(keys[8], 0, 1), 0);
	/* One is left, and found again by its own pool where that may take it. */
	pools[3].vruntimes = 1;
	pools[3].waiting = 0;
	rg_pool_leave_if_empty(&pools[3]);
	SAME(pools[3].key, keys[3]);
	pools[3].vruntimes = 0;
	rg_pool_leave_if_empty(&pools[3]);
	SAME(rg_pool_find(keys[3], 4, 0), 0);
	SAME(rg_pool_find(keys[3], 4, 1), 4);
	SAME(pools[3].key, keys[3]);
	pools[2].waiting = 0;
	rg_pool_leave_if_empty(&pools[2]);
	SAME(rg_pool_find(keys[2], 0, 1), 3);
	rg_pool_leave_if_empty(&pools[3]);
	SAME(rg_pool_claim(keys[8]), 4);
	SAME(rg_pool_find(keys[8], 0, 0), 4);
}

/* Who shares a pool: of a process and a nice value, not batch; by option, of a group, or all. */
static void threads_of_a_process_and_a_nice_value_are_a_pool(void)
{
	struct task_struct *a = thread_in(1, 7, 3, 0), *b = thread_in(2, 7, 3, 0);
	struct task_struct *c = thread_in(3, 8, 3, 0), *d = thread_in(4, 8, 0, 0);

	SAME(rg_pool(a, &threads[1]), rg_pool(b, &threads[2]));
	TRUE(rg_pool(a, &threads[1]) != rg_pool(c, &threads[3]));
	b->weight = 15;
	TRUE(rg_pool(a, &threads[1]) != rg_pool(b, &threads[2]));
	b->weight = 1024;
	threads[2].batch = 1;
	TRUE(rg_pool(a, &threads[1]) != rg_pool(b, &threads[2]));
	SAME(rg_pool(b, &threads[2]), 2 << 1 | 1);
	TRUE(rg_pool_is_alone(rg_pool(b, &threads[2])));
	FALSE(rg_pool_is_alone(rg_pool(a, &threads[1])));
	threads[2].yields_ns = 1;
	SAME(rg_pool(a, &threads[1]), rg_pool(b, &threads[2]));
	options.pick = RG_PICK_GROUP;
	SAME(rg_pool(a, &threads[1]), rg_pool(c, &threads[3]));
	TRUE(rg_pool(d, &threads[4]) != rg_pool(c, &threads[3]));
	options.pick = RG_PICK_THREAD;
	TRUE(rg_pool(a, &threads[1]) != rg_pool(b, &threads[2]));
	options.pick = RG_PICK_ALL;
	SAME(rg_pool(a, &threads[1]), rg_pool(d, &threads[4]));
	FALSE(rg_is_alone(&threads[2]));
}

/* With one account a process its threads stay together, batch and of any nice value. */
static void a_process_with_one_account_is_one_pool(void)
{
	struct task_struct *a = thread_in(1, 7, 0, 0), *b = thread_in(2, 7, 0, 0);

	options.fair = RG_FAIR_PROCESS;
	b->weight = 15;
	threads[2].batch = 1;
	SAME(rg_pool(a, &threads[1]), rg_pool(b, &threads[2]));
	TRUE(rg_account(a, &threads[1]) == &processes[7].account);
	options.fair = RG_FAIR_THREAD;
	TRUE(rg_account(a, &threads[1]) == &threads[1].account);
}

/* A yield puts a thread behind its siblings, and into their pool until it computes again. */
static void a_thread_that_yields_arrives_anew(void)
{
	struct rg_thread thread = { .ran_ns = 5 * MS };

	rg_yield_note(&thread, 77);
	SAME(thread.arrival, 77);
	thread.ran_ns = 55 * MS - 1;
	TRUE(rg_yields(&thread));
	thread.ran_ns = 55 * MS;
	FALSE(rg_yields(&thread));
	options.burst_limit_ns = RG_NEVER;
	thread.yields_ns = 0;
	rg_yield_note(&thread, 78);
	SAME(thread.yields_ns, 0);
}

/* The key of each order. */
static void orders_are_keys(void)
{
	struct rg_thread thread = { .account.vruntime = RG_VTIME_BEGIN + 12, .arrival = 3 };
	u64 early, late;

	SAME(rg_order_arrival(&thread, 900), 900);
	rg_order_again(&thread, 900);
	SAME(thread.arrival, 3);
	thread.batch = 1;
	rg_order_again(&thread, 901);
	SAME(thread.arrival, 901);
	thread.batch = 0;
	options.requeue = RG_REQUEUE_TAIL;
	rg_order_again(&thread, 902);
	SAME(thread.arrival, 902);
	options.requeue = RG_REQUEUE_HEAD;
	options.order = RG_ORDER_VTIME;
	SAME(rg_order_arrival(&thread, 900), 12);
	rg_order_again(&thread, 903);
	SAME(thread.arrival, 12);
	options.order = RG_ORDER_LCFS;
	early = rg_order_arrival(&thread, 900);
	late = rg_order_arrival(&thread, 901);
	TRUE(late < early);
	options.order = RG_ORDER_RANDOM;
	TRUE(rg_order_arrival(&thread, 900) != rg_order_arrival(&thread, 900));
}
