/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the test says before a callback (script.rs), and what came of it. */
#ifndef RG_PARITY_SCRIPT_H
#define RG_PARITY_SCRIPT_H

#define PARITY_CPUS 8
#define PARITY_THREADS 64
#define PARITY_ACTS 512

enum parity_call {
	PARITY_RANDOM = 1,
	PARITY_DEFAULT_CPU,
	PARITY_PICK_IDLE,
	PARITY_KICK,
	PARITY_CREATE,
	PARITY_INSERT,
	PARITY_LOCAL,
	PARITY_LENGTH,
	PARITY_PEEK,
	PARITY_MOVE,
	PARITY_VISIT,
	PARITY_VISIT_MOVE,
	PARITY_SET_SLICE,
};

struct parity_thread {
	u64 exec_ns;
	u32 id;
	u32 process;
	u32 weight;
	s32 cpu;
	s32 only_on; /* the one CPU of its affinity; -1: all */
	u32 kthread;
};

struct parity_act {
	u64 call; /* an enum parity_call */
	u64 args[4];
	u64 answer; /* of a visited thread's move: its id */
};

struct {
	u64 now;
	u32 thread; /* that the callback is about, by id; 0: none */
	u32 args[3];
	u32 cpu; /* that dispatches */
	u32 runnable; /* the thread that it could go on with, by id */
	u32 count; /* of acts */
	u32 unused;
	struct parity_thread threads[PARITY_THREADS];
	struct parity_act acts[PARITY_ACTS];
} input SEC(".data.input");

/* What this side did: how many acts, and the first one that is not the native run's. */
struct {
	u64 acts;
	u64 differs; /* its number plus 1 */
	u64 call;
	u64 args[4];
	s64 result;
} output SEC(".bss.output");

/* Compared here and answered as natively; after a difference all answers are 0. */
__noinline u64 parity_act(u64 call, u64 a, u64 b, u64 c, u64 d)
{
	u64 at = output.acts++;
	struct parity_act *act = &input.acts[at & (PARITY_ACTS - 1)];

	if (output.differs)
		return 0;
	if (at < input.count && act->call == call && act->args[0] == a && act->args[1] == b &&
	    act->args[2] == c && act->args[3] == d)
		return act->answer;
	output.differs = at + 1;
	output.call = call;
	output.args[0] = a;
	output.args[1] = b;
	output.args[2] = c;
	output.args[3] = d;
	return 0;
}

static __always_inline struct parity_thread *parity_thread(struct task_struct *t)
{
	return (struct parity_thread *)t;
}

/* A thread by id; NULL for 0. */
static __always_inline struct task_struct *parity_handle(u64 id)
{
	if (!id)
		return 0;
	return (struct task_struct *)&input.threads[(id - 1) & (PARITY_THREADS - 1)];
}

static __always_inline struct task_struct *parity_visit(u32 queue)
{
	return parity_handle(parity_act(PARITY_VISIT, queue, 0, 0, 0));
}

/* A moved thread belongs to the CPU that dispatches. */
static __always_inline bool parity_moved(u64 id)
{
	if (!id)
		return 0;
	input.threads[(id - 1) & (PARITY_THREADS - 1)].cpu = input.cpu;
	return 1;
}

static __always_inline bool parity_visited(u32 queue, struct task_struct *t)
{
	return parity_moved(parity_act(PARITY_VISIT_MOVE, queue, parity_thread(t)->id, 0, 0));
}

#endif
