/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. A request that arrives while other processes spin waits for the end of a slice, or of
 *          several.
 * Rule.    A waking thread ends the slice of the CPU of its queue that runs the greatest token of
 *          another pool, if that is more than 1 ms ahead. Siblings never preempt each other by
 *          waking.
 * Why.     Preempting a sibling would be last come, first served. Below 1 ms a switch costs more
 *          than the wait.
 * Figure.  Beside spinning threads p99 grows about tenfold without: docs/policies.md.
 * Limits.  Asks every CPU of the queue.
 */
#ifndef RG_PREEMPT_H
#define RG_PREEMPT_H

#include "token.h"

#define RG_PREEMPT_LEAD_NS 1000000

RG_INLINE void rg_preempt(struct task_struct *t, struct rg_thread *thread, s32 home)
{
	u64 pool = rg_pool(t, thread);
	u64 token = rg_account(t, thread)->token;
	u64 lead = RG_PREEMPT_LEAD_NS;
	s32 victim = -1;

	RG_FOR(i, 0, RG_MAX_CPUS) {
		s32 at = rg_cpu_in(home, RG_CHOSEN(scope), i);
		struct rg_cpu *cpu = at < 0 ? 0 : rg_cpu(at);
		u64 ahead;

		if (!cpu)
			break;
		if (!cpu->pool || cpu->pool == pool || !rg_may_run_on(t, at))
			continue;
		ahead = rg_less(rg_token_running(cpu), token);
		if (ahead > lead) {
			lead = ahead;
			victim = at;
		}
	}
	if (victim >= 0)
		rg_kick(victim, RG_KICK_PREEMPT);
}

#endif
