/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scheduler: three dimensions put together, its callbacks in the kernel's order.
 *
 *   balance   which CPU gets work      balance/
 *   pick      which pool is next       pick/
 *   order     which of its threads     order/
 *
 * The frame is CTS's (section 3). vruntime.h holds the account that pick compares, burst.h what
 * belongs to a pool, weight.h the shares of groups, quota.h their limits, promise.h what they were
 * promised, preempt.h which thread may interrupt which, activate.h what a thread's accounts begin
 * and end with.
 */
#ifndef RG_SCHEDULER_H
#define RG_SCHEDULER_H

#include "activate.h"
#include "converge.h"
#include "direct.h"
#include "give_way.h"
#include "resume.h"
#include "reweigh.h"

RG_CALLBACK s32 rg_init(void)
{
	return rg_queues_create();
}

RG_CALLBACK void rg_init_group(u32 at, u32 parent, u32 weight)
{
	struct rg_group *group = rg_group_at(at);
	struct rg_promise none = {};
	struct rg_budget blank = {};

	group->share.active = 0;
	group->share.counted = 0;
	group->parent = parent;
	group->weight = weight;
	group->idle = 0;
	group->promise = none;
	group->budget = blank;
	group->budget.due_at = RG_NEVER;
	rg_surplus_open(group);
}

RG_CALLBACK void rg_weigh_group(u32 at, u32 weight)
{
	u64 before = rg_flat_weight(rg_group_at(at));

	rg_group_at(at)->weight = weight;
	rg_reweigh(at, before);
}

RG_CALLBACK void rg_idle_group(u32 at, bool idle)
{
	u64 before = rg_flat_weight(rg_group_at(at));

	rg_group_at(at)->idle = idle;
	rg_reweigh(at, before);
}

RG_CALLBACK void rg_promise_group(u32 at, u64 within_ns, u64 share)
{
	rg_promise_make(at, within_ns, share);
}

RG_CALLBACK void rg_limit_group(u32 at, u64 quota_ns, u64 period_ns, u64 burst_ns)
{
	rg_quota_limit(at, quota_ns, period_ns, burst_ns);
}

/* Its row is another's as soon as init_group names it again. */
RG_CALLBACK void rg_exit_group(u32 at)
{
	struct rg_shared *shared = rg_shared();

	if (shared && rg_group_at(at)->budget.limited)
		rg_add(&shared->limited, -1);
	rg_group_at(at)->budget.limited = 0;
}

RG_CALLBACK s32 rg_init_thread(struct task_struct *t, u32 group)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_thread blank = {};

	if (!thread)
		return -12; /* ENOMEM */
	*thread = blank;
	thread->slot = rg_slot(t);
	thread->process = rg_process_id(t);
	thread->exec_seen = rg_exec_ns(t);
	thread->slept_at = rg_now();
	thread->weight = RG_NORMAL_WEIGHT * RG_WEIGHT_ONE;
	rg_credits_open(thread);
	thread->fresh = 1;
	thread->group = group;
	return 0;
}

RG_CALLBACK void rg_move_thread_group(struct task_struct *t, u32 group)
{
	struct rg_thread *thread = rg_thread(t);

	if (!thread)
		return;
	if (thread->counted)
		rg_deactivate(t, thread);
	thread->group = group;
}

/*
 * No CPU idles: the thread looks for one to preempt, and waits in that one's queue. Of its own
 * queue it needs none in particular.
 */
RG_INLINE s32 rg_select_victim(struct task_struct *t, struct rg_thread *thread, s32 home)
{
	s32 victim;

	if (thread->fresh || !RG_OPTION(preempt) || RG_OPTION(pick) == RG_PICK_CREDIT)
		return home;
	rg_activate(t, thread, home, rg_now());
	thread->queued_at = thread->woke_at;
	rg_hand_on(thread, thread->woke_at);
	victim = rg_preempt_victim(t, home);
	thread->victim = victim < 0 ? 0 : rg_some(victim);
	return victim < 0 || rg_queue_of(victim) == rg_queue_of(home) ? home : victim;
}

/*
 * An idle CPU takes the thread at once: a CPU idles only where no queue has work for it. The thread
 * is shown there before it runs, so that the min_vruntime never overlooks it.
 */
