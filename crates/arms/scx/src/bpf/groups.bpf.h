/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups: the row of each cgroup that has a CPU weight. The root's is 0. Where no row is left
 * cgroup_init ends the policy.
 */
#ifndef RG_GROUPS_BPF_H
#define RG_GROUPS_BPF_H

#include "rows.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RG_GROUPS);
	__type(key, u64); /* the cgroup's id */
	__type(value, u32);
} rg_group_rows SEC(".maps");

RG_RETURNED(rg_free_groups, BPF_MAP_TYPE_QUEUE, RG_GROUPS);
struct rg_slot_allocator rg_group_allocator = {};
struct rg_group rg_groups[RG_GROUPS] SEC(".bss.groups");
u64 rg_group_ids[RG_GROUPS] SEC(".bss.group_ids"); /* of the cgroup; 0: no group's row */

RG_CALL struct rg_group *rg_group_at(u32 group)
{
	return &rg_groups[group & (RG_GROUPS - 1)];
}

static __always_inline u32 rg_group_of(u64 id)
{
	u32 *row = bpf_map_lookup_elem(&rg_group_rows, &id);

	return row ? *row : 0;
}

/* Its cpu.idle. */
static __always_inline bool rg_group_is_idle(struct cgroup *group)
{
	u64 at = bpf_core_field_offset(group->subsys) +
		 bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id) * sizeof(void *);
	struct cgroup_subsys_state *css = 0;

	bpf_probe_read_kernel(&css, sizeof(css), (void *)group + at);
	return css && BPF_CORE_READ(container_of(css, struct task_group, css), idle);
}

static __always_inline u32 rg_group_parent(struct cgroup *group)
{
	struct cgroup *parent = bpf_cgroup_ancestor(group, group->level - 1);
	u32 row;

	if (!parent)
		return 0;
	row = rg_group_of(parent->kn->id);
	bpf_cgroup_release(parent);
	return row;
}

/*
 * Before 6.19 a group may go while a thread of it still ends, and counts there: its row is used
 * again as late as can be.
 */
static __always_inline u32 rg_group_enter(u64 id)
{
	u32 row = rg_row_new(&rg_group_allocator, RG_GROUPS);

	if (!row)
		row = rg_row_again(&rg_free_groups);
	if (!row)
		return 0;
	__builtin_memset(rg_group_at(row), 0, sizeof(struct rg_group));
	rg_group_ids[row & (RG_GROUPS - 1)] = id;
	if (!bpf_map_update_elem(&rg_group_rows, &id, &row, BPF_ANY))
		return row;
	rg_row_give(&rg_free_groups, row);
	return 0;
}

/* What the loader was asked to promise, by the cgroup's id. */
struct rg_promised {
	u64 within_ns;
	u64 share; /* in millionths of a CPU */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 256);
	__type(key, u64);
	__type(value, struct rg_promised);
} rg_promised_groups SEC(".maps");

static __always_inline struct rg_promised *rg_group_promised(u64 id)
{
	return bpf_map_lookup_elem(&rg_promised_groups, &id);
}

static __always_inline void rg_group_leave(u64 id, u32 row)
{
	bpf_map_delete_elem(&rg_group_rows, &id);
	rg_group_ids[row & (RG_GROUPS - 1)] = 0;
	rg_row_give(&rg_free_groups, row);
}

#endif
