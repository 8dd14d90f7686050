/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. Shares between processes must be what a fair scheduler of threads gives them, whatever
 *          order rules inside a process.
 * Rule.    Every thread carries a virtual time, its vruntime. It advances by CPU time / effective
 *          weight. On wake-up it becomes max(own, min_vruntime - wakeup credit). A thread that is
 *          picked runs on the least vruntime of its pool and leaves its own in exchange.
 * Why.     Shares follow the vruntimes, and an exchange conserves them as a multiset: a process
 *          gets what its threads are due. Nothing is left to settle when the one that ran blocks.
 *          With a wakeup credit above 0 a waking thread wins against threads at the min_vruntime
 *          itself.
 * Figure.  A 64-thread service that wants 80% beside one spinning thread gets it. With one vruntime
 *          a process (fair=process) it gets half. Under `cts` each queue has a virtual time of its
 *          own, and a thread that moves keeps its distance to the min_vruntime, as in CFS. One
 *          min_vruntime for all queues had p99.9 of 1.06 to 1.25 times the ideal on two caches
 *          beside spinning threads, in place of 1.22 to 1.29. But `steal` feeds only CPUs that
 *          idle, so virtual times of queues drift apart, and a queue that runs ahead would owe its
 *          lead to threads that come from another, without bound.
 * Limits.  Fair within a queue. A thread that moves may gain or lose what the two queues' times
 *          differ by.
 */
#ifndef RG_VRUNTIME_H
#define RG_VRUNTIME_H

#include "balance/account.h"
#include "burst.h"
#include "min_vruntime.h"
#include "index/index.h"

/* Where the thread's CPU time is charged. */
RG_INLINE struct rg_account *rg_account(struct task_struct *t, struct rg_thread *thread)
{
	struct rg_process *process = RG_OPTION(fair) == RG_FAIR_PROCESS ? rg_process(t) : 0;

	return process ? &process->account : &thread->account;
}

/* Says what the CPU runs or is about to run. */
RG_INLINE void rg_cpu_set_curr(struct rg_cpu *cpu, struct rg_thread *thread, u64 vruntime, u64 now)
{
	cpu->vruntime = vruntime;
	cpu->weight = thread->weight;
	cpu->since = now;
	cpu->thread = thread->slot;
	cpu->ordered = 0;
	cpu->pool = thread->pool;
}

RG_INLINE void rg_set_curr(s32 at, struct task_struct *t, struct rg_thread *thread)
{
	struct rg_cpu *cpu = rg_cpu(at);

	if (cpu)
		rg_cpu_set_curr(cpu, thread, rg_account(t, thread)->vruntime, rg_now());
}

/* Charges what the thread has received since it was charged last. */
RG_INLINE void rg_charge(struct task_struct *t, struct rg_thread *thread)
{
	u64 exec = rg_exec_ns(t);
	u64 ran = rg_less(exec, thread->exec_seen);
	struct rg_account *account = rg_account(t, thread);
	struct rg_vtime *vtime = account->queue ? rg_vtime_of(rg_number(account->queue)) : 0;
	u64 before = account->vruntime;

	thread->exec_seen = exec;
	account->vruntime += rg_virtual(ran, thread->weight);
	if (vtime)
		account->vruntime = rg_vruntime_cap(vtime, rg_thread_cpu(t), before,
						    account->vruntime);
	rg_burst_fill(thread, ran);
	if (RG_OPTION(balance) == RG_BALANCE_CREDIT)
		rg_account_burn(t, thread, ran);
	thread->pool = rg_pool(t, thread);
}

/*
 * The account enters the virtual time of another queue: it keeps its distance to the min_vruntime.
 * With one min_vruntime for the machine there is nothing to change. A new one starts behind the
 * min_vruntime by what a waking thread may be before it: at the min_vruntime itself, threads that
 * are created and exit without end would hold it where it is, and one that has run already would
 * never be the least.
 */
RG_INLINE void rg_renormalise(struct rg_account *account, u32 id)
{
	struct rg_vtime *to, *from;

	if (account->queue == rg_some(id))
		return;
	to = rg_vtime_of(id);
	from = account->queue ? rg_vtime_of(rg_number(account->queue)) : 0;
	if (!to)
		return;
	if (!from)
		account->vruntime = to->min_vruntime + RG_OPTION(wakeup_credit_ns);
	else if (from != to)
		account->vruntime = rg_less(account->vruntime + to->min_vruntime,
					    from->min_vruntime);
	account->queue = rg_some(id);
}

/* The thread belongs to the queue with its vruntime. */
RG_INLINE void rg_attach(struct task_struct *t, struct rg_thread *thread, u32 id)
{
	rg_renormalise(rg_account(t, thread), id);
	rg_queue_move(thread, rg_some(id));
}

/* The thread is the next that the CPU runs. */
RG_INLINE void rg_set_next(s32 cpu, struct task_struct *t, struct rg_thread *thread)
{
	if (thread->waits)
		rg_index_leave(thread);
	rg_attach(t, thread, rg_queue_of(cpu));
	rg_weight_refresh(thread);
	rg_set_curr(cpu, t, thread);
	thread->cpu = cpu;
}

/* Places the vruntime of a waking thread: sleep earns no more than the wakeup credit. */
RG_INLINE void rg_vruntime_place(struct rg_account *account, u64 min_vruntime)
{
	u64 earliest = rg_less(min_vruntime, RG_OPTION(wakeup_credit_ns));

	if (account->vruntime < earliest)
		account->vruntime = earliest;
}

#endif
