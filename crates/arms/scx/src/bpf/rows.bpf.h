/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of the policy's tables are allocated here: a thread or group takes a number of 1 to rows - 1
 * and returns it when it leaves.
 *
 * Returned rows of threads wait on a stack, because the row used last is still in a cache; those of
 * groups in a queue (groups.bpf.h). Both start empty: rows that were never used come from a
 * counter, so that loading fills nothing.
 */
#ifndef RG_ROWS_BPF_H
#define RG_ROWS_BPF_H

struct rg_slot_allocator {
	u32 allocated; /* rows ever handed out */
};

#define RG_RETURNED(name, kind, rows)                                                           \
	struct {                                                                                \
		__uint(type, kind);                                                             \
		__uint(max_entries, rows);                                                      \
		__type(value, u32);                                                             \
	} name SEC(".maps")

/* One that was never used, 0: none. */
static __always_inline u32 rg_row_new(struct rg_slot_allocator *allocator, u32 rows)
{
	u32 row;

	if (allocator->allocated >= rows - 1)
		return 0;
	row = __sync_add_and_fetch(&allocator->allocated, 1);
	return row < rows ? row : 0;
}

/* One that was returned, 0: none. */
static __always_inline u32 rg_row_again(void *returned)
{
	u32 row = 0;

	return bpf_map_pop_elem(returned, &row) ? 0 : row;
}

static __always_inline u32 rg_row_take(void *returned, struct rg_slot_allocator *allocator,
				       u32 rows)
{
	u32 row = rg_row_again(returned);

	return row ? row : rg_row_new(allocator, rows);
}

static __always_inline void rg_row_give(void *returned, u32 row)
{
	if (row)
		bpf_map_push_elem(returned, &row, 0);
}

#endif
