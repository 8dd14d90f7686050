/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A policy as a sched_ext scheduler.
 *
 * The policy (policy/scheduler.h) decides; this file hands it the kernel's callbacks, in the order
 * in which the kernel makes them, and platform.bpf.h answers its questions. All choices are
 * constants of the load: the verifier sees them in frozen memory and drops what they switch off,
 * so one object is every policy.
 *
 * What a scheduler must never do, and why this one does not:
 *
 *   lose a thread           threads wait in the kernel's own queues alone; whatever the policy
 *                           remembers of them are hints
 *   stall one               the kernel's watchdog ejects us and its default class takes over
 *   break an affinity       the kernel checks every move; queues are left by the CPU that runs
 *   leave traces            the scheduler is a link that the loader's process holds: it goes when
 *                           the process goes, however it goes
 *
 * A thread or group that finds no row (65,535 and 4,095) ends the policy with a message: the
 * default class schedules again. Served otherwise, it would go before all others or count as the
 * root does.
 */
#include <scx/common.bpf.h>
#include <bpf_experimental.h>

#include "platform.bpf.h"
#include "scheduler.h"
#include "tally.bpf.h"

char _license[] SEC("license") = "GPL";

UEI_DEFINE(uei);

static int rearguard_group_due(void *timers, u32 *group, struct rg_timer *timer)
{
	bpf_rcu_read_lock();
	rg_group_due(*group);
	bpf_rcu_read_unlock();
	return 0;
}

static int rearguard_turn_due(void *timers, u32 *cpu, struct rg_timer *timer)
{
	rg_turn_due(*cpu);
	return 0;
}

static s32 rg_open_cpu_timers(void)
{
	RG_FOR(cpu, 0, scx_bpf_nr_cpu_ids()) {
		s32 error = RG_TIMER_OPEN(rg_cpu_timers, cpu, rearguard_turn_due);

		if (error)
			return error;
	}
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rearguard_init)
{
	s32 error = rg_holds ? rg_open_cpu_timers() : 0;

	return error ? error : rg_init();
}

/* A quota of more CPUs than there can be is none, and stays within 64 bits. */
static __always_inline void rg_limit(u32 row, u64 period_us, u64 quota_us, u64 burst_us)
{
	u64 most_us = RG_MAX_CPUS * period_us;
	u64 capped_us = burst_us < most_us ? burst_us : most_us;

	rg_limit_group(row, quota_us < most_us ? quota_us * 1000 : RG_NEVER, period_us * 1000,
		       capped_us * 1000);
}

/* What the group was promised, if anything. */
static __always_inline void rg_promise(u32 row, u64 id)
{
	struct rg_promised *promised = rg_group_promised(id);

	if (promised)
		rg_promise_group(row, promised->within_ns, promised->share);
}

/* The loader has changed what a cgroup is promised; the row of its group, 0: it has none. */
SEC("syscall")
int rearguard_promise(u64 *id)
{
	struct rg_promised *promised = rg_group_promised(*id);
	u32 row = rg_group_of(*id);

	if (row)
		rg_promise_group(row, promised ? promised->within_ns : 0,
				 promised ? promised->share : 0);
	return row;
}

/* What a group needs to hold threads. */
static __always_inline s32 rg_group_hold(u32 row, struct scx_cgroup_init_args *args)
{
	s32 error = scx_bpf_create_dsq(RG_HELD(row), NUMA_NO_NODE);

	if (!error)
		error = RG_TIMER_OPEN(rg_group_timers, row, rearguard_group_due);
	if (!error && bpf_core_field_exists(args->bw_quota_us))
		rg_limit(row, args->bw_period_us, args->bw_quota_us, args->bw_burst_us);
	return error;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rearguard_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	u32 parent, row;

	if (!cgrp->level)
		return 0;
	parent = rg_group_parent(cgrp);
	row = rg_group_enter(cgrp->kn->id);
	if (!row) {
		scx_bpf_exit(0, "more than %d cgroups", RG_GROUPS - 1);
		return 0;
	}
	rg_init_group(row, parent, args->weight);
	rg_idle_group(row, rg_group_is_idle(cgrp));
	rg_promise(row, cgrp->kn->id);
	return rg_holds ? rg_group_hold(row, args) : 0;
}

void BPF_STRUCT_OPS(rearguard_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us,
		    u64 quota_us, u64 burst_us)
{
	u32 row = rg_group_of(cgrp->kn->id);

	if (row && rg_holds)
		rg_limit(row, period_us, quota_us, burst_us);
}

void BPF_STRUCT_OPS(rearguard_cgroup_set_idle, struct cgroup *cgrp, bool idle)
{
	u32 row = rg_group_of(cgrp->kn->id);

	if (row)
		rg_idle_group(row, idle);
}

void BPF_STRUCT_OPS(rearguard_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	u32 row = rg_group_of(cgrp->kn->id);

	if (row)
		rg_weigh_group(row, weight);
}

void BPF_STRUCT_OPS_SLEEPABLE(rearguard_cgroup_exit, struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id;
	u32 row = rg_group_of(id);

	if (!row)
		return;
	rg_exit_group(row);
	if (rg_holds)
		scx_bpf_destroy_dsq(RG_HELD(row));
	rg_group_leave(id, row);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rearguard_init_task, struct task_struct *p,
			     struct scx_init_task_args *args)
{
	u32 slot = rg_thread_enter(p);
	u32 group = 0;

