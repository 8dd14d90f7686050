/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. The simplest rival: what does one queue, first come, first served, already give?
 * Rule.    All threads are one pool: shares are not looked at, the first to come runs first, a
 *          slice at a time. With one queue for the machine it is a global FIFO, as the kernel's
 *          example scx_simple.
 * Why.     It is as fair as any to equal threads that spin, and no thread waits beside an idle CPU.
 * Figure.  docs/reference/policies.md.
 * Limits.  A request waits behind the slices of all others; weights and groups mean nothing.
 */
#ifndef RG_PICK_ALL_H
#define RG_PICK_ALL_H

#define RG_POOL_OF_ALL (1ULL << 1)

#endif
