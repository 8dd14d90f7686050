/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that are held for a quota: not in the kernel yet. The option `quotas` is 0, and the
 * verifier drops what leads here; the loader refuses where a group has a quota.
 */
#ifndef RG_HELD_BPF_H
#define RG_HELD_BPF_H

RG_CALL void rg_hold(struct task_struct *t)
{
}

RG_CALL void rg_unhold(struct task_struct *t, u32 queue, u64 slice_ns, u64 key)
{
}

RG_CALL void rg_vacate(struct task_struct *prev)
{
}

RG_CALL void rg_group_timer(u32 group, u64 at)
{
}

#endif
