/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any heap in order, and what is asked of it after one step: by that of any number of steps.
 *
 * Vruntimes are 16 numbers on both sides of 0, because the heap only asks which of two is less: at
 * most 8 entries and another one have no more ranks. That the order of two is right for all numbers
 * is heap-before.c's claim.
 */
#ifndef ANY_HEAP_H
#define ANY_HEAP_H

#define CAPACITY 7
#define BASE 1
#define PROOF_ENTRIES (BASE + CAPACITY)

#include "proof.h"

#include "index/heap.h"

static struct rg_heap heap;

/* Whether two entries are one. */
static bool same(struct rg_entry *a, struct rg_entry *b)
{
	return a->vruntime == b->vruntime && a->row == b->row && a->stamp == b->stamp;
}

/* How often an entry is in the heap. */
static u32 times(struct rg_entry *entry)
{
	u32 count = 0;

	for (u32 i = 0; i < CAPACITY; i++)
		count += i < heap.count && same(entries[BASE + i], entry);
	return count;
}

/* Whether no entry is less than the one above it. */
static bool in_order(void)
{
	bool fine = 1;

	for (u32 i = 1; i < CAPACITY; i++) {
		u64 above = entries[BASE + ((i - 1) >> 1)]->vruntime;

		fine &= i >= heap.count || (long long)(entries[BASE + i]->vruntime - above) >= 0;
	}
	return fine;
}

static bool root_is_least(void)
{
	bool fine = 1;

	for (u32 i = 1; i < CAPACITY; i++)
		fine &= i >= heap.count ||
			(long long)(entries[BASE + i]->vruntime - entries[BASE]->vruntime) >= 0;
	return fine;
}

static u64 some_vruntime(void)
{
	return (u64)(nondet_u32() & 15) - 8;
}

/* Any heap in order. */
static void any_heap(void)
{
	heap.base = BASE;
	heap.capacity = CAPACITY;
	heap.count = nondet_u32();
	heap.stamp = nondet_u32() & 15;
	ASSUME(heap.count <= CAPACITY);
	for (u32 i = 0; i < CAPACITY; i++) {
		entries[BASE + i]->vruntime = some_vruntime();
		entries[BASE + i]->row = nondet_u32() & 15;
		entries[BASE + i]->stamp = nondet_u32() & 15;
	}
	ASSUME(in_order());
}

static struct rg_entry some_entry(void)
{
	return (struct rg_entry){ some_vruntime(), nondet_u32() & 15, nondet_u32() & 15 };
}

static void prove_order(void)
{
	PROVE(in_order());
	PROVE(root_is_least());
}

#endif
