/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each process and group received, counted for monitors. Sums outlive the threads that
 * they come from, so a storm of short ones is counted as well.
 */
#ifndef RG_TALLY_BPF_H
#define RG_TALLY_BPF_H

#include "threads.bpf.h"

struct rg_tally {
	u64 ran_ns;
	u64 slices;     /* how often a thread ran */
	u64 migrations; /* of these, on another CPU than before */
};

struct rg_tally rg_process_tallies[RG_PROCESSES] SEC(".bss.tallies");
struct rg_tally rg_group_tallies[RG_GROUPS] SEC(".bss.shares");

static __always_inline struct rg_tally *rg_process_tally(struct rg_task_ctx *ctx)
{
	return &rg_process_tallies[ctx->process & (RG_PROCESSES - 1)];
}

static __always_inline struct rg_tally *rg_group_tally(struct rg_task_ctx *ctx)
{
	return &rg_group_tallies[ctx->group & (RG_GROUPS - 1)];
}

/* CPU time from before, or in another class, is not ours to count. */
static __always_inline void rg_tally_begin(struct task_struct *t)
{
	rg_task_ctx_at(rg_slot(t))->exec_seen = t->se.sum_exec_runtime;
}

static __always_inline void rg_tally_add(struct rg_tally *tally, u64 ran_ns, u64 slices, bool moved)
{
	__sync_fetch_and_add(&tally->ran_ns, ran_ns);
	if (slices)
		__sync_fetch_and_add(&tally->slices, slices);
	if (moved)
		__sync_fetch_and_add(&tally->migrations, 1);
}

/* The thread has run; `slices`: 1 if it stops now. */
static __always_inline void rg_tally_charge(struct task_struct *t, u64 slices)
{
	struct rg_task_ctx *ctx = rg_task_ctx_at(rg_slot(t));
	u64 ran_ns = t->se.sum_exec_runtime - ctx->exec_seen;
	s32 cpu = scx_bpf_task_cpu(t);
	bool moved = ctx->cpu != cpu;

	ctx->exec_seen += ran_ns;
	ctx->cpu = cpu;
	rg_tally_add(rg_process_tally(ctx), ran_ns, slices, moved);
	rg_tally_add(rg_group_tally(ctx), ran_ns, slices, moved);
}

#endif
