/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Shares between groups (cpu.weight) without walking down the hierarchy at every choice.
 * Rule.    A group's weight is made flat: its share among its active siblings, times its parent's
 *          share among its own, and so on. Its virtual time grows by CPU time over its flat weight;
 *          threads wait in one queue in the order of their group's virtual time. The idea of the
 *          kernel's example scx_flatcg, with slice=20ms.
 * Why.     The walk is paid once a slice, and only when a thread is put into the queue.
 * Figure.  docs/guide/your-own-policy.md.
 * Limits.  Threads of a group are equal whatever their nice value. The root's own threads are a
 *          group of weight 100 beside its children.
 */
#include "defaults.h"

#define FLAT_QUEUE 0
#define FLAT_ONE 65536ULL
#define FLAT_ROOT_WEIGHT 100
/* Levels of groups that are told apart; scx_flatcg's own bound is 4. */
#define FLAT_LEVELS 8

struct rg_thread {
	u64 exec_seen; /* rg_exec_ns when its group was last charged */
	u64 paid;      /* what its group was charged in advance, in virtual time */
	u64 key;       /* its place in the queue */
	u32 group;
	u32 active;
};
struct rg_group {
	u64 vtime;   /* in ns at the weight of the whole machine */
	u64 active;  /* its own threads that are runnable or run, and its children that have such */
	u64 weights; /* of its active children */
	u32 parent;
	u32 weight;
};
struct rg_shared {
	u64 now; /* the greatest key that began to run */
};
RG_STATELESS(rg_process);
RG_STATELESS(rg_cpu);
RG_STATELESS(rg_queue);
RG_STATELESS(rg_pool);
RG_STATELESS(rg_entry);

RG_CALLBACK s32 rg_init(void)
{
	rg_group_at(0)->weight = FLAT_ROOT_WEIGHT;
	return rg_queue_create(FLAT_QUEUE);
}

RG_CALLBACK void rg_init_group(u32 at, u32 parent, u32 weight)
{
	struct rg_group blank = { .parent = parent, .weight = weight };

	*rg_group_at(at) = blank;
}

RG_CALLBACK void rg_weigh_group(u32 at, u32 weight)
{
	struct rg_group *group = rg_group_at(at);
	u64 more = (u64)weight - group->weight;

	if (at && group->active)
		rg_add(&rg_group_at(group->parent)->weights, more);
	group->weight = weight;
}

RG_CALLBACK void rg_exit_group(u32 at)
{
	(void)at;
}

/* One more thread is active (by = 1), or one fewer (-1). A group's first and last count above. */
RG_INLINE void flat_count(u32 at, u64 by)
{
	RG_FOR(level, 0, FLAT_LEVELS) {
		struct rg_group *group = rg_group_at(at);
		struct rg_group *above = rg_group_at(group->parent);
		u64 active = rg_add(&group->active, by);

		if (active != (by == 1 ? 1 : 0))
			return;
		if (!at)
			return;
		rg_add(&above->weights, by == 1 ? group->weight : -(u64)group->weight);
		at = group->parent;
		if (!at)
			return;
	}
}

/* The part of the machine that is the group's, of FLAT_ONE. */
RG_INLINE u64 flat_share(u32 at)
{
	u64 share = FLAT_ONE;

	if (!at) {
		struct rg_group *root = rg_group_at(0);

		return rg_div(share * root->weight, root->weights + root->weight);
	}
	RG_FOR(level, 0, FLAT_LEVELS) {
		struct rg_group *group = rg_group_at(at);
		struct rg_group *above = rg_group_at(group->parent);
		u64 rest = group->parent || !above->active ? 0 : above->weight;

		share = rg_div(share * group->weight, above->weights + rest);
		at = group->parent;
		if (!at)
			break;
	}
	return share ? share : 1;
}

/* CPU time as virtual time of the group. */
RG_INLINE u64 flat_cost(u32 at, u64 ns)
{
	return rg_div(ns * FLAT_ONE, flat_share(at));
}

RG_INLINE void flat_activate(struct rg_thread *thread)
{
	if (thread->active)
		return;
	thread->active = 1;
	flat_count(thread->group, 1);
}

RG_INLINE void flat_cease(struct rg_thread *thread)
{
	if (!thread->active)
		return;
	thread->active = 0;
	flat_count(thread->group, -1);
}

RG_CALLBACK s32 rg_init_thread(struct task_struct *t, u32 group)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_thread blank = { .group = group };

	if (!thread)
		return -12; /* ENOMEM */
	*thread = blank;
	thread->exec_seen = rg_exec_ns(t);
	return 0;
}

