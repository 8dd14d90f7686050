/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. To show what order costs, an order without memory lies between the best and the worst.
 * Rule.    Random order of service: the key is drawn when the thread becomes runnable.
 * Why.     Same mean wait as the others on the same arrivals (Tales section 2.4).
 * Figure.  docs/reference/policies.md, beside fcfs.
 * Limits.  Not for use. A key drawn once is kept, so every later arrival with a better one passes a
 *          bad one.
 */
#ifndef RG_ORDER_RANDOM_H
#define RG_ORDER_RANDOM_H

#include "../state.h"

RG_INLINE u64 rg_order_random(void)
{
	return rg_random();
}

#endif
