/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The callbacks that the platform calls. What the adapter keeps of a thread (rg_task_ctx) is
 * counted with them: it is asked for whose row the thread has, and changes when the thread has run.
 */
#ifndef RG_WRAPPED_H
#define RG_WRAPPED_H

#undef rg_select_cpu
#undef rg_enqueue
#undef rg_dispatch
#undef rg_yield
#undef rg_tick
#undef rg_stopping
#undef rg_idle

s32 rg_select_cpu(struct task_struct *t, s32 prev_cpu)
{
	s32 cpu;

	(*rg_callback_call)(RG_WAKES, rg_thread_cpu(t));
	(*rg_kernel_call)(RG_LOOKS_UP, 0, rg_slot(t));
	cpu = rg_inner_select_cpu(t, prev_cpu);
	(*rg_callback_call)(RG_RETURNS, 0);
	return cpu;
}

void rg_enqueue(struct task_struct *t, u64 flags)
{
	(*rg_callback_call)(flags & RG_ENQUEUE_WAKEUP ? RG_WAKES : RG_SWITCHES, rg_thread_cpu(t));
	(*rg_kernel_call)(RG_LOOKS_UP, 0, rg_slot(t));
	rg_inner_enqueue(t, flags);
	(*rg_callback_call)(RG_RETURNS, 0);
}

void rg_dispatch(s32 cpu, struct task_struct *prev)
{
	(*rg_callback_call)(RG_SWITCHES, cpu);
	rg_inner_dispatch(cpu, prev);
	(*rg_callback_call)(RG_RETURNS, 0);
}

void rg_yield(struct task_struct *t)
{
	(*rg_callback_call)(RG_SWITCHES, rg_thread_cpu(t));
	rg_inner_yield(t);
	(*rg_callback_call)(RG_RETURNS, 0);
}

void rg_tick(struct task_struct *t)
{
	(*rg_callback_call)(RG_TICKS, rg_thread_cpu(t));
	(*rg_kernel_call)(RG_COUNTS, 0, rg_slot(t));
	rg_inner_tick(t);
	(*rg_callback_call)(RG_RETURNS, 0);
}

void rg_stopping(struct task_struct *t, bool runnable)
{
	(*rg_callback_call)(RG_SWITCHES, rg_thread_cpu(t));
	(*rg_kernel_call)(RG_COUNTS, 0, rg_slot(t));
	rg_inner_stopping(t, runnable);
	(*rg_callback_call)(RG_RETURNS, 0);
}

void rg_idle(s32 cpu)
{
	(*rg_callback_call)(RG_SWITCHES, cpu);
	rg_inner_idle(cpu);
	(*rg_callback_call)(RG_RETURNS, 0);
}

#endif
