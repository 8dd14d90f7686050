/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A thread that wakes, or enters another virtual time, is not before the min_vruntime
 *          less 300 ms and its credit, and not beyond it by more than some turns and 300 ms. So it
 *          is wherever its vruntime stood, and when virtual time wraps.
 * Bound.   All vruntimes, min_vruntimes and raises; weights 1/65,536, 3 and 102,400 with slices of
 *          1 s, 4 ms and 100 us; wakeup credits up to 4 s.
 * Assumed. The thread owes up to 1 s, and may run on several CPUs.
 * Run.     --unwind 9
 * Control. vruntime.h |     rg_before(most, account-> |     rg_before(0, account->
 * Control. vruntime.h | rg_latest(account->vruntime, earliest) | account->vruntime
 * Control. state.h | return rg_before(a, b) ? b : a; | return a < b ? b : a;
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

static struct rg_vtime *some_vtime(u32 id)
{
	struct rg_vtime *vtime = &shared.cpusets[id].vtime;

	vtime->min_vruntime = nondet_u64();
	vtime->shift = nondet_u64();
	return vtime;
}

static void some_options(void)
{
	options.min_vruntime = RG_MIN_VRUNTIME_MACHINE;
	options.wakeup_credit_ns = nondet_u32();
}

/* The vruntime is at most so far behind the min_vruntime, and at most so far ahead. */
static void prove_lag(u64 vruntime, u64 min_vruntime, u64 behind, u64 ahead)
{
	PROVE(!rg_before(vruntime, min_vruntime - behind));
	PROVE(!rg_before(min_vruntime + ahead, vruntime));
}

static void prove_at(u64 weight, u64 slice_ns, u64 sticky_ns)
{
	struct rg_thread thread = { .weight = weight };
	struct rg_vtime *to = some_vtime(1);
	struct rg_account *account = &thread.account;
	u64 credit, most;

	some_vtime(0);
	some_options();
	options.slice_ns = slice_ns;
	options.sticky_ns = sticky_ns;
	most = rg_vruntime_most(0, weight);
	thread.owes_ns = nondet_u32() & ((1U << 30) - 1);
	thread.helper = nondet_bool();
	*account = (struct rg_account){ nondet_u64(), nondet_u64(), rg_some(0), 0 };
	thread.counted = nondet_bool();
	rg_renormalise(account, &thread, 1);
	prove_lag(account->vruntime, to->min_vruntime,
		  thread.counted ? slice_ns : RG_HELD_BACK_NS, most);
	account->vruntime = nondet_u64();
	cpu.own = nondet_u32();
	queue.least = nondet_u64();
	rg_vruntime_place(account, &thread, &cpu, &queue);
	credit = options.wakeup_credit_ns;
	prove_lag(account->vruntime, to->min_vruntime, RG_HELD_BACK_NS + credit, most);
}

int main(void)
{
	prove_at(1, 1000000000, 4000000000);
	prove_at(3ULL * RG_WEIGHT_ONE, 4000000, 10000000);
	prove_at(102400ULL * RG_WEIGHT_ONE, 100000, 0);
	return 0;
}
