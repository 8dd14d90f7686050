/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The native adapter: what Rust must know of the policy's types, beside the platform's calls that
 * Rust defines.
 */
/* What Rust defines is in the same object: its calls need no table. */
#pragma GCC visibility push(hidden)
#include "scheduler.h"
#include "sizes.h"

#ifdef RG_SHARED_OBJECT
/*
 * Rust's thread-locals cost a call of the dynamic linker in a shared object; a variable of this
 * model is two loads away (anchor.rs).
 */
_Thread_local void *rg_native_anchor __attribute__((tls_model("initial-exec")));

#ifndef __x86_64__
void *rg_native_anchored(void)
{
	return rg_native_anchor;
}
#endif

void rg_native_set_anchor(void *context)
{
	rg_native_anchor = context;
}
#endif

u64 rg_native_pulls(const struct rg_shared *shared)
{
	return shared->pulls;
}

u64 rg_native_vruntime(const struct rg_thread *thread)
{
	return thread->account.vruntime - RG_VTIME_BEGIN;
}

bool rg_native_batch(const struct rg_thread *thread)
{
	return thread->batch;
}
