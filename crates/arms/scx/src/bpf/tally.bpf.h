/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each process and group received, counted for monitors. Sums outlive the threads that
 * they come from, so a storm of short ones is counted as well. A thread that lives has its part
 * with itself: at every switch the sums would be lines that all CPUs write.
 */
#ifndef RG_TALLY_BPF_H
#define RG_TALLY_BPF_H

#include "threads.bpf.h"

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

static __always_inline void rg_tally_add(struct rg_tally *tally, struct rg_tally *own)
{
	__sync_fetch_and_add(&tally->ran_ns, own->ran_ns);
	__sync_fetch_and_add(&tally->slices, own->slices);
	__sync_fetch_and_add(&tally->migrations, own->migrations);
}

/* The thread has run; `slices`: 1 if it stops now. */
static __always_inline void rg_tally_charge(struct task_struct *t, u64 slices)
{
	struct rg_task_ctx *ctx = rg_task_ctx_at(rg_slot(t));
	u64 ran_ns = t->se.sum_exec_runtime - ctx->exec_seen;
	s32 cpu = scx_bpf_task_cpu(t);

	ctx->exec_seen += ran_ns;
	ctx->tally.ran_ns += ran_ns;
	ctx->tally.slices += slices;
	ctx->tally.migrations += ctx->cpu != cpu;
	ctx->cpu = cpu;
}

/* The thread ends, or leaves its group: what it received stays with its process and group. */
static __always_inline void rg_tally_end(struct rg_task_ctx *ctx)
{
	struct rg_tally none = {};

	rg_tally_add(rg_process_tally(ctx), &ctx->tally);
	rg_tally_add(rg_group_tally(ctx), &ctx->tally);
	ctx->tally = none;
}

#endif
