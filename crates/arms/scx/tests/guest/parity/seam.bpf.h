/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seam (policy/platform.h) over a machine that the test invents.
 *
 * Questions about threads, CPUs and the clock are answered from what the test wrote into `input`.
 * Acts, and questions whose answer an act changes, are compared with those of the native run of the
 * same callback, one by one in their order, and answered as they were there.
 */
#ifndef RG_PARITY_SEAM_H
#define RG_PARITY_SEAM_H

#define RG_CALL static __always_inline
#define RG_CALLBACK static __always_inline
#define RG_TRUSTED __arg_nonnull

#ifdef RG_OLD_VERIFIER
#include "../../../src/bpf/loops.bpf.h"
#define parity_steps(step) RG_FOR_OUTER(step, 0, PARITY_THREADS)
#else
/*
 * As in src/bpf: the verifier does not know where the counter begins, and the compiler may not keep
 * it in other forms.
 */
#define RG_FOR(i, from, to)                                                                     \
	for (u32 i = (from) + parity_zero; i < (u32)(to) && can_loop; ({                        \
		     i++;                                                                       \
		     barrier_var(i);                                                            \
	     }))
#define parity_steps(step)                                                                      \
	for (u32 step = 0, step##_once = 1; step##_once; step##_once = 0)                       \
		bpf_for(step, 0, PARITY_THREADS)
#endif
/* A visit ends where the native one ended. */
#define RG_VISIT(thread, queue)                                                                 \
	for (u32 rg_visited = (queue), rg_once = 1; rg_once; rg_once = 0)                       \
		parity_steps(rg_step)                                                           \
			if (!((thread) = parity_visit(rg_visited)))                             \
				break;                                                          \
			else
#define RG_MOVE(thread) parity_visited(rg_visited, thread)
#define RG_MOVE_TO(thread, queue, slice_ns, key) ((void)(key), 0)
#define rg_masked(row, rows)                                                                    \
	({                                                                                      \
		u32 rg_row = (row);                                                             \
		barrier_var(rg_row);                                                            \
		rg_row & ((rows) - 1);                                                          \
	})
#define rg_opaque(number) ((number) + parity_zero)

volatile u32 parity_zero;

#include "state.h"

#include "script.bpf.h"
#include "tables.bpf.h"

RG_CALL u64 rg_now(void)
{
	return input.now;
}

RG_CALL u32 rg_random(void)
{
	return parity_act(PARITY_RANDOM, 0, 0, 0, 0);
}

RG_CALL u64 rg_exec_ns(struct task_struct *t)
{
	return parity_thread(t)->exec_ns;
}

RG_CALL u32 rg_thread_id(struct task_struct *t)
{
	return parity_thread(t)->id;
}

/* Numbered beside threads, as natively. */
RG_CALL u32 rg_process_id(struct task_struct *t)
{
	return 1u << 30 | parity_thread(t)->process;
}

RG_CALL u32 rg_weight(struct task_struct *t)
{
	return parity_thread(t)->weight;
}

RG_CALL s32 rg_thread_cpu(struct task_struct *t)
{
	return parity_thread(t)->cpu;
}

/* A function of its own, so that the verifier follows one answer instead of three ways to it. */
__noinline u32 parity_admits(s32 only_on, s32 cpu)
{
	return only_on < 0 || only_on == cpu;
}

RG_CALL bool rg_may_run_on(struct task_struct *t, s32 cpu)
{
	return parity_admits(parity_thread(t)->only_on, cpu);
}

RG_CALL u32 rg_affinity(struct task_struct *t)
{
	return parity_thread(t)->only_on + 1;
}

RG_CALL bool rg_is_pinned(struct task_struct *t)
{
	return parity_thread(t)->only_on >= 0;
}

RG_CALL bool rg_is_percpu_kthread(struct task_struct *t)
{
	return parity_thread(t)->kthread;
}

RG_CALL bool rg_is_runnable(struct task_struct *prev)
{
	return input.runnable == parity_thread(prev)->id;
}

/* Two caches of two pairs: MACHINE in pair.rs. Sizes of domains by level. */
const volatile u32 parity_sizes[RG_LEVEL_ROWS] = { 1, 2, 4, PARITY_CPUS, PARITY_CPUS };

RG_CALL u32 rg_domain(s32 cpu, u32 level)
{
	return (u32)cpu / parity_sizes[RG_LEVEL_ROW(level)];
}

RG_CALL s32 rg_cpu_in(s32 cpu, u32 level, u32 i)
{
	u32 size = parity_sizes[RG_LEVEL_ROW(level)];

	return i < size ? (cpu & ~(size - 1)) | ((cpu + i) & (size - 1)) : -1;
}

RG_CALL s32 rg_default_cpu(struct task_struct *t, s32 prev_cpu, bool *idle)
{
	u64 answer = parity_act(PARITY_DEFAULT_CPU, rg_thread_id(t), prev_cpu, 0, 0);

	*idle = answer & 1;
	return answer >> 1;
}

RG_CALL u32 rg_waker(void)
{
	return 0;
}

RG_CALL u64 rg_request_at(u32 slot)
{
	return 0;
}

RG_CALL s32 rg_pick_idle(struct task_struct *t)
{
	return parity_act(PARITY_PICK_IDLE, rg_thread_id(t), 0, 0, 0) - 1;
}

RG_CALL void rg_kick(s32 cpu, u32 how)
{
	parity_act(PARITY_KICK, cpu, how, 0, 0);
}

RG_CALL s32 rg_queue_create(u32 queue)
{
	return parity_act(PARITY_CREATE, queue, 0, 0, 0);
}

RG_CALL void rg_insert_ordered(struct task_struct *t, u32 queue, u64 slice_ns, u64 key)
{
	parity_act(PARITY_INSERT, rg_thread_id(t), queue, slice_ns, key);
}

RG_CALL void rg_insert_local(struct task_struct *t, u64 slice_ns, u32 flags)
{
	parity_act(PARITY_LOCAL, rg_thread_id(t), slice_ns, flags, 0);
}

/* No group has a quota in a script. */
RG_CALL bool rg_is_ending(struct task_struct *t)
{
	return 0;
}

RG_CALL void rg_vacate(struct task_struct *prev)
{
}

RG_CALL bool rg_group_timer(u32 group, u64 after_ns)
{
	return 0;
}

RG_CALL void rg_cpu_timer(s32 cpu, u64 after_ns)
{
}

RG_CALL u32 rg_queue_length(u32 queue)
{
	return parity_act(PARITY_LENGTH, queue, 0, 0, 0);
}

RG_CALL struct task_struct *rg_queue_peek(u32 queue)
{
	return parity_handle(parity_act(PARITY_PEEK, queue, 0, 0, 0));
}

RG_CALL u32 rg_move_thread(u32 queue, u32 slot)
{
	u32 moved = parity_act(PARITY_MOVE, queue, slot, 0, 0);

	parity_moved(moved == RG_MOVED ? slot : 0);
	return moved;
}

RG_CALL void rg_set_slice(struct task_struct *t, u64 slice_ns)
{
	parity_act(PARITY_SET_SLICE, rg_thread_id(t), slice_ns, 0, 0);
}

#endif
