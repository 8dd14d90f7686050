/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. A thread comes when it wakes, its request came before. CPUs bring requests to their
 *          sockets at different speeds, a thread reads the next request without having slept, and
 *          one that hands work on has had to wait for a CPU itself (Tales section 4.4).
 * Rule.    The key is the moment since when the request is at the machine that the thread is woken
 *          for, or that it has read last. A promise counts a request's age from there, too.
 *          Without a request it is the wake-up, as with fcfs.
 * Why.     First come, first served has the least variance of the wait if what came first is what
 *          clients sent first.
 * Figure.  docs/reference/policies.md.
 * Limits.  A thread that reads a later request first keeps the rank of that one. Ranks count within
 *          a pool alone, and for promises within their budget: a request that nobody has read for
 *          an hour takes nothing from others.
 */
#ifndef RG_ORDER_ARRIVAL_H
#define RG_ORDER_ARRIVAL_H

#include "../state.h"

/* Since when what the thread serves is at the machine: its request, or the thread itself. */
RG_INLINE u64 rg_asked_at(struct rg_thread *thread)
{
	u64 at = RG_OPTION(order) == RG_ORDER_ARRIVAL ? rg_request_at(thread->slot) : 0;

	return at ? at : thread->woke_at;
}

/* A thread that has read a later request since has the rank of that one. */
RG_INLINE void rg_order_by_request(struct rg_thread *thread)
{
	u64 at = rg_asked_at(thread);

	if (at > thread->arrival)
		thread->arrival = at;
}

#endif