RG_CALLBACK s32 rg_select_cpu(struct task_struct *t, s32 prev_cpu)
{
	struct rg_thread *thread = rg_thread(t);
	bool idle = 0;
	s32 cpu;

	if (!thread)
		return prev_cpu;
	if (rg_held_by(t, thread))
		return prev_cpu;
	if (thread->fresh)
		prev_cpu = rg_balance_fork(t, prev_cpu);
	cpu = rg_default_cpu(t, prev_cpu, &idle);
	if (!idle)
		return rg_select_victim(t, thread, cpu);
	rg_activate(t, thread, cpu, rg_now());
	rg_set_next(cpu, t, thread);
	rg_class_set_curr(cpu, t, thread);
	rg_turn_begin(cpu);
	rg_insert_local(t, RG_OPTION(slice_ns), 0);
	return cpu;
}

/* Wakes an idle CPU for the thread, or preempts one for a thread that has just woken. */
RG_INLINE void rg_announce(struct task_struct *t, struct rg_thread *thread, s32 victim)
{
	if (!rg_wake_for(rg_pick_idle(t), thread->waits))
		rg_preempt(victim);
}

/* Whether the thread counts, at its present weight. */
RG_INLINE bool rg_counts(struct task_struct *t, struct rg_thread *thread)
{
	if (thread->counted && thread->counted != rg_weight(t))
		rg_deactivate(t, thread);
	return thread->counted;
}

/* The CPU that a thread preempts which is enqueued, -1: none. A pinned one was not selected for. */
RG_INLINE s32 rg_victim_for(struct task_struct *t, struct rg_thread *thread, s32 home, u64 flags)
{
	rg_maybe victim = thread->victim;

	thread->victim = 0;
	if (!RG_OPTION(preempt) || !(flags & RG_ENQUEUE_WAKEUP))
		return -1;
	if (RG_OPTION(pick) == RG_PICK_CREDIT)
		return rg_preempt_victim_credit(t, thread, home);
	if (victim)
		return rg_number(victim);
	if (!rg_is_pinned(t))
		return -1;
	rg_hand_on(thread, thread->queued_at);
	return rg_preempt_home(t, home);
}

/* The thread wants a CPU: since now, or still. */
RG_INLINE void rg_want(struct task_struct *t, struct rg_thread *thread, s32 home, u64 now)
{
	if (rg_counts(t, thread)) {
		rg_cpuset_refresh(t, thread, now);
		rg_attach_near(t, home);
		rg_order_again(thread, now);
	} else {
		rg_activate(t, thread, home, now);
	}
}

/*
 * A group's timer looks at a thread that it holds: where the thread shall wait, by the number of
 * the queue; RG_HELD_STILL: here, RG_HELD_SKIPPED: another CPU is about to say. It goes to an idle
 * CPU, if there is one.
 */
RG_INLINE u32 rg_resume(struct task_struct *t, struct rg_thread *thread, u32 at, s32 *idle)
{
	struct rg_budget *budget = &rg_group_at(at)->budget;
	u64 held = thread->held;
	u32 holder;
	s32 home;

	if (!held) /* it was let go before it was here */
		return rg_queue_now(t, thread, rg_thread_cpu(t));
	thread->owed = !thread->held_brief && rg_budget_owes(budget);
	holder = rg_held_by(t, thread);
	if (holder == at)
		return RG_HELD_STILL;
	if (held == RG_LETTING_GO || !rg_held_change(thread, held, RG_LETTING_GO))
		return RG_HELD_SKIPPED;
	if (holder && rg_held_begin(thread->slot, holder))
		return RG_HELD(holder);
	*idle = rg_pick_idle(t);
	home = *idle < 0 ? rg_thread_cpu(t) : *idle;
	rg_let_go(t, thread, home, rg_budget_now(budget));
	return rg_queue_now(t, thread, home);
}

/*
 * A group's timer is due. The threads that are held stand in the order in which they came, so the
 * first that may not go is the last to be asked.
 */
