/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What wakes a thread: another thread, or an interrupt in its midst. */
#ifndef RG_WAKER_BPF_H
#define RG_WAKER_BPF_H

/* bpf_in_interrupt() asks the kernel's configuration, too, of which guests have no file. */
#define RG_IN_INTERRUPT (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK)

/*
 * The slot of the thread that wakes another, as flags have it; 0: an interrupt does, a thread
 * without a row, or anything on machines whose kernel does not say.
 */
static __always_inline u64 rg_waker(void)
{
#if defined(bpf_target_x86) || defined(bpf_target_arm64)
	struct task_struct *t = bpf_get_current_task_btf();

	if (get_preempt_count() & RG_IN_INTERRUPT || !t->pid)
		return 0;
	return (u64)rg_slot(t) << RG_WAKER_SHIFT;
#else
	return 0;
#endif
}

#endif
