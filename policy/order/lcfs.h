/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. To show what order costs, the worst one is needed: the one that CFS drifts to (CTS
 *          section 2).
 * Rule.    Last come, first served: the complement of the arrival stamp.
 * Why.     Same mean wait as first come, first served, so whatever the tail gains or loses is the
 *          order's alone (Tales section 2.4).
 * Figure.  docs/reference/policies.md, beside fcfs.
 * Limits.  An early request may wait without bound. Not for use.
 */
#ifndef RG_ORDER_LCFS_H
#define RG_ORDER_LCFS_H

#include "../state.h"

RG_INLINE u64 rg_order_lcfs(u64 now)
{
	return ~now;
}

#endif
