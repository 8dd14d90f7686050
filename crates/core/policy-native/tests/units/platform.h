/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The platform of unit tests: tables, and a kernel that does at once what it is told and remembers
 * it. A test changes what it needs; reset() makes all as it was.
 */
#ifndef UNITS_PLATFORM_H
#define UNITS_PLATFORM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler.h"

#define THREADS 1024
#define GROUPS 16
#define CPUS 16
#define QUEUES 64
#define WAITING 256
#define MS 1000000ULL
#define SECOND (1000 * MS)
#define NICE_0 (1024 * 65536ULL) /* an effective weight */
#define ALL_CPUS ((1ULL << CPUS) - 1)
#define LOCAL(cpu) (RG_QUEUES + GROUPS + (cpu))

struct task_struct {
	u32 row, process, weight, affinity;
	s32 cpu;
	u64 may, exec_ns;
	bool pinned, kthread, runnable, ending;
};

struct place {
	struct task_struct *thread;
	u64 key, slice_ns;
};

struct dsq {
	struct place at[WAITING];
	u32 count;
};

static struct task_struct tasks[THREADS];
static struct rg_thread threads[THREADS];
static struct rg_process processes[THREADS];
static struct rg_group groups[GROUPS];
static struct rg_cpu cpus[CPUS];
static struct rg_queue queues[QUEUES];
static struct rg_pool pools[RG_POOLS];
static struct rg_entry entries[RG_ENTRIES];
static struct rg_shared shared;
static struct rg_options options;
static struct dsq dsqs[QUEUES + GROUPS + CPUS];

/* The machine, and what the policy has done to it. */
static u64 now;
static u32 per_cache, per_node;
static u64 idle;  /* CPUs that idle */
static u32 waker; /* the row of a thread */
static u32 kicks[CPUS][2], inserted, vacated, created;
static u64 group_timer[GROUPS], cpu_timer[CPUS], slices[THREADS];
static bool no_timers, no_moves, locked;
static s32 dispatching;

/* What differs from what was expected. A control breaks the model, and must be noticed. */
static u32 differences;
static bool control;

static void same(const char *file, int line, const char *what, u64 got, u64 expected)
{
	if (got != expected && !differences++ && !control)
		printf("%s:%d: %s is %lld and not %lld\n", file, line, what, got, expected);
}

#define SAME(got, expected) same(__FILE__, __LINE__, #got, got, expected)
#define TRUE(what) same(__FILE__, __LINE__, #what, !!(what), 1)
#define FALSE(what) same(__FILE__, __LINE__, #what, !!(what), 0)
/* Within a relative error of 1/parts and `units`, as of numbers that were shifted. */
#define NEAR(got, expected, parts, units)                                                          \
	same(__FILE__, __LINE__, #got, (got),                                                      \
	     is_near(got, expected, parts, units) ? (got) : (u64)(expected))

static bool is_near(u64 got, double expected, double parts, double units)
{
	double off = (double)got - expected;

	return (off < 0 ? -off : off) <= units + (expected < 0 ? -expected : expected) / parts;
}

static u64 seed;

static u64 any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dULL >> 1;
}

static u64 below(u64 bound)
{
	return any() % bound;
}

static u64 between(u64 least, u64 most)
{
	return least + below(most - least + 1);
}

/* As Rust sets them for `rearguard` on a machine of several caches. */
static void rearguard(u32 machine, u32 cache)
{
	memset(&options, 0, sizeof(options));
	options.slice_ns = 4 * MS;
	options.wakeup_credit_ns = 8 * MS;
	options.burst_limit_ns = 50 * MS;
	options.vruntime_cap_ns = options.sticky_ns = 10 * MS;
	options.interval_ns[RG_LEVEL_MACHINE] = 300 * MS;
	options.cpus = machine;
	options.stride = 5;
	options.quotas = 1;
	options.balance = RG_BALANCE_GVTS;
	options.queue = RG_QUEUE_LLC;
	options.preempt = options.starvation_limit = options.yields = 1;
	options.promises = options.infeasible = options.direct = 1;
	options.min_vruntime = RG_MIN_VRUNTIME_MACHINE;
	per_cache = cache;
	per_node = machine;
}

