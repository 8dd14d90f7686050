/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports every access to memory: clang calls the functions below before plain loads and stores,
 * and the macros of platform.h are defined anew for atomics, which clang leaves out.
 */
#ifndef RG_HOOKS_H
#define RG_HOOKS_H

#define RG_UNWATCHED __attribute__((no_sanitize("coverage")))

enum rg_access { RG_LOAD, RG_STORE, RG_ATOMIC };

void (*rg_access_call)(const void *at, u32 size, u32 kind, const void *from);

#define RG_HOOK(kind, what, size)                                                                  \
	RG_UNWATCHED void __sanitizer_cov_##what##size(void *at)                                   \
	{                                                                                          \
		rg_access_call(at, size, kind, __builtin_return_address(0));                       \
	}
RG_HOOK(RG_LOAD, load, 1)
RG_HOOK(RG_LOAD, load, 2)
RG_HOOK(RG_LOAD, load, 4)
RG_HOOK(RG_LOAD, load, 8)
RG_HOOK(RG_LOAD, load, 16)
RG_HOOK(RG_STORE, store, 1)
RG_HOOK(RG_STORE, store, 2)
RG_HOOK(RG_STORE, store, 4)
RG_HOOK(RG_STORE, store, 8)
RG_HOOK(RG_STORE, store, 16)

/* Without a report of functions clang makes none of accesses. */
RG_UNWATCHED void __sanitizer_cov_trace_pc(void)
{
}

RG_UNWATCHED __attribute__((noinline, unused)) static void rg_atomic(const void *at, u32 size)
{
	rg_access_call(at, size, RG_ATOMIC, __builtin_return_address(0));
}

#undef rg_add
#define rg_add(at, by)                                                                             \
	({                                                                                         \
		__typeof__(at) rg_to = (at);                                                       \
		rg_atomic(rg_to, sizeof(*rg_to));                                                  \
		__sync_add_and_fetch(rg_to, by);                                                   \
	})

#undef rg_swap
#define rg_swap(at, value)                                                                         \
	({                                                                                         \
		__typeof__(at) rg_to = (at);                                                       \
		rg_atomic(rg_to, sizeof(*rg_to));                                                  \
		__sync_lock_test_and_set(rg_to, value);                                            \
	})

#undef rg_compare_and_swap
#define rg_compare_and_swap(at, now, value)                                                        \
	({                                                                                         \
		__typeof__(at) rg_to = (at);                                                       \
		rg_atomic(rg_to, sizeof(*rg_to));                                                  \
		__sync_val_compare_and_swap(rg_to, now, value);                                    \
	})

#endif
