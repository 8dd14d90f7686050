/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A group earns no virtual time twice: none where the min_vruntime of pinned threads falls
 *          and rises again, and beyond where it was as much as it then rises, within 16 us.
 * Bound.   All min_vruntimes and shifts; falls and rises below 2^61 ns.
 * Assumed. The group earns in that virtual time.
 * Run.     --unwind 7
 * Control. surplus.h | if (same && !rg_before(group->seen, moment)) | if (0)
 */
#include "proof.h"

#include "surplus.h"

#define CLOCK RG_VTIME_OF_QUEUE(3)

static struct rg_queue queue;

struct rg_shared *rg_shared(void)
{
	return 0;
}

struct rg_queue *rg_queue(u32 id)
{
	return &queue;
}

/* What the group earns where the min_vruntime has gone so far. */
static u64 earned(struct rg_group *group, u64 by)
{
	queue.vtime.min_vruntime += by;
	return rg_advance(group, rg_moment(CLOCK, &queue.vtime));
}

int main(void)
{
	u64 fall = nondet_u64() >> 3, rise = nondet_u64() >> 3;
	struct rg_group group = {};
	u64 beyond;

	queue.vtime.min_vruntime = nondet_u64();
	queue.vtime.shift = nondet_u64();
	group.seen = rg_moment(CLOCK, &queue.vtime);
	PROVE(!earned(&group, -fall));
	PROVE(!earned(&group, fall));
	beyond = earned(&group, rise);
	PROVE(beyond <= rise + RG_MOMENT_OF && rise <= beyond + RG_MOMENT_OF);
	return 0;
}
