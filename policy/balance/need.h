/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Queues are even when their threads reach a virtual time together, however many they are
 *          and whatever they weigh. Vruntimes alone do not say which thread will be late.
 * Rule.    What a queue needs to a virtual time is the CPU time that its threads need to reach it:
 *          the sum of difference x effective weight x utilisation (GVTS section 3.3), over the CPUs
 *          that serve it. A thread that runs and weighs more than a CPU's part of the queue does
 *          not count, nor does what it uses of a CPU.
 * Why.     Such a weight is infeasible: the thread has a CPU and can use no second one, whatever is
 *          pulled from beside it.
 * Figure.  `infeasible-weight`: docs/reference/policies.md.
 * Limits.  Estimated from 32 of the waiting threads: it decides how often threads move, not what
 *          they get.
 */
#ifndef RG_BALANCE_NEED_H
#define RG_BALANCE_NEED_H

#include "../vruntime.h"
#include "utilisation.h"

#define RG_SAMPLE 32

/*
 * CPU time that a thread needs to reach a virtual time: the difference x effective weight x
 * utilisation. Shifts keep the product within 64 bits for differences of up to a day.
 */
RG_INLINE u64 rg_need_of(u64 vruntime, u64 weight, u32 utilisation, u64 target)
{
	u64 lag = rg_lead(target, vruntime);

	return rg_div(((lag >> 8) * (weight >> 8) >> RG_UTILISATION_BITS) * utilisation,
		      RG_NORMAL_WEIGHT);
}

RG_INLINE u64 rg_need_waiting(struct rg_thread *thread, u64 target)
{
	return rg_need_of(thread->account.vruntime, thread->weight,
			  rg_utilisation(thread, rg_now()), target);
}

/* The i-th CPU that a queue serves; 0 past the last. */
RG_INLINE struct rg_cpu *rg_need_cpu(s32 home, u32 i)
{
	s32 at = rg_cpu_in(home, RG_OPTION(queue), i);

	return at < 0 ? 0 : rg_cpu(at);
}

RG_INLINE u32 rg_utilisation_running(struct rg_cpu *cpu)
{
	return rg_utilisation(rg_thread_at(cpu->thread), rg_now());
}

RG_INLINE u64 rg_need_running(struct rg_cpu *cpu, u64 target)
{
	return rg_need_of(rg_vruntime_running(cpu, rg_now()), cpu->weight,
			  rg_utilisation_running(cpu), target);
}

RG_INLINE void rg_need_add_running(struct rg_need *need, s32 home, u64 target)
{
	RG_FOR(i, 0, RG_MAX_CPUS) {
		struct rg_cpu *cpu = rg_need_cpu(home, i);

		if (!cpu)
			break;
		need->capacity += RG_UTILISATION_ONE;
		if (!cpu->pool)
			continue;
		need->total_ns += rg_need_running(cpu, target);
		need->weight += cpu->weight;
	}
}

/* Adds the waiting threads, all as the ones that were asked. */
RG_INLINE void rg_need_add_waiting(struct rg_need *need, u32 id, u64 target)
{
	u32 length = rg_queue_length(id);
	struct task_struct *t;
	u64 total = rg_opaque(0), weight = rg_opaque(0);
	u32 seen = rg_opaque(0);

	RG_VISIT(t, id) {
		struct rg_thread *thread = rg_thread(t);
		u64 own = thread ? rg_need_waiting(thread, target) : 0;

		if (own)
			need->last = rg_thread_id(t);
		total += own;
		weight += thread ? thread->weight : 0;
		if (++seen == RG_SAMPLE)
			break;
	}
	if (seen < length) {
		total = rg_div(total, seen) * length;
		weight = rg_div(weight, seen) * length;
	}
	need->total_ns += total;
	need->weight += weight;
}

/* Leaves out threads that run with an infeasible weight, with what they use of a CPU. */
RG_INLINE void rg_need_leave_out(struct rg_need *need, s32 home, u64 target)
{
	u64 part = rg_div(need->weight << RG_UTILISATION_BITS, need->capacity);

	RG_FOR(i, 0, RG_MAX_CPUS) {
		struct rg_cpu *cpu = rg_need_cpu(home, i);

		if (!cpu)
			break;
		if (!cpu->pool || cpu->weight <= part)
			continue;
		need->total_ns = rg_less(need->total_ns, rg_need_running(cpu, target));
		need->capacity = rg_less(need->capacity, rg_utilisation_running(cpu));
	}
}

/*
 * What a queue needs, noted by the CPU that asks in one of its two rows. One copy for all callers:
 * the verifier follows its loops once.
 */
RG_SUBPROGRAM bool rg_need_note(s32 cpu, u32 row, s32 home, u64 target)
{
	struct rg_need need = { .capacity = rg_opaque(0) };
	struct rg_cpu *here = rg_cpu(cpu);

	if (!here)
		return 0;
	rg_need_add_running(&need, home, target);
	rg_need_add_waiting(&need, rg_queue_of(home), target);
	rg_need_leave_out(&need, home, target);
	here->needs[row & 1] = need;
	return 1;
}

/* How long a queue's CPUs take for so much. */
RG_INLINE u64 rg_need_time(struct rg_need *need, u64 total_ns)
{
	return rg_div(total_ns << RG_UTILISATION_BITS, need->capacity);
}

#endif
