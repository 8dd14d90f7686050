/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of the policy's tables are allocated here: a thread or group takes a number and returns it
 * when it leaves.
 *
 * Returned rows wait on a stack, because the row used last is still in a cache. A stack starts
 * empty: rows that were never used come from a counter, so that loading fills nothing.
 */
#ifndef RG_ROWS_BPF_H
#define RG_ROWS_BPF_H

struct rg_slot_allocator {
	u32 allocated; /* rows ever handed out */
};

#define RG_STACK(name, rows)                                                                    \
	struct {                                                                                \
		__uint(type, BPF_MAP_TYPE_STACK);                                               \
		__uint(max_entries, rows);                                                      \
		__type(value, u32);                                                             \
	} name SEC(".maps")

/* A row of 1 to rows - 1, 0 where all are taken. */
static __always_inline u32 rg_row_take(void *stack, struct rg_slot_allocator *allocator, u32 rows)
{
	u32 row = 0;

	if (!bpf_map_pop_elem(stack, &row))
		return row;
	if (allocator->allocated >= rows - 1)
		return 0;
	row = __sync_add_and_fetch(&allocator->allocated, 1);
	return row < rows ? row : 0;
}

static __always_inline void rg_row_give(void *stack, u32 row)
{
	if (row)
		bpf_map_push_elem(stack, &row, 0);
}

#endif
