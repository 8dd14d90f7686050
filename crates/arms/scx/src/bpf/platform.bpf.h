/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seam (policy/platform.h) on top of sched_ext: one small function a call. What belongs to
 * threads, groups, CPUs' domains and queues has a file of its own.
 */
#ifndef RG_PLATFORM_BPF_H
#define RG_PLATFORM_BPF_H

#define RG_CALL static __always_inline
#define RG_CALLBACK static __always_inline
#define RG_TRUSTED __arg_trusted

#include "loops.bpf.h"

#define RG_VISIT(thread, queue) bpf_for_each(scx_dsq, thread, queue, 0)
/* The kernel ends a scheduler that moves a thread to where it may not run. */
#define RG_MOVE(thread)                                                                         \
	(rg_may_run_on(thread, bpf_get_smp_processor_id()) &&                                   \
	 scx_bpf_dsq_move(BPF_FOR_EACH_ITER, thread, SCX_DSQ_LOCAL, 0))

/*
 * The compiler may not see where a row's number came from: it would step through the table by
 * addresses instead, which the verifier cannot bound.
 */
#define rg_masked(row, rows)                                                                    \
	({                                                                                      \
		u32 rg_row = (row);                                                             \
		barrier_var(rg_row);                                                            \
		rg_row & ((rows) - 1);                                                          \
	})

#define rg_opaque(number) ((number) + rg_zero)
/* With values, here and elsewhere: else the compiler lays them out in the order of their use. */
volatile u32 rg_zero = 0;

#include "state.h"

#include "groups.bpf.h"
#include "held.bpf.h"
#include "queues.bpf.h"
#include "topology.bpf.h"
#include "weights.bpf.h"

struct rg_cpu rg_cpus[RG_MAX_CPUS] SEC(".bss.cpus");
struct rg_pool rg_pools[RG_POOLS] SEC(".bss.pools");
struct rg_entry rg_entries[RG_ENTRIES] SEC(".bss.entries");
struct rg_shared rg_all SEC(".bss.shared");

/* Apart from other constants: a policy in a file has other options, and so another size of them. */
const volatile struct rg_options rg_loaded_options SEC(".rodata.options");

RG_CALL u64 rg_now(void)
{
	return scx_bpf_now();
}

#include "requests.bpf.h"

RG_CALL u32 rg_random(void)
{
	return bpf_get_prandom_u32();
}

RG_CALL u64 rg_exec_ns(struct task_struct *t)
{
	return t->se.sum_exec_runtime;
}

RG_CALL u32 rg_thread_id(struct task_struct *t)
{
	return t->pid;
}

RG_CALL u32 rg_process_id(struct task_struct *t)
{
	return t->tgid;
}

RG_CALL s32 rg_thread_cpu(struct task_struct *t)
{
	return scx_bpf_task_cpu(t);
}

RG_CALL bool rg_is_runnable(struct task_struct *prev)
{
	return prev->scx.flags & SCX_TASK_QUEUED;
}

RG_CALL struct rg_cpu *rg_cpu(s32 cpu)
{
	struct rg_cpu *row = (u32)cpu < RG_MAX_CPUS ? &rg_cpus[cpu & (RG_MAX_CPUS - 1)] : 0;

	/* Else a caller's check may be made on the number, and the verifier still sees a 0 here. */
	barrier_var(row);
	return row;
}

RG_CALL struct rg_pool *rg_pool_at(u32 row)
{
	return &rg_pools[rg_masked(row, RG_POOLS)];
}

RG_CALL struct rg_entry *rg_entry_at(u32 row)
{
	return &rg_entries[rg_masked(row, RG_ENTRIES)];
}

RG_CALL struct rg_shared *rg_shared(void)
{
	return &rg_all;
}

RG_CALL const volatile struct rg_options *rg_options(void)
{
	return &rg_loaded_options;
}

/*
 * Without the kernel's flags: told that a waker is about to block, the kernel gives its CPU as idle
 * while any other is, even one that the thread may not use. The thread would wait there for the
 * waker alone, while others idle.
 */
RG_CALL s32 rg_default_cpu(struct task_struct *t, s32 prev_cpu, bool *idle)
{
	return scx_bpf_select_cpu_dfl(t, prev_cpu, 0, idle);
}

RG_CALL s32 rg_pick_idle(struct task_struct *t)
{
	s32 home = scx_bpf_task_cpu(t);

	if (scx_bpf_test_and_clear_cpu_idle(home))
		return home;
	if (rg_is_pinned(t))
		return -1;
	return scx_bpf_pick_idle_cpu(t->cpus_ptr, 0);
}

RG_CALL void rg_kick(s32 cpu, u32 how)
{
	scx_bpf_kick_cpu(cpu, how == RG_KICK_PREEMPT ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
}

RG_CALL void rg_set_slice(struct task_struct *t, u64 slice_ns)
{
	scx_bpf_task_set_slice(t, slice_ns);
}

#endif
