/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. A prefork server (PostgreSQL, Apache's prefork) has a process for each connection: with
 *          a pool a process its requests are served by vruntime, not first come, first served.
 * Rule.    As pick=process, but the threads of a group are a pool, of whatever process. Outside of
 *          groups a process is one.
 * Why.     Who is entitled to a share stays the same; only which thread of the group runs on a
 *          vruntime differs.
 * Figure.  docs/reference/policies.md.
 * Limits.  Services that share a group wait for each other's requests. Groups inside it are pools
 *          of their own. What is long for a request is still asked of each process's bursts.
 */
#ifndef RG_PICK_GROUP_H
#define RG_PICK_GROUP_H

#include "../state.h"

#define RG_GROUP_OWNER (1U << 22) /* above the number of any process */

RG_INLINE u64 rg_group_owner(u32 group)
{
	return RG_GROUP_OWNER | group;
}

#endif
