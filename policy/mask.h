/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Threads that may run on the same CPUs are known by a number of 32 bits, that of their
 *          mask. Where two masks have one number, CPUs of one meet threads of the other, may not
 *          run them, and remember that.
 * Rule.    Each word of a mask is mixed in by two multiplications, with a fold after each.
 * Why.     After one, the highest bit of a word moves two bits of the result at most, and two bits
 *          of the next word take that back.
 * Figure.  192 CPUs, two a core: of all pairs of cores and all but a pair, 9,120 masks, no two have
 *          one number. With one multiplication 243 had that of another: each with core 63 that of
 *          the mask with core 95 in its place, and 55 more.
 * Limits.  Any two masks may have one number, with a probability of 1 in 4 billion.
 */
#ifndef RG_MASK_H
#define RG_MASK_H

#include "platform.h"

/* The hash of a mask with one more of its words; 0: of none. */
RG_INLINE u64 rg_mask_mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ULL;
	return hash ^ hash >> 32;
}

/* The number of a mask with this hash, which is not 0. */
RG_INLINE u32 rg_mask_number(u64 hash)
{
	return (u32)hash ? (u32)hash : 1;
}

#endif
