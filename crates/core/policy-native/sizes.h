/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes of the policy's types, in the order of `State` in state.rs, the options last. */
const u64 rg_native_sizes[] = {
	sizeof(struct rg_thread),  /* Incomplete? RG_STATELESS(rg_thread) */
	sizeof(struct rg_process), /* Incomplete? RG_STATELESS(rg_process) */
	sizeof(struct rg_group),   /* Incomplete? RG_STATELESS(rg_group) */
	sizeof(struct rg_cpu),     /* Incomplete? RG_STATELESS(rg_cpu) */
	sizeof(struct rg_queue),   /* Incomplete? RG_STATELESS(rg_queue) */
	sizeof(struct rg_pool),    /* Incomplete? RG_STATELESS(rg_pool) */
	sizeof(struct rg_entry),   /* Incomplete? RG_STATELESS(rg_entry) */
	sizeof(struct rg_shared),  /* Incomplete? RG_STATELESS(rg_shared) */
	sizeof(struct rg_options),
};
