/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. How much of its share a thread will use is not in its weight: one that sleeps half of
 *          the time needs half of the CPU time to keep up.
 * Rule.    Utilisation is the part of its time that a thread is runnable (GVTS section 2.3), an
 *          average in which the past fades by half every 32 ms.
 * Why.     The half-life is that of Linux's load tracking (PELT), on which GVTS was built. The
 *          average changes only when a thread wakes or blocks; between, it is computed.
 * Figure.  It decides how far a waking thread moves up (gvts.h).
 * Limits.  Within a half-life the decay is a straight line, at most 6% of the value too high.
 */
#ifndef RG_BALANCE_UTILISATION_H
#define RG_BALANCE_UTILISATION_H

#include "../state.h"

#define RG_UTILISATION_BITS 10
#define RG_UTILISATION_ONE (1U << RG_UTILISATION_BITS)
#define RG_HALF_LIFE_NS 32000000ULL

/* What is left of a value after a span of time. */
RG_INLINE u32 rg_faded(u32 value, u64 span_ns)
{
	u64 halves = rg_div(span_ns, RG_HALF_LIFE_NS);
	u64 rest = span_ns - halves * RG_HALF_LIFE_NS;

	if (halves > 10)
		return 0;
	value >>= halves & 15;
	return value - (u32)rg_div(value * rest, 2 * RG_HALF_LIFE_NS);
}

/* Of a thread that is runnable at present. */
RG_INLINE u32 rg_utilisation(struct rg_thread *thread, u64 now)
{
	u32 missing = RG_UTILISATION_ONE - thread->utilised;

	return RG_UTILISATION_ONE - rg_faded(missing, rg_less(now, thread->woke_at));
}

RG_INLINE void rg_utilisation_wake(struct rg_thread *thread, u64 now)
{
	thread->utilised = rg_faded(thread->utilised, rg_less(now, thread->slept_at));
}

RG_INLINE void rg_utilisation_block(struct rg_thread *thread, u64 now)
{
	thread->utilised = rg_utilisation(thread, now);
}

#endif
