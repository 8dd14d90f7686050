/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A thread that wakes, or enters another virtual time, is not before the min_vruntime
 *          less 300 ms and its credit, and not beyond it by more than some turns, 300 ms and what a
 *          helper is delayed. Nothing overflows.
 * Bound.   Weights 1/65,536, 3 and 102,400 with slices of 1 s, 4 ms and 100 us; wakeup credits up
 *          to 4 s.
 * Assumed. Vruntimes and min_vruntimes are below 2^61: 30 years in ns are below 2^60. The thread
 *          owes up to 1 s.
 * Run.     --unsigned-overflow-check --unwind 9
 * Control. vruntime.h | if (account->vruntime > most) | if (account->vruntime > 2 * most)
 * Control. vruntime.h | if (account->vruntime < earliest) | if (0)
 */
#include "proof.h"

#include "vruntime.h"

static struct rg_shared shared;
static struct rg_queue queue;
static struct rg_cpu cpu;

struct rg_shared *rg_shared(void)
{
	return &shared;
}

struct rg_queue *rg_queue(u32 id)
{
	return nondet_bool() ? &queue : 0;
}

static u64 some_time(void)
{
	return nondet_u64() >> 3;
}

static struct rg_vtime *some_vtime(u32 id)
{
	struct rg_vtime *vtime = &shared.cpusets[id].vtime;

	vtime->min_vruntime = some_time();
	vtime->shift = nondet_u32();
	return vtime;
}

static void some_options(void)
{
	options.min_vruntime = RG_MIN_VRUNTIME_MACHINE;
	options.wakeup_credit_ns = nondet_u32();
}

static void prove_at(u64 weight, u64 slice_ns, u64 sticky_ns)
{
	struct rg_thread thread = { .weight = weight };
	struct rg_vtime *from = some_vtime(0), *to = some_vtime(1);
	struct rg_account *account = &thread.account;
	u64 min_vruntime = to->min_vruntime, credit, most;

	some_options();
	options.slice_ns = slice_ns;
	options.sticky_ns = sticky_ns;
	thread.owes_ns = nondet_u32() & ((1U << 30) - 1);
	thread.helper = nondet_bool();
	*account = (struct rg_account){ some_time(), 0, rg_some(0), 0 };
	account->shift = nondet_u32();
	ASSUME(account->shift <= from->shift && from->shift <= account->vruntime);
	rg_renormalise(account, thread.weight, 1);
	most = rg_vruntime_most(min_vruntime, thread.weight);
	PROVE(account->vruntime <= most);
	PROVE(account->vruntime + RG_HELD_BACK_NS >= min_vruntime);
	account->vruntime = some_time();
	cpu.own = nondet_u32();
	queue.least = nondet_bool() ? RG_NEVER : some_time();
	rg_vruntime_place(account, &thread, &cpu, &queue);
	credit = options.wakeup_credit_ns;
	most = rg_vruntime_most(to->min_vruntime, thread.weight);
	PROVE(account->vruntime >= rg_less(rg_less(min_vruntime, RG_HELD_BACK_NS), credit));
	PROVE(account->vruntime <= most + (thread.helper ? credit : 0));
}

int main(void)
{
	prove_at(1, 1000000000, 4000000000);
	prove_at(3ULL * RG_WEIGHT_ONE, 4000000, 10000000);
	prove_at(102400ULL * RG_WEIGHT_ONE, 100000, 0);
	return 0;
}
