/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The policy's callbacks, each a program that the test calls: see parity.rs. */
#include <vmlinux.h>
#include <bpf/bpf_helpers.h>
#include <bpf_experimental.h>

#define __maybe_unused __attribute__((unused))
/* The verifier asks that a subprogram's argument is as large as its type: ours is the test's. */
#define task_struct parity_thread

#include "seam.bpf.h"
#include "scheduler.h"

char _license[] SEC("license") = "GPL";

#define PARITY_CALLBACK(name, body)                                                             \
	SEC("syscall") int name(void *ctx)                                                      \
	{                                                                                       \
		struct task_struct *t __maybe_unused = parity_handle(input.thread);             \
		u32 *args __maybe_unused = input.args;                                          \
                                                                                                \
		output.acts = 0;                                                                \
		output.differs = 0;                                                             \
		output.result = 0;                                                              \
		body;                                                                           \
		return 0;                                                                       \
	}

PARITY_CALLBACK(init, output.result = rg_init())
PARITY_CALLBACK(init_group, rg_init_group(args[0], args[1], args[2]))
PARITY_CALLBACK(weigh_group, rg_weigh_group(args[0], args[1]))
PARITY_CALLBACK(dispatch, rg_dispatch(args[0], t))
PARITY_CALLBACK(idle, rg_idle(args[0]))
PARITY_CALLBACK(init_thread, if (t) output.result = rg_init_thread(t, args[0]))
PARITY_CALLBACK(move_thread_group, if (t) rg_move_thread_group(t, args[0]))
PARITY_CALLBACK(select_cpu, if (t) output.result = rg_select_cpu(t, args[0]))
PARITY_CALLBACK(enqueue, if (t) rg_enqueue(t, args[0]))
PARITY_CALLBACK(give_way, if (t) rg_yield(t))
PARITY_CALLBACK(tick, if (t) rg_tick(t))
PARITY_CALLBACK(stopping, if (t) rg_stopping(t, args[0]))
PARITY_CALLBACK(exit_thread, if (t) rg_exit_thread(t))
