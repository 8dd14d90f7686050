/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heaps of vruntimes (index/heap.h), their rows (index/extents.h) and sets (index/cpusets.h). */

#define LISTED 400

/* The model: what was pushed, in no order. The stamp is the step at which it came. */
static struct rg_entry list[LISTED];
static u32 listed, steps;

static bool comes_before(struct rg_entry *a, struct rg_entry *b)
{
	long long off = a->vruntime - b->vruntime;

	return off ? off < 0 : control ? a->stamp > b->stamp : a->stamp < b->stamp;
}

static u32 least_listed(void)
{
	u32 least = 0;

	for (u32 i = 1; i < listed; i++)
		if (comes_before(&list[i], &list[least]))
			least = i;
	return least;
}

/* The position in the list of what a heap holds at one. */
static u32 listed_as(struct rg_entry *entry)
{
	u32 i = 0;

	while (i < listed && (list[i].vruntime != entry->vruntime || list[i].row != entry->row))
		i++;
	TRUE(i < listed);
	return i % LISTED;
}

static u64 some_vruntime(void)
{
	return RG_VTIME_BEGIN + below(40) * 50000;
}

static void heap_push(struct rg_heap *heap)
{
	struct rg_entry entry = { some_vruntime(), (u32)below(1 << 30), steps };

	list[listed++] = entry;
	rg_heap_push(heap, entry.vruntime, entry.row);
}

/* Of equals not the least: any may be taken out, but the list must know which. */
static void heap_remove(struct rg_heap *heap, u32 at)
{
	u32 i = listed_as(rg_heap_at(heap, at));

	list[i] = list[--listed];
	rg_heap_remove(heap, at);
}

static void heap_exchange(struct rg_heap *heap, u32 at)
{
	u32 i = listed_as(rg_heap_at(heap, at));
	u64 before = list[i].vruntime;

	list[i].vruntime += below(6) * 50000;
	list[i].stamp = steps;
	SAME(rg_heap_exchange(heap, at, list[i].vruntime), before);
}

static void heap_is_in_order(struct rg_heap *heap)
{
	SAME(heap->count, listed);
	for (u32 i = 1; i < heap->count; i++)
		FALSE(rg_heap_before(rg_heap_at(heap, i), rg_heap_at(heap, (i - 1) / 2)));
	if (!listed)
		return;
	SAME(rg_heap_at(heap, 0)->vruntime, list[least_listed()].vruntime);
	SAME(rg_heap_at(heap, 0)->row, list[least_listed()].row);
}

static void a_heap_is_a_sorted_list(void)
{
	struct rg_heap heap = { .base = 1000, .capacity = LISTED, .stamp = -200 };

	listed = 0;
	entries[999].vruntime = entries[1000 + LISTED].vruntime = 4711;
	for (steps = 1; steps < 12000; steps++) {
		bool grows = below(400) > listed;

		if (grows && listed < LISTED)
			heap_push(&heap);
		else if (listed && below(2))
			heap_remove(&heap, (u32)below(listed));
		else if (listed)
			heap_exchange(&heap, (u32)below(listed));
		heap_is_in_order(&heap);
	}
	SAME(entries[999].vruntime, 4711);
	SAME(entries[1000 + LISTED].vruntime, 4711);
}

/* As many as an extent has, pushed from the last to the first: each rises to the root. */
static void a_deep_heap_is_in_order(void)
{
	struct rg_heap heap = { .base = 1000 };
	u64 before = 0;

	for (u32 i = 0; i < 70000; i++)
		rg_heap_push(&heap, 100000 - i, i);
	for (u32 i = 0; i < 70000; i++) {
		TRUE(rg_heap_at(&heap, 0)->vruntime > before);
		before = rg_heap_at(&heap, 0)->vruntime;
		rg_heap_remove(&heap, 0);
	}
	SAME(heap.count, 0);
}

/* Sets with other virtual times wait in a queue; a row and a thread each. */
static void publish_some(struct rg_queue *queue)
{
	for (u32 set = 0; set < RG_CPUSETS - 1; set++) {
		struct rg_heap *heap = rg_heap_of(queue, set);

		heap->count = 0;
		shared.cpusets[set].vtime.shift = below(1000);
		pools[set].first = set + 1;
		if (!below(3))
			rg_heap_push(heap, RG_VTIME_BEGIN + below(2000), set);
		rg_queue_publish(&shared, queue, set);
	}
}

static void what_a_queue_publishes_is_the_least_of_its_heaps(void)
{
	struct rg_queue *queue = &queues[1];

	for (u32 round = 0; round < 300; round++) {
		u64 least = RG_NEVER, waiting = 0;
		u32 first = 0;

		publish_some(queue);
		for (u32 set = 0; set < RG_CPUSETS - 1; set++) {
			u64 vruntime = rg_heap_at(rg_heap_of(queue, set), 0)->vruntime +
				       shared.cpusets[set].vtime.shift * !control;

			if (!rg_heap_of(queue, set)->count)
				continue;
			waiting |= 1ULL << set;
			if (least != RG_NEVER && (long long)(vruntime - least) >= 0)
				continue;
			least = vruntime;
			first = set + 1;
		}
		SAME(queue->least, least);
		SAME(queue->first, first);
		SAME(queue->waiting, waiting);
	}
}

