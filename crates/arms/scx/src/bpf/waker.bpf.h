/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What wakes a thread: another thread, or an interrupt in its midst. */
#ifndef RG_WAKER_BPF_H
#define RG_WAKER_BPF_H

/* bpf_in_interrupt() asks the kernel's configuration, too, of which guests have no file. */
#define RG_IN_INTERRUPT (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK)

/* On other machines the kernel does not say. */
RG_CALL u32 rg_waker(void)
{
#if defined(bpf_target_x86) || defined(bpf_target_arm64)
	struct task_struct *t = bpf_get_current_task_btf();

	if (get_preempt_count() & RG_IN_INTERRUPT || !t->pid)
		return 0;
	return rg_slot(t);
#else
	return 0;
#endif
}

#endif
