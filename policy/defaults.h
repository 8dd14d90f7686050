/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For a policy in a file of its own: the seam, and a word for each part of it that the policy does
 * without, so that what is missing is said and not forgotten.
 *
 *     RG_STATELESS(rg_pool);   it keeps nothing with pools
 *     RG_WITHOUT(tick)         the callback does nothing
 *     RG_WITHOUT(yield)        the slice of a thread that yields ends
 */
#ifndef RG_DEFAULTS_H
#define RG_DEFAULTS_H

#include "platform.h"

/* What the command line and the scenario say, the same for every such policy. */
struct rg_options {
	u64 slice_ns; /* NAME.c:slice=DURATION, else the scenario's, else 4 ms */
	u32 cpus;     /* numbered from 0 */
	u32 unused;
};

/* A map of the kernel cannot hold nothing. */
#define RG_STATELESS(owner)                                                                        \
	struct owner {                                                                             \
		u64 none;                                                                          \
	}

#define RG_WITHOUT(callback) RG_WITHOUT_##callback

#define RG_WITHOUT_tick                                                                            \
	RG_CALLBACK void rg_tick(struct task_struct *thread)                                       \
	{                                                                                          \
		(void)thread;                                                                      \
	}
#define RG_WITHOUT_yield                                                                           \
	RG_CALLBACK void rg_yield(struct task_struct *thread)                                      \
	{                                                                                          \
		rg_set_slice(thread, 0);                                                           \
	}
#define RG_WITHOUT_stopping                                                                        \
	RG_CALLBACK void rg_stopping(struct task_struct *thread, bool runnable)                    \
	{                                                                                          \
		(void)thread;                                                                      \
		(void)runnable;                                                                    \
	}
#define RG_WITHOUT_idle                                                                            \
	RG_CALLBACK void rg_idle(s32 cpu)                                                          \
	{                                                                                          \
		(void)cpu;                                                                         \
	}
#define RG_WITHOUT_init_thread                                                                     \
	RG_CALLBACK s32 rg_init_thread(struct task_struct *thread, u32 group)                      \
	{                                                                                          \
		(void)thread;                                                                      \
		(void)group;                                                                       \
		return 0;                                                                          \
	}
#define RG_WITHOUT_exit_thread                                                                     \
	RG_CALLBACK void rg_exit_thread(struct task_struct *thread)                                \
	{                                                                                          \
		(void)thread;                                                                      \
	}
/* The callbacks about limits of groups: quotas, promises and idle groups are refused. */
#define RG_WITHOUT_limits                                                                          \
	RG_CALLBACK void rg_idle_group(u32 group, bool idle)                                       \
	{                                                                                          \
		(void)group;                                                                       \
		(void)idle;                                                                        \
	}                                                                                          \
	RG_CALLBACK void rg_limit_group(u32 group, u64 quota_ns, u64 period_ns, u64 burst_ns)      \
	{                                                                                          \
		(void)group;                                                                       \
		(void)quota_ns;                                                                    \
		(void)period_ns;                                                                   \
		(void)burst_ns;                                                                    \
	}                                                                                          \
	RG_CALLBACK void rg_promise_group(u32 group, u64 within_ns, u64 share)                     \
	{                                                                                          \
		(void)group;                                                                       \
		(void)within_ns;                                                                   \
		(void)share;                                                                       \
	}                                                                                          \
	RG_CALLBACK void rg_group_due(u32 group)                                                   \
	{                                                                                          \
		(void)group;                                                                       \
	}                                                                                          \
	RG_CALLBACK void rg_turn_due(s32 cpu)                                                      \
	{                                                                                          \
		(void)cpu;                                                                         \
	}
/* All callbacks about groups. */
#define RG_WITHOUT_groups                                                                          \
	RG_WITHOUT_limits                                                                          \
	RG_CALLBACK void rg_init_group(u32 group, u32 parent, u32 weight)                          \
	{                                                                                          \
		(void)group;                                                                       \
		(void)parent;                                                                      \
		(void)weight;                                                                      \
	}                                                                                          \
	RG_CALLBACK void rg_weigh_group(u32 group, u32 weight)                                     \
	{                                                                                          \
		(void)group;                                                                       \
		(void)weight;                                                                      \
	}                                                                                          \
	RG_CALLBACK void rg_exit_group(u32 group)                                                  \
	{                                                                                          \
		(void)group;                                                                       \
	}                                                                                          \
	RG_CALLBACK void rg_move_thread_group(struct task_struct *thread, u32 group)               \
	{                                                                                          \
		(void)thread;                                                                      \
		(void)group;                                                                       \
	}

#endif
