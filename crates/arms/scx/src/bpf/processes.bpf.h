/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes: the row of each, from its first thread to its last.
 *
 * The first thread (the leader) may exit long before the others, so a process ends with the last
 * of its threads, by count. An id may be given to a new process before the last thread of the old
 * one has left the CPU for good: then both share a row for that moment.
 */
#ifndef RG_PROCESSES_BPF_H
#define RG_PROCESSES_BPF_H

#include "rows.bpf.h"

#define RG_PROCESSES RG_THREADS /* every process has a thread */

struct rg_membership {
	u32 row;
	u32 threads;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RG_PROCESSES);
	__type(key, u32); /* tgid */
	__type(value, struct rg_membership);
} rg_memberships SEC(".maps");

RG_RETURNED(rg_free_processes, BPF_MAP_TYPE_STACK, RG_PROCESSES);
struct rg_slot_allocator rg_process_allocator = {};
struct rg_process rg_processes[RG_PROCESSES] SEC(".bss.processes");

static __always_inline struct rg_process *rg_process_at(u32 row)
{
	return &rg_processes[row & (RG_PROCESSES - 1)];
}

static __always_inline u32 rg_process_begin(u32 tgid)
{
	struct rg_membership new = { .threads = 1 };

	new.row = rg_row_take(&rg_free_processes, &rg_process_allocator, RG_PROCESSES);
	if (!new.row)
		return 0;
	__builtin_memset(rg_process_at(new.row), 0, sizeof(struct rg_process));
	if (!bpf_map_update_elem(&rg_memberships, &tgid, &new, BPF_ANY))
		return new.row;
	rg_row_give(&rg_free_processes, new.row);
	return 0;
}

/* A thread of the process comes; its row, 0 where none is left. */
static __always_inline u32 rg_process_enter(u32 tgid)
{
	struct rg_membership *old = bpf_map_lookup_elem(&rg_memberships, &tgid);

	/* A count that was 0 belongs to a process that is just ending. */
	if (old && __sync_add_and_fetch(&old->threads, 1) > 1)
		return old->row;
	return rg_process_begin(tgid);
}

static __always_inline void rg_process_leave(u32 tgid)
{
	struct rg_membership *old = bpf_map_lookup_elem(&rg_memberships, &tgid);
	u32 row;

	if (!old || __sync_add_and_fetch(&old->threads, -1))
		return;
	row = old->row;
	bpf_map_delete_elem(&rg_memberships, &tgid);
	rg_row_give(&rg_free_processes, row);
}

#endif