/* A vruntime of all ones would read as none. */
static void no_vruntime_reads_as_none(void)
{
	struct rg_queue *queue = &queues[1];

	rg_heap_push(rg_heap_of(queue, 2), RG_NEVER - 5, 3);
	shared.cpusets[2].vtime.shift = 5;
	rg_queue_publish(&shared, queue, 2);
	SAME(queue->least, RG_NEVER - 1);
	shared.cpusets[2].vtime.shift = 4;
	rg_queue_publish(&shared, queue, 2);
	SAME(queue->least, RG_NEVER - 1);
	shared.cpusets[2].vtime.shift = 3;
	rg_queue_publish(&shared, queue, 2);
	SAME(queue->least, RG_NEVER - 2);
	/* Another set is empty by now, though its bit says otherwise. */
	queue->waiting |= 1 << 4;
	rg_queue_publish(&shared, queue, 2);
	SAME(queue->waiting, 1 << 2);
	rg_heap_remove(rg_heap_of(queue, 2), 0);
	rg_queue_publish(&shared, queue, 2);
	SAME(queue->waiting, 0);
	SAME(queue->least, RG_NEVER);
}


/* No row of the table belongs to two heaps, and none is beyond its quarter or half. */
static void parts_of_heaps_are_apart(u32 machine, u32 cache)
{
	static unsigned char owned[RG_ENTRIES];

	reset(machine, cache);
	memset(owned, 0, sizeof(owned));
	for (u32 id = 0; id < QUEUES; id++) {
		for (u32 set = 0; queues[id].capacity && set < RG_CPUSETS; set++) {
			struct rg_heap *heap = rg_heap_of(&queues[id], set);

			for (u32 i = 0; i < heap->capacity; i++)
				FALSE(owned[(heap->base + i) % RG_ENTRIES]++);
			TRUE(heap->base + heap->capacity <= (queues[id].is_own ? 524288 : 262144));
		}
	}
}

/* A queue's part: half for all CPUs, the rest for 62 sets; a single CPU's has one heap. */
static void each_heap_has_its_part(void)
{
	parts_of_heaps_are_apart(8, 4);
	SAME(queues[0].capacity, 131072);
	SAME(queues[8].capacity, 32768);
	SAME(queues[8].heaps[0].capacity, 32768);
	SAME(queues[8].heaps[1].capacity, 0);
	SAME(queues[1].heaps[0].capacity, 65536);
	SAME(queues[1].heaps[1].capacity, 1024);
	SAME(queues[1].heaps[62].capacity, 1024);
	SAME(queues[1].heaps[63].capacity, 0);
	TRUE(queues[8].is_own && queues[15].is_own && !queues[1].is_own);
	parts_of_heaps_are_apart(6, 2);
	SAME(queues[0].capacity, 65536);
	SAME(queues[6].capacity, 32768);
	parts_of_heaps_are_apart(4, 1);
	SAME(queues[0].heaps[0].capacity, 32768);
	SAME(created, 4);
	parts_of_heaps_are_apart(16, 16);
	SAME(created, 17);
	SAME(shared.queues, 1);
	SAME(queues[0].cpus, 16);
	parts_of_heaps_are_apart(1, 1);
	SAME(shared.queues, 1);
}

/* All threads of a set wait: its heap moves to an extent with all entries, and back when empty. */
static void a_full_heap_moves_into_an_extent(void)
{
	struct rg_heap *heap;

	reset(16, 1);
	heap = rg_heap_of(&queues[3], 5);
	SAME(heap->capacity, 128);
	for (u32 set = 4; set < 6; set++) {
		heap = rg_heap_of(&queues[3], set);
		for (u32 i = 0; i < 127; i++)
			rg_heap_push(heap, 1000 - i, i);
		rg_extent_fit(3, set);
		SAME(heap->capacity, 128);
		rg_heap_push(heap, 7, 127);
		TRUE(rg_extent_is_due(heap, set));
		FALSE(rg_extent_is_due(heap, RG_CPUSET_NONE));
		rg_extent_fit(3, set);
		SAME(heap->base, 524288 + 8192 * (set - 4));
		SAME(heap->capacity, 8192);
		SAME(heap->count, 128);
		for (u32 i = 0; i < 128; i++) {
			SAME(rg_heap_at(heap, 0)->vruntime, i ? 873 + i : 7);
			FALSE(rg_extent_is_idle(heap));
			rg_heap_remove(heap, 0);
		}
	}
	SAME(shared.extents, 3);
	rg_extent_fit(3, 4);
	SAME(shared.extents, 2);
	SAME(rg_heap_of(&queues[3], 4)->capacity, 128);
	rg_extent_fit(3, 5);
	SAME(shared.extents, 0);
	parts_of_heaps_are_apart(16, 1);
}

