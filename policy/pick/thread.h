/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. The rival to measure against: threads compete one by one, processes are not seen.
 * Rule.    The thread with the least vruntime runs, as in CFS: each is a pool of its own.
 * Why.     Fair to every thread, and blind to the order of arrival.
 * Figure.  docs/reference/policies.md.
 * Limits.  Leaves no threads to order.
 */
#ifndef RG_PICK_THREAD_H
#define RG_PICK_THREAD_H

#include "../state.h"

RG_INLINE bool rg_is_alone_thread(void)
{
	return 1;
}

#endif
