/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dimension 3: which thread of the picked pool. An order is a key: a queue stands by ascending
 * arrival.
 */
#ifndef RG_ORDER_H
#define RG_ORDER_H

#include "arrival.h"
#include "fcfs.h"
#include "lcfs.h"
#include "random.h"
#include "vtime.h"

/* The arrival of a thread that came then, or must start again. */
RG_INLINE u64 rg_order_arrival(struct rg_thread *thread, u64 then)
{
	switch (RG_OPTION(order)) {
	case RG_ORDER_LCFS:
		return rg_order_lcfs(then);
	case RG_ORDER_VTIME:
		return rg_order_vtime(thread);
	case RG_ORDER_RANDOM:
		return rg_order_random();
	default:
		return rg_order_fcfs(then);
	}
}

/*
 * A thread that was interrupted, or whose slice ended, enters its queue again. Under `head` it
 * keeps its arrival: a request longer than a slice is then served first come, first served to its
 * end; the CTS prototype's `tail` makes it round robin. A batch thread has lost its claim.
 */
RG_INLINE void rg_order_again(struct rg_thread *thread, u64 now)
{
	bool tail = RG_OPTION(requeue) == RG_REQUEUE_TAIL || RG_OPTION(order) == RG_ORDER_VTIME;

	if (tail || thread->batch)
		thread->arrival = rg_order_arrival(thread, now);
	else if (RG_OPTION(order) == RG_ORDER_ARRIVAL)
		rg_order_by_request(thread);
}

#endif
