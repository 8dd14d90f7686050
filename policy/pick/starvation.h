/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. One slice of a thread of the least weight is worth minutes of the greatest's: its
 *          vruntime leads so far that it would wait as long. The kernel ejects a policy that lets a
 *          runnable thread wait for 30 s.
 * Rule.    Every 16th choice looks at the heads of both queues of the CPU: the first thread that it
 *          may run and that has waited for 6 s goes first, for one slice, on the min_vruntime.
 *          While one has waited for 12 s, every second choice looks.
 * Why.     A queue stands by arrival, so those that have waited longest are at its head, those of
 *          other CPUs among them.
 * Figure.  A service beside 40 spinners, the last of which had their first turn after 6 s: p99.9
 *          1.07 of the ideal. On the vruntimes with which they had come each ran for 100 ms before
 *          all others. docs/evidence/production-node.md.
 * Limits.  With more than 1,500 spinning threads a CPU all wait so long, and weights give way to
 *          turns. Orders other than fcfs have other heads.
 */
#ifndef RG_PICK_STARVATION_H
#define RG_PICK_STARVATION_H

#include "../balance/utilisation.h"
#include "../index/choose.h"
#include "../order/order.h"
#include "../vruntime.h"

#define RG_STARVATION_NS 6000000000ULL
#define RG_STARVATION_CHOICES 16
#define RG_STARVATION_CHOICES_LATE 2

/* A batch thread that has had a turn waits anew; another keeps its arrival. */
RG_INLINE u64 rg_waited_ns(struct rg_thread *thread, u64 now)
{
	return rg_less(now, thread->batch ? thread->queued_at : thread->woke_at);
}

RG_INLINE bool rg_has_waited_long(struct rg_thread *thread, u64 now)
{
	return rg_waited_ns(thread, now) > RG_STARVATION_NS;
}

/*
 * This turn ends the wait: the thread goes to the end of the queue, as if it woke now. At the head
 * it would hide all behind it until its bucket is full, 50 ms in every 16th choice each.
 */
RG_INLINE void rg_wait_anew(struct rg_thread *thread, u64 now)
{
	rg_utilisation_block(thread, now);
	thread->woke_at = now;
	thread->arrival = rg_order_arrival(thread, now);
}

/*
 * A thread that has waited so long owns the vruntime with which it came. Its siblings have
 * exchanged that for others since. On its own it would go on until it had made up for all of the
 * wait, before everybody else.
 */
RG_INLINE void rg_wait_raise(struct rg_account *account)
{
	struct rg_vtime *vtime = rg_account_sync(account);

	if (vtime)
		account->vruntime = rg_latest(account->vruntime, vtime->min_vruntime);
}

/*
 * Brings the thread of a row from a queue, as rg_pick_settle does what the index names. Walks find
 * a row and no more: before 7.0 the verifier loses its way in programs called from a walk.
 */
RG_SUBPROGRAM bool rg_pick_row(s32 cpu, u32 id, u32 slot)
{
	struct rg_thread *thread = rg_thread_at(slot);
	struct rg_cpu *here = rg_cpu(cpu);

	if (!here || rg_move_thread(id, slot) != RG_MOVED)
		return 0;
	if (thread->waits)
		rg_index_leave(thread);
	if (RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_QUEUE)
		rg_renormalise(&thread->account, thread, rg_queue_of(cpu));
	rg_queue_move(thread, rg_some(rg_queue_of(cpu)));
	rg_weight_refresh(thread);
	rg_cpu_set_curr(here, thread, thread->account.vruntime, here->ask.now);
	thread->cpu = cpu;
	return 1;
}

/* The first thread of a queue that may run here and has waited too long, by slot; 0: none. */
RG_SUBPROGRAM u32 rg_find_overdue(s32 cpu, u32 id)
{
	struct rg_cpu *here = rg_cpu(cpu);
	struct task_struct *t;
	u32 found = 0;
	u64 now;

	if (!here)
		return 0;
	now = here->ask.now;
	RG_VISIT(t, id) {
		struct rg_thread *thread = rg_thread(t);

		if (!thread || !rg_has_waited_long(thread, now))
			break;
		if (!rg_may_run_on(t, cpu))
			continue;
		found = rg_slot(t);
		break;
	}
	return found;
}

/* Brings the first thread of a queue that may run here, if it has waited too long. */
RG_SUBPROGRAM bool rg_pick_overdue(s32 cpu, u32 id)
{
	u32 slot = rg_find_overdue(cpu, id);
	struct rg_thread *thread = rg_thread_at(slot);
	struct rg_cpu *here = rg_cpu(cpu);
	bool late;

	if (!slot || !here)
		return 0;
	late = rg_has_waited_long(thread, here->ask.now);
	if (rg_waited_ns(thread, here->ask.now) > 2 * RG_STARVATION_NS)
		here->hurry = RG_STARVATION_CHOICES - RG_STARVATION_CHOICES_LATE;
	if (late)
		rg_wait_raise(&thread->account);
	if (!rg_pick_row(cpu, id, slot))
		return 0;
	if (late)
		rg_wait_anew(thread, here->ask.now);
	return 1;
}

#endif
