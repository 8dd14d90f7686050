/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queues: the kernel's dispatch queues under the policy's numbers, always ordered by a key (a
 * queue that is once used first in, first out may not be ordered later), their state and locks.
 */
#ifndef RG_QUEUES_BPF_H
#define RG_QUEUES_BPF_H

#include "affinity.bpf.h"

struct rg_queue rg_queues[RG_QUEUES] SEC(".bss.queues");

/* A line each: those of other caches' queues would lie beside. */
struct rg_lock {
	struct bpf_spin_lock held;
	u32 unused[15];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RG_QUEUES);
	__type(key, u32);
	__type(value, struct rg_lock);
} rg_locks SEC(".maps");

RG_CALL struct rg_queue *rg_queue(u32 queue)
{
	return queue < RG_QUEUES ? &rg_queues[queue & (RG_QUEUES - 1)] : 0;
}

RG_CALL struct rg_lock *rg_lock_of(u32 queue)
{
	return bpf_map_lookup_elem(&rg_locks, &queue);
}

RG_CALL void rg_acquire(struct rg_lock *lock)
{
	bpf_spin_lock(&lock->held);
}

RG_CALL void rg_release(struct rg_lock *lock)
{
	bpf_spin_unlock(&lock->held);
}

RG_CALL s32 rg_queue_create(u32 queue)
{
	return scx_bpf_create_dsq(queue, NUMA_NO_NODE);
}

RG_CALL void rg_insert_ordered(struct task_struct *t, u32 queue, u64 slice_ns, u64 key)
{
	scx_bpf_dsq_insert_vtime(t, queue, slice_ns, key, 0);
}

RG_CALL void rg_insert_local(struct task_struct *t, u64 slice_ns, u32 how)
{
	u64 flags = 0;

	if (how & RG_INSERT_HEAD)
		flags |= SCX_ENQ_HEAD;
	if (how & RG_INSERT_PREEMPT)
		flags |= SCX_ENQ_PREEMPT;
	scx_bpf_dsq_insert(t, SCX_DSQ_LOCAL, slice_ns, flags);
}

RG_CALL u32 rg_queue_length(u32 queue)
{
	s32 length = scx_bpf_dsq_nr_queued(queue);

	return length > 0 ? length : 0;
}

RG_CALL struct task_struct *rg_queue_peek(u32 queue)
{
	return __COMPAT_scx_bpf_dsq_peek(queue);
}

/* Whether the kernel has the thread in a queue at present. */
static __always_inline bool rg_is_queued_in(struct task_struct *t, u32 queue)
{
	struct scx_dispatch_q *at = t->scx.dsq;

	return at && at->id == queue;
}

/*
 * An iterator that never moves is the way to name a queue to the kernel. It comes first: the
 * kernel refuses threads that were queued after it, so a thread whose affinity changes behind our
 * check is never moved on the strength of the old one. (Where the thread is the first of its queue,
 * scx_bpf_dsq_move_to_local would cost as much.)
 *
 * While its affinity changes a thread is in no queue: it is not refused by the CPUs of the set that
 * it comes from. One that waits in a queue of several CPUs may seem to have its migration disabled
 * while the enqueue that has put it there still runs, in its own context: not refused, but not yet
 * there.
 */
RG_CALL u32 rg_move_thread(u32 queue, u32 slot)
{
	struct task_struct *t = rg_task_at(slot);
	struct bpf_iter_scx_dsq cursor;
	u32 moved = RG_GONE;

	if (!t)
		return moved;
	if (bpf_iter_scx_dsq_new(&cursor, queue, 0)) {
		/* No such queue. */
	} else if (!rg_may_run_on(t, bpf_get_smp_processor_id())) {
		bool is_there = rg_is_queued_in(t, queue) && !rg_is_migration_disabled(t);

		moved = is_there ? RG_REFUSED : RG_GONE;
	} else if (scx_bpf_dsq_move(&cursor, t, SCX_DSQ_LOCAL, 0)) {
		moved = RG_MOVED;
	}
	bpf_iter_scx_dsq_destroy(&cursor);
	return moved;
}

#endif
