/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The native adapter: what Rust must know of the policy's types, beside the platform's calls that
 * Rust defines.
 */
#include "scheduler.h"

/* In the order of `State` in state.rs, the options last. */
const u64 rg_native_sizes[] = {
	sizeof(struct rg_thread),
	sizeof(struct rg_process),
	sizeof(struct rg_group),
	sizeof(struct rg_cpu),
	sizeof(struct rg_queue),
	sizeof(struct rg_pool),
	sizeof(struct rg_entry),
	sizeof(struct rg_shared),
	sizeof(struct rg_options),
};

u64 rg_native_pulls(const struct rg_shared *shared)
{
	return shared->pulls;
}

u64 rg_native_token(const struct rg_thread *thread)
{
	return thread->account.token;
}

bool rg_native_batch(const struct rg_thread *thread)
{
	return thread->batch;
}