static void extents_are_given_out_once(void)
{
	for (u32 i = 0; i < 64; i++)
		SAME(rg_extent_claim(&shared), i + 1);
	SAME(rg_extent_claim(&shared), 0);
	shared.extents &= ~(1ULL << 40);
	SAME(rg_extent_claim(&shared), 41);
	shared.extents = RG_NEVER;
	queues[1].heaps[3].count = queues[1].heaps[3].capacity;
	rg_extent_fit(1, 3);
	SAME(queues[1].heaps[3].capacity, 1024);
}

/* Sets of CPUs that are in use at once are told apart; one that is not gives its row up. */
static void a_set_has_a_row_while_it_is_in_use(void)
{
	u32 rows[200], found = 0;

	for (u32 i = 0; i < 200; i++) {
		rows[i] = rg_cpuset_find(1000 + i, now);
		found += rows[i] != RG_CPUSET_NONE;
		TRUE(rows[i] > 0 && rows[i] <= RG_CPUSET_NONE);
		for (u32 j = 0; j < i; j++)
			TRUE(rows[i] == RG_CPUSET_NONE || rows[i] != rows[j]);
		SAME(rg_cpuset_find(1000 + i, now + SECOND), rows[i]);
	}
	TRUE(found > 55);
	for (u32 i = 0; i < 20; i++)
		shared.cpusets[rows[i]].waiting = i & 1;
	SAME(rg_cpuset_find(5000, now + SECOND), RG_CPUSET_NONE);
	found = 0;
	for (u32 i = 0; i < 100; i++)
		found += rg_cpuset_find(5000 + i, now + SECOND + 1) != RG_CPUSET_NONE;
	TRUE(found > 40);
	for (u32 i = 0; i < 20; i++)
		SAME(shared.cpusets[rows[i]].affinity == 1000 + i, rows[i] == 63 ? 0 : i & 1);
}

static void a_thread_finds_the_row_of_its_set(void)
{
	struct task_struct *a = thread_in(1, 1, 0, 0), *b = thread_in(2, 1, 0, 0);

	bind(a, 3);
	bind(b, 3);
	rg_cpuset_refresh(a, &threads[1], now);
	rg_cpuset_refresh(b, &threads[2], now);
	TRUE(threads[1].cpuset && threads[1].cpuset == threads[2].cpuset);
	bind(b, 12);
	rg_cpuset_refresh(b, &threads[2], now);
	TRUE(threads[2].cpuset && threads[1].cpuset != threads[2].cpuset);
	bind(b, ALL_CPUS);
	rg_cpuset_refresh(b, &threads[2], now);
	SAME(threads[2].cpuset, 0);
	rg_admit(&shared, &cpus[1], threads[1].cpuset);
	TRUE(rg_is_admitted(&shared, &cpus[1], threads[1].cpuset));
	FALSE(rg_is_admitted(&shared, &cpus[2], threads[1].cpuset));
	TRUE(rg_is_admitted(&shared, &cpus[2], 0));
	queues[0].waiting = 1ULL << threads[1].cpuset;
	TRUE(rg_is_waited_for(&shared, &queues[0], &cpus[5]));
	rg_refuse(&shared, &cpus[5], threads[1].cpuset);
	TRUE(rg_is_refused(&shared, &cpus[5], threads[1].cpuset));
	FALSE(rg_is_refused(&shared, &cpus[5], 0));
	FALSE(rg_is_refused(&shared, &cpus[6], threads[1].cpuset));
	FALSE(rg_is_waited_for(&shared, &queues[0], &cpus[5]));
	queues[0].waiting |= 1;
	TRUE(rg_is_waited_for(&shared, &queues[0], &cpus[5]));
	queues[0].waiting = 0;
	FALSE(rg_is_waited_for(&shared, &queues[0], &cpus[6]));
}

/* A set is looked for in eight rows. */
static void a_set_has_eight_rows_to_choose_from(void)
{
	u32 first = 0;

	while (rg_cpuset_probe(++first, 0) > 20 || !rg_cpuset_probe(first, 0))
		;
	for (u32 i = 0; i < 8; i++)
		shared.cpusets[rg_cpuset_probe(first, i)] =
			(struct rg_cpuset){ .affinity = 900000 + i, .waiting = 1 };
	SAME(rg_cpuset_find(first, now), RG_CPUSET_NONE);
	shared.cpusets[rg_cpuset_probe(first, 7)].waiting = 0;
	SAME(rg_cpuset_find(first, now + 2 * SECOND), rg_cpuset_probe(first, 7));
	shared.cpusets[rg_cpuset_probe(first, 7)].affinity = 0;
	shared.cpusets[rg_cpuset_probe(first, 0)].waiting = 0;
	SAME(rg_cpuset_find(first, now + 4 * SECOND), rg_cpuset_probe(first, 0));
}
