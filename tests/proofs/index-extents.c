/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A heap that moves into an extent has the entries that it had, each at its position, in
 *          an extent that no other heap has. Without a free one it stays as it was. An empty heap
 *          goes back to its own part, and its extent is free again.
 * Bound.   A heap of 4 entries. Any set of extents is taken before.
 * Assumed. One heap at a time.
 * Run.     --unwind 66
 * Control. index/extents.h | *rg_entry_at(base + i) = *rg_heap_at(heap, i); | ;
 * Control. index/extents.h | if (now >> i & 1 || | if (
 * Control. index/extents.h | rg_add(&shared->extents, -(1ULL | rg_add(&shared->extents, (1ULL
 */
#define PART 4
#define PROOF_ENTRIES (2 * PART)

/* The table of proof.h has the heap's own part, and as many rows of an extent. */
#define rg_entry_at rg_row_at
#include "proof.h"
#undef rg_entry_at

struct rg_entry *rg_entry_at(u32 row);

#include "index/extents.h"

static struct rg_shared shared;
static struct rg_queue queue = { .capacity = 2 * PART };
static struct rg_heap *const heap = &queue.heaps[0];

struct rg_entry *rg_entry_at(u32 row)
{
	return rg_row_at(row < RG_EXTENTS_BEGIN ? row : PART + row % RG_EXTENT);
}

int main(void)
{
	u64 taken = nondet_u64(), extent;
	struct rg_entry before[PART];

	shared.extents = taken;
	rg_heap_settle(&queue, 0);
	PROVE(!heap->base && heap->capacity == PART);
	heap->count = nondet_u32();
	ASSUME(heap->count <= PART);
	for (u32 i = 0; i < PART; i++) {
		entries[i]->vruntime = nondet_u64();
		before[i] = *entries[i];
	}
	rg_extent_fill(&shared, heap);
	extent = (u64)(heap->base - RG_EXTENTS_BEGIN) / RG_EXTENT;
	if (taken == ~0ULL) {
		PROVE(!heap->base && heap->capacity == PART && shared.extents == taken);
		return 0;
	}
	PROVE(heap->base >= RG_EXTENTS_BEGIN && heap->base % RG_EXTENT == 0);
	PROVE(heap->base + heap->capacity <= RG_ENTRIES && heap->capacity == RG_EXTENT);
	PROVE(!(taken >> extent & 1) && shared.extents == (taken | 1ULL << extent));
	for (u32 i = 0; i < PART; i++)
		PROVE(i >= heap->count || rg_heap_at(heap, i)->vruntime == before[i].vruntime);
	rg_extent_empty(&shared, &queue, 0);
	PROVE(!heap->base && heap->capacity == PART && shared.extents == taken);
	return 0;
}
