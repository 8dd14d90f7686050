/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. A light thread that had a CPU to itself has a token far ahead of everybody's: once
 *          others come, it would wait as long as it led. The kernel ejects a policy that lets a
 *          runnable thread wait for 30 s.
 * Rule.    A batch thread that has waited for 5 s goes first, for one slice.
 * Why.     Bounding the tokens themselves was tried and is worse: with a bound of 150 ms threads
 *          beside one of infeasible weight lost the memory of what they had received, and lag grew
 *          from 0.5 s to 3.3 s. This touches nobody in the steady state. Threads that are not batch
 *          cannot lead by more than their bucket.
 * Figure.  docs/policies.md.
 * Limits.  With more than 1,250 spinning threads a CPU everybody waits so long, and weights give
 *          way to turns.
 */
#ifndef RG_PICK_PATIENCE_H
#define RG_PICK_PATIENCE_H

#include "../state.h"

#define RG_PATIENCE_NS 5000000000ULL

RG_INLINE bool rg_out_of_patience(struct rg_thread *thread)
{
	if (!thread->batch || !RG_CHOSEN(patience))
		return 0;
	return rg_less(rg_now(), thread->queued_at) > RG_PATIENCE_NS;
}

#endif
