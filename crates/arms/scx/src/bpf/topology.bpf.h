/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine's domains, as tables that the loader fills from /sys while the policy is out of
 * force. A CPU that comes or goes ends the scheduler. The loader then fills them anew: in frozen
 * memory they would take new programs, and those the verifier, for seconds.
 */
#ifndef RG_TOPOLOGY_BPF_H
#define RG_TOPOLOGY_BPF_H

#define RG_LEVEL_ROWS 8 /* RG_LEVELS, up to a power of two */

/* Where a CPU stands on a level. The members of a domain stand side by side in rg_members. */
struct rg_place {
	u16 domain;
	u16 first; /* of the domain in rg_members */
	u16 size;  /* of the domain; 0: the CPU is not online */
	u16 at;    /* the CPU's place, counted from `first` */
};

struct rg_place rg_places[RG_LEVEL_ROWS][RG_MAX_CPUS] SEC(".bss.places");
u16 rg_members[RG_LEVEL_ROWS][RG_MAX_CPUS] SEC(".bss.members");

static __always_inline struct rg_place *rg_place_of(s32 cpu, u32 level)
{
	return &rg_places[rg_masked(level, RG_LEVEL_ROWS)][rg_masked(cpu, RG_MAX_CPUS)];
}

RG_CALL u32 rg_domain(s32 cpu, u32 level)
{
	return rg_place_of(cpu, level)->domain;
}

RG_CALL s32 rg_cpu_in(s32 cpu, u32 level, u32 i)
{
	struct rg_place *place = rg_place_of(cpu, level);
	u32 size = place->size;
	u32 at = place->at + i;

	if (i >= size)
		return -1;
	if (at >= size)
		at -= size;
	at += place->first;
	return rg_members[rg_masked(level, RG_LEVEL_ROWS)][rg_masked(at, RG_MAX_CPUS)];
}

#endif