RG_CALLBACK void rg_move_thread_group(struct task_struct *t, u32 group)
{
	struct rg_thread *thread = rg_thread(t);

	if (!thread)
		return;
	flat_cease(thread);
	rg_add(&rg_group_at(thread->group)->vtime, -thread->paid);
	thread->paid = 0;
	thread->group = group;
}

RG_CALLBACK s32 rg_select_cpu(struct task_struct *t, s32 prev_cpu)
{
	struct rg_thread *thread = rg_thread(t);
	bool idle = 0;
	s32 cpu = rg_default_cpu(t, prev_cpu, &idle);

	if (idle && thread) {
		flat_activate(thread);
		rg_insert_local(t, rg_options()->slice_ns, 0);
	}
	return cpu;
}

/*
 * The group pays for the slice when its thread is put into the queue, so that its next thread has a
 * later key; what is not used comes back in stopping. A group that slept is at most a slice behind.
 */
RG_INLINE u64 flat_pay(struct rg_thread *thread, u64 now, u64 slice_ns)
{
	struct rg_group *group = rg_group_at(thread->group);
	u64 cost = flat_cost(thread->group, slice_ns);
	u64 least = rg_less(now, cost);
	u64 vtime = group->vtime;

	if (vtime < least)
		rg_compare_and_swap(&group->vtime, vtime, least);
	cost = rg_less(cost, thread->paid);
	thread->paid += cost;
	return rg_add(&group->vtime, cost);
}

RG_CALLBACK void rg_enqueue(struct task_struct *t, u64 flags)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_shared *shared = rg_shared();
	u64 slice_ns = rg_options()->slice_ns;
	s32 idle;

	(void)flags;
	if (!thread || !shared || rg_is_percpu_kthread(t)) {
		rg_insert_local(t, slice_ns, RG_INSERT_HEAD | RG_INSERT_PREEMPT);
		return;
	}
	flat_activate(thread);
	thread->key = flat_pay(thread, shared->now, slice_ns);
	rg_insert_ordered(t, FLAT_QUEUE, slice_ns, thread->key);
	idle = rg_pick_idle(t);
	if (idle >= 0)
		rg_kick(idle, RG_KICK_IDLE);
}

/* The clock follows the threads that run; a race loses a step that the next one catches up. */
RG_INLINE void flat_begins(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_shared *shared = rg_shared();

	if (thread && shared && shared->now < thread->key)
		shared->now = thread->key;
}

/* What the thread ran takes the place of what was paid. */
RG_INLINE void flat_settle(struct task_struct *t, struct rg_thread *thread)
{
	u64 exec_ns = rg_exec_ns(t);
	u64 cost = flat_cost(thread->group, rg_less(exec_ns, thread->exec_seen));

	rg_add(&rg_group_at(thread->group)->vtime, cost - thread->paid);
	thread->paid = 0;
	thread->exec_seen = exec_ns;
}

/* Whether prev, which is in no queue now, goes before all waiting threads. */
RG_INLINE bool flat_goes_on(struct task_struct *prev, u64 slice_ns)
{
	struct task_struct *head = rg_queue_peek(FLAT_QUEUE);
	struct rg_thread *first = head ? rg_thread(head) : 0;
	struct rg_thread *thread = rg_thread(prev);
	struct rg_shared *shared = rg_shared();

	if (!thread || !shared)
		return 0;
	flat_settle(prev, thread);
	thread->key = flat_pay(thread, shared->now, slice_ns);
	return !first || thread->key < first->key;
}

RG_CALLBACK void rg_dispatch(s32 cpu, struct task_struct *prev)
{
	bool runnable = prev && rg_is_runnable(prev);
	struct task_struct *t;

	(void)cpu;
	if (runnable && flat_goes_on(prev, rg_options()->slice_ns)) {
		flat_begins(prev);
		rg_set_slice(prev, rg_options()->slice_ns);
		return;
	}
	RG_VISIT(t, FLAT_QUEUE) {
		if (RG_MOVE(t)) {
			flat_begins(t);
			return;
		}
	}
	if (runnable)
		rg_set_slice(prev, rg_options()->slice_ns);
}

RG_CALLBACK void rg_stopping(struct task_struct *t, bool runnable)
{
	struct rg_thread *thread = rg_thread(t);

	if (!thread)
		return;
	flat_settle(t, thread);
	if (!runnable)
		flat_cease(thread);
}

RG_CALLBACK void rg_tick(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);

	if (thread)
		flat_activate(thread);
}

RG_CALLBACK void rg_idle(s32 cpu)
{
	if (rg_queue_length(FLAT_QUEUE))
		rg_kick(cpu, RG_KICK_IDLE);
}

RG_CALLBACK void rg_exit_thread(struct task_struct *t)
{
	struct rg_thread *thread = rg_thread(t);

	if (thread)
		flat_cease(thread);
}

RG_WITHOUT(yield)
RG_WITHOUT(limits)
