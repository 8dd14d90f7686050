/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each process and group received, counted for whoever watches. Sums outlive the threads that
 * they come from, so a storm of short ones is counted as well.
 */
#ifndef RG_TALLY_BPF_H
#define RG_TALLY_BPF_H

#include "threads.bpf.h"

struct rg_tally {
	u64 ran_ns;
	u64 slices;     /* how often a thread began to run */
	u64 migrations; /* of these, on another CPU than before */
};

struct rg_tally rg_process_tallies[RG_PROCESSES] SEC(".bss.tallies");
struct rg_tally rg_group_tallies[RG_GROUPS] SEC(".bss.shares");

static __always_inline struct rg_tally *rg_process_tally(struct rg_seat *seat)
{
	return &rg_process_tallies[seat->process & (RG_PROCESSES - 1)];
}

static __always_inline struct rg_tally *rg_group_tally(struct rg_seat *seat)
{
	return &rg_group_tallies[seat->group & (RG_GROUPS - 1)];
}

/* CPU time from before, or in another class, is not ours to count. */
static __always_inline void rg_tally_begin(struct task_struct *t)
{
	rg_seat_at(rg_slot(t))->exec_seen = t->se.sum_exec_runtime;
}

static __always_inline void rg_tally_run(struct task_struct *t)
{
	struct rg_seat *seat = rg_seat_at(rg_slot(t));
	s32 cpu = scx_bpf_task_cpu(t);

	__sync_fetch_and_add(&rg_process_tally(seat)->slices, 1);
	__sync_fetch_and_add(&rg_group_tally(seat)->slices, 1);
	if (seat->cpu == cpu)
		return;
	seat->cpu = cpu;
	__sync_fetch_and_add(&rg_process_tally(seat)->migrations, 1);
	__sync_fetch_and_add(&rg_group_tally(seat)->migrations, 1);
}

static __always_inline void rg_tally_charge(struct task_struct *t)
{
	struct rg_seat *seat = rg_seat_at(rg_slot(t));
	u64 ran = t->se.sum_exec_runtime - seat->exec_seen;

	seat->exec_seen += ran;
	__sync_fetch_and_add(&rg_process_tally(seat)->ran_ns, ran);
	__sync_fetch_and_add(&rg_group_tally(seat)->ran_ns, ran);
}

#endif
