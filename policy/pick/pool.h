/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dimension 2 as a question: which threads are interchangeable? */
#ifndef RG_PICK_POOL_H
#define RG_PICK_POOL_H

#include "all.h"
#include "group.h"
#include "process.h"
#include "thread.h"

RG_INLINE bool rg_is_alone(struct rg_thread *thread)
{
	if (RG_OPTION(pick) == RG_PICK_THREAD)
		return rg_is_alone_thread();
	if (RG_OPTION(pick) == RG_PICK_ALL)
		return 0;
	return rg_is_alone_process(thread);
}

RG_INLINE bool rg_pool_is_alone(u64 pool)
{
	return pool & 1;
}

/* The weight that all threads of a pool share: siblings of another nice value are no equals. */
RG_INLINE u64 rg_pool_weight(struct task_struct *t, bool alone)
{
	return alone || RG_OPTION(fair) == RG_FAIR_PROCESS ? 0 : rg_weight(t);
}

/* Whose threads a pool holds: a thread's, a group's or a process's number, of 22 bits each. */
RG_INLINE u64 rg_pool_owner(struct task_struct *t, struct rg_thread *thread, bool alone)
{
	if (alone)
		return rg_thread_id(t);
	if (RG_OPTION(pick) == RG_PICK_GROUP && thread->group)
		return rg_group_owner(thread->group);
	return rg_process_id(t);
}

/* The pool of a thread: its weight (17 bits), owner (23), and whether it is alone. Never 0. */
RG_INLINE u64 rg_pool(struct task_struct *t, struct rg_thread *thread)
{
	bool alone = rg_is_alone(thread);

	if (RG_OPTION(pick) == RG_PICK_ALL)
		return RG_POOL_OF_ALL;
	return rg_pool_weight(t, alone) << 24 | rg_pool_owner(t, thread, alone) << 1 | alone;
}

#endif
