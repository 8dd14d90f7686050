/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   Pools of different weight, owner or kind have different numbers, and pools, queues and
 *          sets of CPUs different keys, of which none is 0 or has the bit of an empty row.
 * Bound.   All inputs.
 * Assumed. Process and thread numbers are 1 to 2^22 - 1, weights up to 88,761, queues below
 *          8,192, sets of CPUs below 64.
 * Control. pick/pool.h | alone) << 24 | alone) << 22
 * Control. index/pools.h | return pool << 19 | return pool << 18
 * Control. pick/group.h | (1U << 22) | (1U << 21)
 */
#include "proof.h"

#include "index/pools.h"
#include "pick/pool.h"

struct task_struct {
	u32 thread, process, weight;
};

struct pool {
	struct task_struct t;
	struct rg_thread thread;
	u32 queue, cpuset;
	bool alone;
	u64 owner, pool, key;
};

u32 rg_thread_id(struct task_struct *t)
{
	return t->thread;
}

u32 rg_process_id(struct task_struct *t)
{
	return t->process;
}

u32 rg_weight(struct task_struct *t)
{
	return t->weight;
}

static void any_pool(struct pool *p)
{
	p->t = (struct task_struct){ nondet_u32(), nondet_u32(), nondet_u32() };
	ASSUME(p->t.thread > 0 && p->t.thread < 1U << 22);
	ASSUME(p->t.process > 0 && p->t.process < 1U << 22);
	ASSUME(p->t.weight <= 88761);
	p->thread.batch = nondet_bool();
	p->thread.group = nondet_u32();
	p->queue = nondet_u32();
	p->cpuset = nondet_u32();
	ASSUME(p->thread.group < RG_GROUPS && p->queue < RG_QUEUES && p->cpuset < RG_CPUSETS);
	p->alone = rg_is_alone(&p->thread);
	p->owner = rg_pool_owner(&p->t, &p->thread, p->alone);
	p->pool = rg_pool(&p->t, &p->thread);
	p->key = rg_pool_key(p->pool, p->queue, p->cpuset);
}

int main(void)
{
	struct pool a, b;

	options.pick = nondet_u32();
	options.fair = nondet_u32();
	options.yields = 0;
	ASSUME(options.pick <= RG_PICK_GROUP && options.fair <= RG_FAIR_PROCESS);
	any_pool(&a);
	any_pool(&b);
	PROVE(a.pool && a.key && !(a.key & RG_POOL_EMPTY));
	PROVE(a.key != b.key ||
	      (a.pool == b.pool && a.queue == b.queue && a.cpuset == b.cpuset));
	if (options.pick == RG_PICK_ALL)
		return 0;
	PROVE(rg_pool_is_alone(a.pool) == a.alone);
	PROVE(a.pool != b.pool || (a.alone == b.alone && a.owner == b.owner));
	PROVE(a.pool != b.pool || a.alone || options.fair == RG_FAIR_PROCESS ||
	      a.t.weight == b.t.weight);
	PROVE(options.pick != RG_PICK_GROUP || a.pool != b.pool || a.alone ||
	      (a.thread.group == b.thread.group && (a.thread.group || a.t.process == b.t.process)));
	return 0;
}
