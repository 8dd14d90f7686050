/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads: the row of each, and what the adapter notes of it there.
 *
 * The number of its row is kept by the kernel with the thread (task storage), which stays right
 * when an exec by another thread than the leader swaps their ids. That costs a call on every
 * question, so a table by id remembers the last answer; the address of the thread says whether it
 * is still the right one.
 */
#ifndef RG_THREADS_BPF_H
#define RG_THREADS_BPF_H

#include "processes.bpf.h"

struct rg_tally {
	u64 ran_ns;
	u64 slices;     /* how often a thread ran */
	u64 migrations; /* of these, on another CPU than before */
};

/* A line of the cache. */
struct rg_task_ctx {
	u64 thread;    /* the address of the thread whose row this is; 0: none's */
	u64 exec_seen; /* what it had received when it was last counted */
	struct rg_tally tally; /* what it received since it came, or came to its group */
	u32 process;   /* the row of its process */
	u32 id;        /* its process's */
	u32 group;     /* the row of its group */
	u32 affinity;  /* see rg_affinity */
	s32 cpu;       /* where it ran last */
	u32 unused;
};

#define RG_TASK_DEAD 0x80 /* TASK_DEAD of linux/sched.h: macros are not in BTF */

struct rg_task_slot {
	u32 slot;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rg_task_slot);
} rg_task_slots SEC(".maps");

/*
 * The thread itself, to be moved: a reference, held from when the thread comes under the policy
 * until it has left the CPU for good. (A search by its id costs some 200 instructions a switch.)
 */
struct rg_reference {
	struct task_struct __kptr *thread;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RG_THREADS);
	__type(key, u32);
	__type(value, struct rg_reference);
} rg_references SEC(".maps");

RG_RETURNED(rg_free_threads, BPF_MAP_TYPE_STACK, RG_THREADS);
struct rg_slot_allocator rg_thread_allocator = {};
struct rg_thread rg_threads[RG_THREADS] SEC(".bss.threads");
struct rg_task_ctx rg_task_ctxs[RG_THREADS] SEC(".bss.tasks");
u32 rg_last_slots[RG_THREADS] SEC(".bss.slots"); /* by id */

static __always_inline struct rg_task_ctx *rg_task_ctx_at(u32 slot)
{
	return &rg_task_ctxs[slot & (RG_THREADS - 1)];
}

static __noinline u32 rg_slot_by_ticket(struct task_struct *t)
{
	struct rg_task_slot *id = bpf_task_storage_get(&rg_task_slots, t, 0, 0);

	return id ? id->slot : 0;
}

/* 0: the thread came when all rows were taken. */
RG_CALL u32 rg_slot(struct task_struct *t)
{
	u32 slot = rg_last_slots[t->pid & (RG_THREADS - 1)];

	if (rg_task_ctx_at(slot)->thread == (u64)t)
		return slot;
	slot = rg_slot_by_ticket(t);
	if (slot)
		rg_last_slots[t->pid & (RG_THREADS - 1)] = slot;
	return slot;
}

/* NULL: the row is free, or its thread's that ends. */
static __always_inline struct task_struct *rg_task_at(u32 slot)
{
	struct rg_reference *reference = bpf_map_lookup_elem(&rg_references, &slot);

	return reference ? reference->thread : 0;
}

/* Keeps a reference to a thread (0: none) in its row, instead of the one that was there. */
static __always_inline void rg_refer(u32 slot, struct task_struct *t)
{
	struct rg_reference *reference = bpf_map_lookup_elem(&rg_references, &slot);
	struct task_struct *old = reference ? bpf_kptr_xchg(&reference->thread, t) : t;

	if (old)
		bpf_task_release(old);
}

/*
 * A thread that is dead stays in memory as long as it is referred to, and kernels before 6.19
 * tell us of its end only when nothing does.
 */
static __always_inline void rg_forget_dead(struct task_struct *t)
{
	if (t->__state & RG_TASK_DEAD)
		rg_refer(rg_slot(t), 0);
}

RG_CALL struct rg_thread *rg_thread_at(u32 slot)
{
	return &rg_threads[rg_masked(slot, RG_THREADS)];
}

RG_CALL struct rg_thread *rg_thread(struct task_struct *t)
{
	u32 slot = rg_slot(t);

	return slot ? rg_thread_at(slot) : 0;
}

RG_CALL struct rg_process *rg_process(struct task_struct *t)
{
	u32 slot = rg_slot(t);

	return slot ? rg_process_at(rg_task_ctx_at(slot)->process) : 0;
}

static __always_inline void rg_seat_fill(struct task_struct *t, u32 slot, u32 process)
{
	struct rg_task_ctx ctx = {
		.thread = (u64)t,
		.exec_seen = t->se.sum_exec_runtime,
		.process = process,
		.id = t->tgid,
		.cpu = -1,
	};

	*rg_task_ctx_at(slot) = ctx;
	__builtin_memset(rg_thread_at(slot), 0, sizeof(struct rg_thread));
}

/* Gives the thread a row; 0 where none is left, or no memory. */
static __always_inline u32 rg_thread_enter(struct task_struct *t)
{
	struct rg_task_slot *id = bpf_task_storage_get(&rg_task_slots, t, 0,
							BPF_LOCAL_STORAGE_GET_F_CREATE);
	u32 slot = id ? rg_row_take(&rg_free_threads, &rg_thread_allocator, RG_THREADS) : 0;
	u32 process = slot ? rg_process_enter(t->tgid) : 0;

	if (!id)
		return 0;
	if (slot && !process) {
		rg_row_give(&rg_free_threads, slot);
		slot = 0;
	}
	id->slot = slot;
	if (slot)
		rg_seat_fill(t, slot, process);
	return slot;
}

static __always_inline void rg_thread_leave(struct task_struct *t, u32 slot)
{
	rg_task_ctx_at(slot)->thread = 0;
	rg_refer(slot, 0);
	rg_process_leave(t->tgid);
	rg_row_give(&rg_free_threads, slot);
}

#endif
