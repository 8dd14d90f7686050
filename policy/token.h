/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. Shares between processes must be what a fair scheduler of threads gives them, whatever
 *          order rules inside a process.
 * Rule.    Every thread carries a virtual time, its token. It advances by CPU time / effective
 *          weight, and on wake-up is placed at max(own, edge - slack), where the edge is the least
 *          token of all who wait or run at its queue, or at any (edge.h). Whoever runs takes the
 *          least token of its pool in exchange for its own.
 * Why.     Shares follow the tokens, and an exchange conserves them as a multiset: a process gets
 *          what its threads are due, and nothing is left to settle when the one that ran blocks. A
 *          slack above 0 lets a waking thread win against threads at the edge itself.
 * Figure.  A 64-thread service that wants 80% beside one spinning thread gets it; with one token a
 *          process (fair=process) it gets half. Each queue has a virtual time of its own, and a
 *          thread that moves keeps its distance to the edge, as in CFS: tokens of different queues
 *          drift apart, because balance feeds only CPUs that idle. With one edge for all queues
 *          p99.9 on two caches beside spinning threads was 1.06 to 1.25 times the ideal instead of
 *          1.22 to 1.29; but then a queue that runs ahead owes its lead to whoever comes from
 *          another, without bound.
 * Limits.  Fair within a queue. A thread that moves may gain or lose what the two queues' times
 *          differ by.
 */
#ifndef RG_TOKEN_H
#define RG_TOKEN_H

#include "balance/account.h"
#include "bucket.h"
#include "edge.h"
#include "index/index.h"

/* Whether a balance holds the virtual times of all queues together. */
RG_INLINE bool rg_is_global(void)
{
	return RG_CHOSEN(balance) == RG_BALANCE_GVTS || RG_CHOSEN(balance) == RG_BALANCE_DWRR;
}

/* Where the thread's CPU time is charged. */
RG_INLINE struct rg_account *rg_account(struct task_struct *t, struct rg_thread *thread)
{
	struct rg_process *process = RG_CHOSEN(fair) == RG_FAIR_PROCESS ? rg_process(t) : 0;

	return process ? &process->account : &thread->account;
}

/* Says what the CPU runs or is about to run. */
RG_INLINE void rg_cpu_show(struct rg_cpu *cpu, struct rg_thread *thread, u64 token, u64 now)
{
	cpu->token = token;
	cpu->weight = thread->weight;
	cpu->since = now;
	cpu->thread = thread->slot;
	cpu->ordered = 0;
	cpu->pool = thread->pool;
}

RG_INLINE void rg_token_show(s32 at, struct task_struct *t, struct rg_thread *thread)
{
	struct rg_cpu *cpu = rg_cpu(at);

	if (cpu)
		rg_cpu_show(cpu, thread, rg_account(t, thread)->token, rg_now());
}

/* Charges what the thread has received since it was charged last. */
RG_INLINE void rg_token_charge(struct task_struct *t, struct rg_thread *thread)
{
	u64 exec = rg_exec_ns(t);
	u64 ran = rg_less(exec, thread->exec_seen);
	struct rg_account *account = rg_account(t, thread);
	struct rg_edge *edge = account->queue ? rg_edge_of(account->queue - 1) : 0;
	u64 before = account->token;

	thread->exec_seen = exec;
	account->token += rg_virtual(ran, thread->weight);
	if (edge)
		account->token = rg_edge_bound(edge, rg_thread_cpu(t), before, account->token);
	rg_bucket_fill(thread, ran);
	if (RG_CHOSEN(balance) == RG_BALANCE_CREDIT)
		rg_account_burn(t, thread, ran);
	thread->pool = rg_pool(t, thread);
}

/*
 * The account enters the virtual time of another queue: it keeps its distance to the edge. With one
 * edge for the machine there is nothing to change. A new one starts behind the edge by what a waker
 * may be before it: at the edge itself, threads that are born and die without end would hold it
 * where it is, and whoever has run already would never be the least.
 */
RG_INLINE void rg_token_rebase(struct rg_account *account, u32 id)
{
	struct rg_edge *to, *from;

	if (account->queue == id + 1)
		return;
	to = rg_edge_of(id);
	from = account->queue ? rg_edge_of(account->queue - 1) : 0;
	if (!to)
		return;
	if (!from)
		account->token = to->edge + RG_CHOSEN(slack_ns);
	else if (from != to)
		account->token = rg_less(account->token + to->edge, from->edge);
	account->queue = id + 1;
}

/* The thread belongs to the queue with its token. */
RG_INLINE void rg_token_enter(struct task_struct *t, struct rg_thread *thread, u32 id)
{
	rg_token_rebase(rg_account(t, thread), id);
	rg_queue_move(thread, id + 1);
}

/* The thread is the next that the CPU runs. */
RG_INLINE void rg_token_bring(s32 cpu, struct task_struct *t, struct rg_thread *thread)
{
	if (thread->waits)
		rg_index_leave(thread);
	rg_token_enter(t, thread, rg_queue_of(cpu));
	rg_weight_refresh(thread);
	rg_token_show(cpu, t, thread);
	thread->cpu = cpu;
}

/* Places the token of whoever wakes: sleep earns no more than the slack. */
RG_INLINE void rg_token_place(struct rg_account *account, u64 edge)
{
	u64 earliest = rg_less(edge, RG_CHOSEN(slack_ns));

	if (account->token < earliest)
		account->token = earliest;
}

#endif
