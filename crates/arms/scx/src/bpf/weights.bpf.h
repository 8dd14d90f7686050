/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What nice values weigh: sched_ext's own weights are rounded to hundredths of a normal thread. */
#ifndef RG_WEIGHTS_BPF_H
#define RG_WEIGHTS_BPF_H

#define RG_SCHED_IDLE 5     /* SCHED_IDLE of linux/sched.h: macros are not in BTF */
#define RG_HIGHEST_PRIO 100 /* MAX_RT_PRIO: what nice -20 is in static_prio */
#define RG_IDLE_WEIGHT 3    /* WEIGHT_IDLEPRIO of kernel/sched/sched.h */

/* sched_prio_to_weight of kernel/sched/core.c, up to a power of two. */
const volatile u32 rg_nice_weights[64] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
	1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
	110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
};

RG_CALL u32 rg_weight(struct task_struct *t)
{
	u32 step = t->static_prio - RG_HIGHEST_PRIO;
	u32 weight = rg_nice_weights[rg_masked(step, 64)];

	if (t->policy == RG_SCHED_IDLE || !weight)
		return RG_IDLE_WEIGHT;
	return weight;
}

#endif