RG_CALLBACK void rg_group_due(u32 at)
{
	bool sweeps = rg_quota_due(at);
	bool retry = 0;
	struct task_struct *t;

	RG_VISIT(t, RG_HELD(at)) {
		struct rg_thread *thread = rg_thread(t);
		s32 idle = -1;
		u32 to = thread ? rg_resume(t, thread, at, &idle) : RG_HELD_SKIPPED;
		u64 key;

		if (to == RG_HELD_STILL && !sweeps)
			break;
		if (to >= RG_HELD_STILL)
			continue;
		key = to < RG_QUEUES ? thread->arrival : rg_held_key(thread);
		if (!RG_MOVE_TO(t, to, RG_OPTION(slice_ns), key))
			retry = 1;
		rg_resume_on(idle, to);
	}
	rg_quota_again(at, retry);
}

/* The turn of a CPU's thread is over, if it still has it. */
RG_CALLBACK void rg_turn_due(s32 at)
{
	struct rg_cpu *cpu = rg_cpu(at);

	if (cpu && cpu->pool && cpu->turn == rg_some(cpu->thread))
		rg_kick(at, RG_KICK_PREEMPT);
}

RG_CALLBACK void rg_enqueue(struct task_struct *t, u64 flags)
{
	struct rg_thread *thread = rg_thread(t);
	s32 home = rg_thread_cpu(t);
	struct rg_cpu *cpu = rg_cpu(home);
	bool indexed = RG_OPTION(pick) != RG_PICK_CREDIT;
	u64 now = rg_now();
	s32 victim;
	u32 queue;

	if (!thread || !cpu || rg_is_percpu_kthread(t)) {
		rg_insert_local(t, RG_OPTION(slice_ns), RG_INSERT_HEAD | RG_INSERT_PREEMPT);
		return;
	}
	rg_unlist(thread);
	if (rg_quota_holds(t, thread))
		return;
	rg_want(t, thread, home, now);
	thread->queued_at = now;
	if (RG_OPTION(direct) && (flags & RG_ENQUEUE_WAKEUP) && rg_direct(t, thread, cpu, home))
		return;
	victim = rg_victim_for(t, thread, home, flags);
	queue = rg_queue_for(t, cpu, home);
	if (RG_OPTION(promises))
		rg_urgent_wait(thread->slot, queue, now);
	if (indexed)
		rg_index_enter(thread, queue, rg_account(t, thread));
	rg_insert_ordered(t, queue, RG_OPTION(slice_ns), thread->arrival);
	rg_announce(t, thread, victim);
}

/*
 * Compares prev, which is in no queue now, with the waiting threads: the best gets the next slice.
 */
RG_CALLBACK void rg_dispatch(s32 cpu, struct task_struct *prev)
{
	struct rg_thread *thread = prev && rg_is_runnable(prev) ? rg_thread(prev) : 0;
	struct rg_thread *rival; /* with whom those that wait are compared */

	if (thread)
		thread = rg_go_on(prev, thread);
	rival = thread;
	if (thread && RG_OPTION(balance) != RG_BALANCE_NONE && rg_gives_way(prev, cpu))
		rival = 0;
	if (rg_balance_before(cpu, prev, rival) || rg_pick_own(cpu, rival ? prev : 0) ||
	    (!thread && rg_balance_idle(cpu))) {
		if (RG_OPTION(quotas)) {
			rg_turn_begin(cpu);
			rg_resume_elsewhere(cpu);
		}
		return;
	}
	if (thread) {
		rg_turn_begin(cpu);
		rg_set_slice(prev, RG_OPTION(slice_ns));
	}
}

/* Without the switch it is what the kernel does on its own. */
RG_CALLBACK void rg_yield(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);

	if (thread && RG_OPTION(yields))
		rg_yield_note(thread, rg_order_arrival(thread, rg_now()));
	rg_set_slice(t, 0);
}

/* Also the first to see a thread that came to run without dispatch or select_cpu, or anew. */
RG_CALLBACK void rg_tick(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);
	s32 at = rg_thread_cpu(t);
	struct rg_cpu *cpu = rg_cpu(at);

	if (!thread || !cpu)
		return;
	rg_charge(t, thread);
	if (rg_counts(t, thread))
		rg_cpuset_refresh(t, thread, rg_now());
	else
		rg_activate(t, thread, at, rg_now());
	rg_set_next(at, t, thread);
	rg_balance_tick(cpu, thread);
	rg_class_set_curr(at, t, thread);
	if (rg_outlasts(cpu, thread))
		rg_set_slice(t, RG_OPTION(slice_ns));
	if (rg_held_by(t, thread))
		rg_set_slice(t, 0);
	if (rg_converge(cpu, at, t, thread))
		rg_leave_if_wanted(cpu, at, t);
	rg_look_around(at, cpu, cpu->since);
}

