/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Threads that are bound to a CPU wait for it. It runs one that may go elsewhere, and
 *          another CPU idles: no thread waits that the idle one could take.
 * Rule.    When a CPU is to choose, and threads wait that are bound to it, what it runs leaves it,
 *          if it may go to an idle one. A CPU that falls idle lets such a CPU of its queue choose.
 * Why.     By fair order the others wait for as long as the weight of what runs is worth, and the
 *          idle CPU's time is lost to all.
 * Figure.  Four spinners bound to one of two CPUs, which are due 33.9% of the machine beside a
 *          spinner of ten times their weight and a service, have 36.0% of it, and no CPU idles.
 *          Before they had 18.3%, and 17.7% idled. docs/evidence/production-node.md.
 * Limits.  Threads of one CPU alone. With sets of several a service that had two of four CPUs, then
 *          nine spinners came, had its p99.9 at 15 times the ideal, not 1.2. In a guest of 7.3 the
 *          spinners have 30.9%, before 19.0%, EEVDF 36.3%; 5.4% of the machine idles, before 17.1%.
 */
#ifndef RG_GIVE_WAY_H
#define RG_GIVE_WAY_H

#include "balance/balance.h"

/* In dispatch: whether the CPU's runnable thread shall go to an idle CPU, which looks for it. */
RG_SUBPROGRAM bool rg_gives_way(struct task_struct *t RG_TRUSTED, s32 at)
{
	struct rg_cpu *here = rg_cpu(at);
	struct rg_queue *queue = rg_queue(rg_queue_of(at));
	struct rg_queue *own = here ? rg_queue(here->own) : 0;
	struct rg_cpu *cpu;
	s32 idle;

	if (!queue || !own || !own->is_own || own->least == RG_NEVER || rg_is_pinned(t))
		return 0;
	idle = rg_pick_idle(t);
	cpu = idle < 0 ? 0 : rg_cpu(idle);
	if (!cpu) {
		queue->crowded = rg_some(at);
		return 0;
	}
	cpu->hint = rg_some(rg_queue_of(at));
	rg_kick(idle, RG_KICK_IDLE);
	return 1;
}

/*
 * In idle: the CPU of its queue chooses again that was last seen to run what this one could, of
 * threads that may run everywhere.
 */
RG_INLINE void rg_relieve(struct rg_queue *queue)
{
	s32 at = queue->crowded ? (s32)rg_number(queue->crowded) : -1;
	struct rg_cpu *cpu = at < 0 ? 0 : rg_cpu(at);

	if (!cpu)
		return;
	queue->crowded = 0;
	if (cpu->pool && !cpu->vtime)
		rg_kick(at, RG_KICK_PREEMPT);
}

#endif
