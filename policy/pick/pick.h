/* SPDX-License-Identifier: GPL-2.0-only */
/* Dimension 2: whose turn it is. The one place where a queue is searched. */
#ifndef RG_PICK_H
#define RG_PICK_H

#include "credit.h"
#include "process.h"
#include "thread.h"

/*
 * Brings the next thread of queue `id` to this CPU's local queue; 0 where prev (runnable, or 0) is
 * the best or nobody is there.
 */
RG_INLINE bool rg_pick_next(s32 cpu, u32 id, struct task_struct *prev)
{
	if (RG_CHOSEN(pick) == RG_PICK_THREAD)
		return rg_pick_thread(cpu, id, prev);
	if (RG_CHOSEN(pick) == RG_PICK_CREDIT)
		return rg_pick_credit(cpu, id, prev);
	return rg_pick_process(cpu, id, prev);
}

/* The same for a queue that nobody of this CPU runs from. */
RG_SUBPROGRAM bool rg_pick_other(s32 cpu, u32 id)
{
	return rg_pick_next(cpu, id, 0);
}

#endif
