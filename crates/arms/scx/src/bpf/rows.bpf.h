/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rows of the policy's tables are dealt out here: a number goes to whoever comes and returns when
 * it leaves.
 *
 * Returned rows wait on a stack, because the row used last is still in a cache. A stack starts
 * empty: rows that nobody has had yet come from a counter, so that loading fills nothing.
 */
#ifndef RG_ROWS_BPF_H
#define RG_ROWS_BPF_H

struct rg_deal {
	u32 dealt; /* rows ever handed out */
};

#define RG_STACK(name, rows)                                                                    \
	struct {                                                                                \
		__uint(type, BPF_MAP_TYPE_STACK);                                               \
		__uint(max_entries, rows);                                                      \
		__type(value, u32);                                                             \
	} name SEC(".maps")

/* A row of 1 to rows - 1, 0 where all are taken. */
static __always_inline u32 rg_row_take(void *stack, struct rg_deal *deal, u32 rows)
{
	u32 row = 0;

	if (!bpf_map_pop_elem(stack, &row))
		return row;
	if (deal->dealt >= rows - 1)
		return 0;
	row = __sync_add_and_fetch(&deal->dealt, 1);
	return row < rows ? row : 0;
}

static __always_inline void rg_row_give(void *stack, u32 row)
{
	if (row)
		bpf_map_push_elem(stack, &row, 0);
}

#endif