static void clear(void)
{
	memset(tasks, 0, sizeof(tasks));
	memset(threads, 0, sizeof(threads));
	memset(processes, 0, sizeof(processes));
	memset(groups, 0, sizeof(groups));
	memset(cpus, 0, sizeof(cpus));
	memset(queues, 0, sizeof(queues));
	memset(pools, 0, sizeof(pools));
	memset(&shared, 0, sizeof(shared));
	memset(dsqs, 0, sizeof(dsqs));
	memset(kicks, 0, sizeof(kicks));
	memset(group_timer, 0xff, sizeof(group_timer));
	memset(cpu_timer, 0xff, sizeof(cpu_timer));
	memset(slices, 0, sizeof(slices));
}

/* A policy that has just begun, on so many CPUs of which so many share a cache. */
static void reset(u32 machine, u32 cache)
{
	clear();
	rearguard(machine, cache);
	now = 100 * SECOND;
	idle = waker = inserted = vacated = created = no_timers = no_moves = locked = 0;
	dispatching = 0;
	SAME(rg_init(), 0);
}

/* A thread of a process and a group, on a CPU; a new one. */
static struct task_struct *thread_in(u32 row, u32 process, u32 group, s32 cpu)
{
	struct task_struct *t = &tasks[row];

	*t = (struct task_struct){ .row = row, .process = process, .weight = 1024, .cpu = cpu };
	t->may = ALL_CPUS;
	SAME(rg_init_thread(t, group), 0);
	return t;
}

static void bind(struct task_struct *t, u64 may)
{
	t->may = may;
	t->affinity = may == ALL_CPUS ? 0 : (u32)may * 77777 + 1;
	t->pinned = !(may & (may - 1));
}

/* ---- The calls ---- */

static struct dsq *dsq_of(u32 id)
{
	return &dsqs[id < RG_QUEUES ? id % QUEUES : QUEUES + (id - RG_QUEUES) % (GROUPS + CPUS)];
}

static void put(struct dsq *dsq, struct place place)
{
	u32 at = dsq->count++ % WAITING;

	for (; at && dsq->at[at - 1].key > place.key; at--)
		dsq->at[at] = dsq->at[at - 1];
	dsq->at[at] = place;
}

static struct place take(struct dsq *dsq, u32 at)
{
	struct place place = dsq->at[at];

	dsq->count--;
	memmove(&dsq->at[at], &dsq->at[at + 1], (dsq->count - at) * sizeof(place));
	return place;
}

static s32 position_in(struct dsq *dsq, u32 row)
{
	for (u32 i = 0; i < dsq->count; i++)
		if (dsq->at[i].thread->row == row)
			return i;
	return -1;
}

static bool move_here(struct dsq *dsq, s32 at)
{
	struct place place = { .thread = dsq->at[at].thread };

	if (no_moves || !(place.thread->may >> dispatching & 1))
		return 0;
	place.slice_ns = take(dsq, at).slice_ns;
	place.key = dsq_of(LOCAL(dispatching))->count;
	place.thread->cpu = dispatching;
	put(dsq_of(LOCAL(dispatching)), place);
	return 1;
}

u64 rg_now(void) { return now; }
u32 rg_random(void) { return (u32)any(); }
u64 rg_exec_ns(struct task_struct *t) { return t->exec_ns; }
u32 rg_thread_id(struct task_struct *t) { return t->row; }
u32 rg_process_id(struct task_struct *t) { return 1 << 20 | t->process; }
u32 rg_weight(struct task_struct *t) { return t->weight; }
s32 rg_thread_cpu(struct task_struct *t) { return t->cpu; }
bool rg_may_run_on(struct task_struct *t, s32 cpu) { return t->may >> cpu & 1; }
u32 rg_affinity(struct task_struct *t) { return t->affinity; }
bool rg_is_pinned(struct task_struct *t) { return t->pinned; }
bool rg_is_percpu_kthread(struct task_struct *t) { return t->kthread; }
bool rg_is_runnable(struct task_struct *t) { return t->runnable; }
bool rg_is_ending(struct task_struct *t) { return t->ending; }
struct rg_thread *rg_thread(struct task_struct *t) { return &threads[t->row]; }
struct rg_process *rg_process(struct task_struct *t) { return &processes[t->process]; }
struct rg_cpu *rg_cpu(s32 cpu) { return (u32)cpu < options.cpus ? &cpus[cpu] : 0; }
struct rg_queue *rg_queue(u32 id) { return id < QUEUES ? &queues[id] : 0; }
struct rg_shared *rg_shared(void) { return &shared; }
u32 rg_slot(struct task_struct *t) { return t->row; }
struct rg_thread *rg_thread_at(u32 slot) { return &threads[slot % THREADS]; }
struct rg_group *rg_group_at(u32 group) { return &groups[group % GROUPS]; }
struct rg_pool *rg_pool_at(u32 row) { return &pools[row % RG_POOLS]; }
struct rg_entry *rg_entry_at(u32 row) { return &entries[row % RG_ENTRIES]; }
const volatile struct rg_options *rg_options(void) { return &options; }