	if (!slot) {
		scx_bpf_exit(0, "more than %d threads", RG_THREADS - 1);
		return 0;
	}
	bpf_rcu_read_lock();
	rg_affinity_note(p, p->cpus_ptr);
	bpf_rcu_read_unlock();
	if (bpf_core_field_exists(args->cgroup))
		group = rg_group_of(args->cgroup->kn->id);
	rg_task_ctx_at(slot)->group = group;
	if (rg_stamps)
		*rg_request_of(slot) = 0;
	return rg_init_thread(p, group);
}

/* The thread comes from another scheduling class, or is new. */
void BPF_STRUCT_OPS(rearguard_enable, struct task_struct *p)
{
	struct task_struct *reference = bpf_task_acquire(p);

	rg_tally_begin(p);
	if (reference)
		rg_refer(rg_slot(p), reference);
}

/* It ends, or goes to another class. */
void BPF_STRUCT_OPS(rearguard_disable, struct task_struct *p)
{
	rg_exit_thread(p);
	rg_tally_end(rg_task_ctx_at(rg_slot(p)));
	rg_refer(rg_slot(p), 0);
}

void BPF_STRUCT_OPS(rearguard_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	rg_affinity_note(p, mask);
}

void BPF_STRUCT_OPS(rearguard_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	u32 group = rg_group_of(to->kn->id);
	u32 slot = rg_slot(p);

	if (!slot)
		return;
	rg_tally_end(rg_task_ctx_at(slot));
	rg_task_ctx_at(slot)->group = group;
	rg_move_thread_group(p, group);
}

s32 BPF_STRUCT_OPS(rearguard_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	if (rg_stamps)
		rg_request_wakes(p);
	return rg_select_cpu(p, prev_cpu);
}

void BPF_STRUCT_OPS(rearguard_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (rg_stamps && enq_flags & SCX_ENQ_WAKEUP && rg_is_pinned(p))
		rg_request_wakes(p);
	if (!rg_slot(p)) /* until the end that init_task has asked for */
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
	else
		rg_enqueue(p, enq_flags & SCX_ENQ_WAKEUP ? RG_ENQUEUE_WAKEUP : 0);
}

void BPF_STRUCT_OPS(rearguard_dispatch, s32 cpu, struct task_struct *prev)
{
	rg_dispatch(cpu, prev);
}

/* With `to` it is yield_to(), which a hypervisor calls: no, its own waiting goes on. */
bool BPF_STRUCT_OPS(rearguard_yield, struct task_struct *p, struct task_struct *to)
{
	if (!to)
		rg_yield(p);
	return false;
}

void BPF_STRUCT_OPS(rearguard_tick, struct task_struct *p)
{
	rg_tally_charge(p, 0);
	rg_tick(p);
}

/* One whose affinity, weight or group changes while it runs seems to block, and goes on. */
void BPF_STRUCT_OPS(rearguard_stopping, struct task_struct *p, bool runnable)
{
	rg_tally_charge(p, 1);
	rg_stopping(p, runnable || !p->__state);
	rg_forget_dead(p);
}

/*
 * Kernels before 6.16 show the CPU as idle after this. A thread that comes in between sees no idle
 * CPU, so this one asks once more: the kick is sent when it is shown.
 */
void BPF_STRUCT_OPS(rearguard_update_idle, s32 cpu, bool idle)
{
	if (!idle)
		return;
	rg_idle(cpu);
	if (LINUX_KERNEL_VERSION < KERNEL_VERSION(6, 16, 0))
		rg_kick(cpu, RG_KICK_IDLE);
}

void BPF_STRUCT_OPS(rearguard_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 slot = rg_slot(p);

	if (!slot)
		return;
	rg_thread_leave(p, slot);
}

u64 rg_ended_ns; /* when the kernel said so */

void BPF_STRUCT_OPS(rearguard_exit, struct scx_exit_info *ei)
{
	rg_ended_ns = bpf_ktime_get_ns();
	UEI_RECORD(uei, ei);
}

/*
 * ENQ_EXITING and ENQ_MIGRATION_DISABLED: without them the kernel puts such threads before all
 * others, for 20 ms. KEEP_BUILTIN_IDLE: update_idle only listens. ENQ_LAST with quotas alone: a
 * thread goes on where dispatch brings nothing, unless its group holds it (rg_vacate).
 */
SCX_OPS_DEFINE(rearguard,
	       .init			= (void *)rearguard_init,
	       .cgroup_init		= (void *)rearguard_cgroup_init,
	       .cgroup_set_weight	= (void *)rearguard_cgroup_set_weight,
	       .cgroup_set_bandwidth	= (void *)rearguard_cgroup_set_bandwidth,
	       .cgroup_set_idle		= (void *)rearguard_cgroup_set_idle,
	       .cgroup_exit		= (void *)rearguard_cgroup_exit,
	       .init_task		= (void *)rearguard_init_task,
	       .enable			= (void *)rearguard_enable,
	       .disable			= (void *)rearguard_disable,
	       .set_cpumask		= (void *)rearguard_set_cpumask,
	       .cgroup_move		= (void *)rearguard_cgroup_move,
	       .select_cpu		= (void *)rearguard_select_cpu,
	       .enqueue			= (void *)rearguard_enqueue,
	       .dispatch		= (void *)rearguard_dispatch,
	       .yield			= (void *)rearguard_yield,
	       .tick			= (void *)rearguard_tick,
	       .stopping		= (void *)rearguard_stopping,
	       .update_idle		= (void *)rearguard_update_idle,
	       .exit_task		= (void *)rearguard_exit_task,
	       .exit			= (void *)rearguard_exit,
	       .timeout_ms		= 30000,
	       .name			= "rearguard")