/*
 * A thread that goes on elsewhere or later stays shown, without growing, until the CPU runs another
 * or idles: it may wait in the CPU's local queue behind a higher class.
 */
RG_CALLBACK void rg_stopping(struct task_struct *t, bool runnable)
{
	struct rg_thread *thread = rg_thread(t);
	s32 at = rg_thread_cpu(t);
	struct rg_cpu *cpu = rg_cpu(at);

	if (!thread || !cpu)
		return;
	rg_charge(t, thread);
	rg_unlist(thread); /* still listed if the kernel ran it unasked, as around a suspend */
	if (cpu->thread == thread->slot) { /* else dispatch has already announced the next one */
		cpu->weight = 0;
		if (rg_follower(cpu))
			rg_direct_set_curr(cpu);
		else if (runnable)
			cpu->vruntime = rg_account(t, thread)->vruntime;
		else
			cpu->pool = 0;
	}
	if (!runnable && thread->counted)
		rg_deactivate(t, thread);
}

/*
 * Whether a CPU that falls idle shall walk through its queue again: it has just done so, but a
 * thread that came meanwhile takes effect after its enqueue. A walk that finds none that may run
 * here must end, so each newcomer is worth RG_AGAIN walks.
 */
RG_INLINE bool rg_walks_again(struct rg_cpu *cpu, struct rg_queue *shared)
{
	if (!shared->unlisted)
		return 0;
	if (cpu->walked != shared->came) {
		cpu->walked = shared->came;
		cpu->walks = 0;
	}
	return cpu->walks++ < RG_AGAIN;
}

/*
 * Whether a thread waits in one of the next queues, which the CPU may have asked before it came. A
 * choice that was made for this reason is the last: what it did not take it may not take.
 */
RG_SUBPROGRAM bool rg_is_waited_beyond(s32 at)
{
	struct rg_shared *all = rg_shared();
	struct rg_cpu *cpu = rg_cpu(at);
	bool found = 0;

	if (!all || !cpu || cpu->choices == cpu->last_choice)
		return 0;
	RG_FOR(i, 1, RG_STEAL_ASKED + 1) {
		u32 id = rg_queue_after(rg_queue_of(at), i, all->queues);
		struct rg_queue *queue = rg_queue(id);

		found = i < all->queues && queue && rg_is_waited_for(all, queue, cpu);
		if (found || i >= all->queues)
			break;
	}
	if (found)
		cpu->last_choice = cpu->choices + 1;
	return found;
}

/* A thread that came since the CPU asked last did not see it idle: the CPU asks again. */
RG_CALLBACK void rg_idle(s32 at)
{
	struct rg_cpu *cpu = rg_cpu(at);
	struct rg_queue *shared = rg_queue(rg_queue_of(at));
	struct rg_queue *own = cpu ? rg_queue(cpu->own) : 0;
	struct rg_shared *all = rg_shared();

	if (!shared || !own || !all)
		return;
	cpu->pool = 0;
	rg_relieve(all, shared, cpu);
	if (rg_is_waited_for(all, shared, cpu) || rg_walks_again(cpu, shared) ||
	    own->least != RG_NEVER || (own != shared && own->unlisted) ||
	    (RG_OPTION(balance) != RG_BALANCE_NONE && rg_is_waited_beyond(at)) ||
	    (RG_OPTION(pick) == RG_PICK_CREDIT && rg_queue_length(rg_queue_of(at))))
		rg_kick(at, RG_KICK_IDLE);
}

RG_CALLBACK void rg_exit_thread(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);

	if (!thread)
		return;
	rg_unlist(thread);
	if (thread->counted)
		rg_deactivate(t, thread);
	/* What it receives in another class is not ours to charge. */
	thread->exec_seen = RG_NEVER;
}

#endif
