/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The native adapter: what Rust must know of the policy's types, beside the platform's calls that
 * Rust defines.
 */
#include "scheduler.h"
#include "sizes.h"

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
