/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. What would the same scheduler do if threads of a process competed as threads of
 *          different ones do?
 * Rule.    The key is the thread's vruntime: the one that received least serves next, as in CFS and
 *          GVTS.
 * Why.     Fair among siblings, which a service of equal requests does not need and its tail pays
 *          for (CTS section 2).
 * Figure.  docs/reference/policies.md, beside fcfs.
 * Limits.  The key is fixed when the thread enters the queue. Keys are not compared by distance, as
 *          those of other orders: they are out of order for a while when virtual time wraps.
 */
#ifndef RG_ORDER_VTIME_H
#define RG_ORDER_VTIME_H

#include "../state.h"

RG_INLINE u64 rg_order_vtime(struct rg_thread *thread)
{
	return thread->account.vruntime - RG_VTIME_BEGIN;
}

#endif
