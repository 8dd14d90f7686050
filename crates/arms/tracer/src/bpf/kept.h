/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What keeps a thread off its CPU: the state and the system call that it leaves it in, and its
 * group's quota.
 */
#ifndef REARGUARD_KEPT_H
#define REARGUARD_KEPT_H

#include "quota.h"

/* What keeps a thread off its CPU, beside the bits of its state. */
#define IN_IOWAIT (1U << 16)
#define IS_THROTTLED (1U << 17)
#define IS_FROZEN (1U << 18)

/* The system call that a thread is in; below zero for none (a page fault). */
static __always_inline __s32 system_call(struct task_struct *task)
{
	const struct pt_regs *regs = (const void *)bpf_task_pt_regs(task);

	return BPF_CORE_READ(regs, orig_ax);
}

static __always_inline __u32 kept_by(const struct task_struct *task, bool blocks, __u32 state)
{
	__u32 kept = is_throttled(task) ? IS_THROTTLED : 0;

	if (!blocks)
		return kept;
	kept |= state & 0xffff;
	kept |= BPF_CORE_READ_BITFIELD(task, in_iowait) ? IN_IOWAIT : 0;
	kept |= BPF_CORE_READ_BITFIELD(task, frozen) ? IS_FROZEN : 0;
	return kept;
}

/* Where the throttling group stands in what is told of a wake-up. */
#define GROUP_SHIFT 8

static __always_inline __u32 throttled(const struct task_struct *task)
{
	return is_throttled(task) ? 1 | throttling_group(task) << GROUP_SHIFT : 0;
}

#endif
