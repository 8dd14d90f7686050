/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which CPUs a thread may run on. */
#ifndef RG_AFFINITY_BPF_H
#define RG_AFFINITY_BPF_H

#include "mask.h"
#include "threads.bpf.h"

/* The words of a CPU mask on this machine. */
const volatile u32 rg_mask_words = 1;

static __always_inline bool rg_admits_all(const struct cpumask *mask)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	bool all = bpf_cpumask_subset(online, mask);

	scx_bpf_put_cpumask(online);
	return all;
}

static __always_inline u32 rg_mask_hash(const struct cpumask *mask)
{
	const unsigned long *words = mask->bits;
	u64 hash = 0;
	u32 i;

	bpf_for(i, 0, rg_mask_words) {
		u64 word = 0;

		bpf_probe_read_kernel(&word, sizeof(word), words + i);
		hash = rg_mask_mix(hash, word);
	}
	return rg_mask_number(hash);
}

static __always_inline void rg_affinity_note(struct task_struct *t, const struct cpumask *mask)
{
	u32 slot = rg_slot(t);

	if (slot)
		rg_task_ctx_at(slot)->affinity = rg_admits_all(mask) ? 0 : rg_mask_hash(mask);
}

RG_CALL u32 rg_affinity(struct task_struct *t)
{
	u32 slot = rg_slot(t);

	return slot ? rg_task_ctx_at(slot)->affinity : 0;
}

/*
 * Entering a BPF program may itself disable the migration of the thread that runs it: whether this
 * kernel does so is what common.bpf.h's probe finds out when we are attached. (Its own question
 * also reads the kernel's configuration, which many machines have no file of.)
 */
static __always_inline bool rg_is_migration_disabled(struct task_struct *t)
{
	if (t->migration_disabled == 1 && __scx_prolog_disables_migration)
		return t != bpf_get_current_task_btf();
	return t->migration_disabled;
}

RG_CALL bool rg_is_pinned(struct task_struct *t)
{
	return t->nr_cpus_allowed == 1 || rg_is_migration_disabled(t);
}

RG_CALL bool rg_may_run_on(struct task_struct *t, s32 cpu)
{
	if (rg_is_migration_disabled(t))
		return cpu == scx_bpf_task_cpu(t);
	return bpf_cpumask_test_cpu(cpu, t->cpus_ptr);
}

RG_CALL bool rg_is_percpu_kthread(struct task_struct *t)
{
	return (t->flags & PF_KTHREAD) && t->nr_cpus_allowed == 1;
}

#endif