static u32 domain_size(u32 level)
{
	u32 sizes[] = { 1, 1, per_cache, per_node, options.cpus };

	return sizes[level];
}

u32 rg_domain(s32 cpu, u32 level) { return (u32)cpu / domain_size(level); }

s32 rg_cpu_in(s32 cpu, u32 level, u32 i)
{
	u32 size = domain_size(level);
	u32 first = (u32)cpu / size * size;

	return i < size ? (s32)(first + ((u32)cpu - first + i) % size) : -1;
}

s32 rg_pick_idle(struct task_struct *t)
{
	u64 may = idle & t->may;

	if (!may)
		return -1;
	idle &= ~(may & -may);
	return __builtin_ctzll(may);
}

s32 rg_default_cpu(struct task_struct *t, s32 prev_cpu, bool *is_idle)
{
	s32 cpu = rg_pick_idle(t);

	*is_idle = cpu >= 0;
	return cpu < 0 ? prev_cpu : cpu;
}

u32 rg_waker(void) { return waker; }
u64 rg_request_at(u32 slot) { return 0; }
void rg_kick(s32 cpu, u32 how) { kicks[cpu % CPUS][how]++; }

s32 rg_queue_create(u32 queue)
{
	created++;
	return queue < QUEUES ? 0 : -22;
}

void rg_insert_ordered(struct task_struct *t, u32 queue, u64 slice_ns, u64 key)
{
	put(dsq_of(queue), (struct place){ t, key, slice_ns });
}

void rg_insert_local(struct task_struct *t, u64 slice_ns, u32 flags)
{
	struct dsq *local = dsq_of(LOCAL(t->cpu));

	inserted = flags + 1;
	put(local, (struct place){ t, flags & RG_INSERT_HEAD ? 0 : local->count, slice_ns });
}

u32 rg_queue_length(u32 queue) { return dsq_of(queue)->count; }

struct task_struct *rg_queue_peek(u32 queue)
{
	return dsq_of(queue)->count ? dsq_of(queue)->at[0].thread : 0;
}

u32 rg_move_thread(u32 queue, u32 slot)
{
	s32 at = position_in(dsq_of(queue), slot);

	if (at < 0)
		return RG_GONE;
	return move_here(dsq_of(queue), at) ? RG_MOVED : RG_REFUSED;
}

struct task_struct *rg_visit_next(struct rg_cursor *cursor)
{
	struct dsq *dsq = dsq_of(cursor->queue);

	return cursor->position < dsq->count ? dsq->at[cursor->position++].thread : 0;
}

bool rg_visit_move(struct rg_cursor *cursor, struct task_struct *t)
{
	s32 at = position_in(dsq_of(cursor->queue), t->row);

	if (at < 0 || !move_here(dsq_of(cursor->queue), at))
		return 0;
	cursor->position--;
	return 1;
}

bool rg_visit_move_to(struct rg_cursor *cursor, struct task_struct *t, u32 queue, u64 slice_ns,
		      u64 key)
{
	s32 at = position_in(dsq_of(cursor->queue), t->row);

	if (at < 0 || no_moves)
		return 0;
	take(dsq_of(cursor->queue), at);
	put(dsq_of(queue), (struct place){ t, key, slice_ns });
	cursor->position--;
	return 1;
}

void rg_set_slice(struct task_struct *t, u64 slice_ns) { slices[t->row] = slice_ns; }
void rg_vacate(struct task_struct *t) { vacated = t->row; }

bool rg_group_timer(u32 group, u64 after_ns)
{
	if (!no_timers)
		group_timer[group % GROUPS] = now + after_ns;
	return !no_timers;
}

void rg_cpu_timer(s32 cpu, u64 after_ns) { cpu_timer[cpu % CPUS] = now + after_ns; }
struct rg_lock *rg_lock_of(u32 queue) { return queue < QUEUES ? (void *)&queues[queue] : 0; }

void rg_acquire(struct rg_lock *lock)
{
	FALSE(!lock || locked);
	locked = 1;
}

void rg_release(struct rg_lock *lock)
{
	TRUE(lock && locked);
	locked = 0;
}

#endif
