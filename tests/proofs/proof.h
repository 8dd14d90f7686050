/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The platform of proofs: tables of a few rows, and for every other question any answer that
 * platform.h allows. A row outside of a table is no row, so that CBMC refutes an access to it.
 */
#ifndef PROOF_H
#define PROOF_H

#include "state.h"

#ifndef PROOF_ENTRIES
#define PROOF_ENTRIES 1
#endif
#ifndef PROOF_THREADS
#define PROOF_THREADS 1
#endif
#ifndef PROOF_GROUPS
#define PROOF_GROUPS 1
#endif

/* Some value: CBMC follows all. */
u64 nondet_u64(void);
u32 nondet_u32(void);
s32 nondet_s32(void);
bool nondet_bool(void);

#define ASSUME(what) __CPROVER_assume(what)
#define PROVE(what) __CPROVER_assert(what, #what)

#define YEARS_30 (30ULL * 366 * 24 * 3600 * 1000000000)

/* 30 years of uptime in ns are less. */
_Static_assert(YEARS_30 < 1ULL << 60, "30 years are within 60 bits");

static struct rg_options options;

/*
 * A row of a table by cases, each a variable of its own: CBMC follows that a hundred times faster
 * than an address that it must compute.
 */
#define PROOF_ROW(table, rows, row)                                                                \
	for (u32 i = 0; i < (rows); i++)                                                           \
		if ((row) == i)                                                                    \
			return (table)[i];                                                         \
	return 0
#define PROOF_TABLE(type, table)                                                                   \
	static type table##_0, table##_1, table##_2, table##_3, table##_4, table##_5, table##_6,   \
		table##_7;                                                                         \
	static type *const table[] = { &table##_0, &table##_1, &table##_2, &table##_3,             \
				       &table##_4, &table##_5, &table##_6, &table##_7 }

PROOF_TABLE(struct rg_entry, entries);
PROOF_TABLE(struct rg_thread, threads);
PROOF_TABLE(struct rg_group, groups);

struct rg_entry *rg_entry_at(u32 row)
{
	PROOF_ROW(entries, PROOF_ENTRIES, row);
}

struct rg_thread *rg_thread_at(u32 slot)
{
	PROOF_ROW(threads, PROOF_THREADS, slot);
}

struct rg_group *rg_group_at(u32 group)
{
	PROOF_ROW(groups, PROOF_GROUPS, group);
}

const volatile struct rg_options *rg_options(void)
{
	return &options;
}

#endif
