/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Shares between processes must be what a fair scheduler of threads gives them, whatever
 *          order rules inside a process.
 * Rule.    Every thread carries a virtual time, its vruntime. It advances by CPU time / effective
 *          weight. On wake-up it becomes max(own, min_vruntime - wakeup credit). A thread that is
 *          picked runs on the least vruntime of its pool and leaves its own in exchange.
 * Why.     Shares follow the vruntimes, and an exchange conserves them as a multiset: a process
 *          gets what its threads are due. Nothing is left to settle when the one that ran blocks.
 *          With a wakeup credit above 0 a waking thread wins against threads at the min_vruntime
 *          itself. Light threads of a CPU may be further apart in virtual time than that credit.
 * Figure.  A 64-thread service that wants 80% beside one spinning thread gets it. With one vruntime
 *          a process (fair=process) it gets half. Under `cts` each queue has a virtual time of its
 *          own, and a thread that moves keeps its distance to the min_vruntime, as in CFS. One
 *          min_vruntime for all queues had p99.9 of 1.06 to 1.25 times the ideal on two caches
 *          beside spinning threads, in place of 1.22 to 1.29. But `steal` feeds only CPUs that
 *          idle, so virtual times of queues drift apart, and a queue that runs ahead would owe its
 *          lead to threads that come from another, without bound.
 *          The min_vruntime may follow another thread, whose weight is feasible (min_vruntime.h). A
 *          spinner due 7.6% of a machine had 25.0% of it after 30 s in which it had a CPU to itself
 *          and what it could not use was owed to it. Now it has 7.6%. A bound service in a group of
 *          weight 10, beside spinners of the group: p99.9 0.99 of the ideal, 42 with a credit of
 *          virtual time.
 * Limits.  Fair within a queue. A thread that moves may gain or lose what the two queues' times
 *          differ by.
 */
#ifndef RG_VRUNTIME_H
#define RG_VRUNTIME_H

#include "balance/credits.h"
#include "clock.h"
#include "debt.h"
#include "promise.h"
#include "quota.h"
#include "surplus.h"
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
	cpu->vtime = rg_number(thread->account.vtime);
	cpu->vruntime = vruntime;
	cpu->weight = thread->weight;
	cpu->since = now;
	cpu->thread = thread->slot;
	cpu->ordered = 0;
	cpu->leaves = 0;
	cpu->pool = thread->pool;
}

RG_INLINE void rg_set_curr(s32 at, struct task_struct *t, struct rg_thread *thread)
{
	struct rg_cpu *cpu = rg_cpu(at);

	if (cpu)
		rg_cpu_set_curr(cpu, thread, rg_account(t, thread)->vruntime, rg_now());
}

/* The virtual time that an account has; 0: none yet. */
RG_INLINE struct rg_vtime *rg_vtime_of_account(struct rg_account *account)
{
	return account->vtime ? rg_vtime_at(rg_number(account->vtime)) : 0;
}

/* Takes part in how far the account's virtual time was moved. */
RG_INLINE void rg_account_shift(struct rg_account *account, struct rg_vtime *vtime)
{
	account->vruntime += vtime->shift - account->shift;
	account->shift = vtime->shift;
}

/* The virtual time that an account has, of which it has all the moves then; 0: none yet. */
RG_INLINE struct rg_vtime *rg_account_sync(struct rg_account *account)
{
	struct rg_vtime *vtime = rg_vtime_of_account(account);

	if (vtime)
		rg_account_shift(account, vtime);
	return vtime;
}

RG_INLINE void rg_surplus_note(struct task_struct *t, struct rg_thread *thread, u32 id, u64 ran_ns)
{
	struct rg_looking *looking = rg_looking_of(rg_thread_cpu(t));

	if (RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE && looking)
		rg_surplus_charge(thread->slot, id, looking->contended, ran_ns);
}

/*
 * No debt is left where none went without, and nothing is owed to a thread beyond what it may be
 * behind those that wait: while it had a CPU to itself it could use no more.
 */
RG_INLINE void rg_vruntime_limit(struct rg_thread *thread, struct rg_account *account,
				 struct rg_vtime *vtime, s32 at, u64 before)
{
	u64 least = rg_held_back(vtime->min_vruntime, thread->weight);
	u64 most = rg_vruntime_cap(vtime, at, before, account->vruntime);

	if (rg_before(most, account->vruntime))
		thread->owes_ns = 0;
	account->vruntime = RG_OPTION(infeasible) ? rg_latest(most, least) : most;
}

/* Charges what the thread has received since it was charged last. */
RG_INLINE void rg_charge(struct task_struct *t, struct rg_thread *thread)
{
	u64 exec = rg_exec_ns(t);
	u64 ran = rg_less(exec, thread->exec_seen);
	struct rg_account *account = rg_account(t, thread);
	struct rg_vtime *vtime = rg_account_sync(account);
	u64 before;

	thread->exec_seen = exec;
	before = account->vruntime;
	if (vtime && rg_may_owe(thread))
		rg_debt_charge(thread, vtime, ran);
	else
		account->vruntime += rg_virtual(ran, thread->weight);
	if (vtime)
		rg_clock_charge(t, thread, rg_number(account->vtime), ran);
	if (vtime)
		rg_vruntime_limit(thread, account, vtime, rg_thread_cpu(t), before);
	if (vtime && thread->group)
		rg_surplus_note(t, thread, rg_number(account->vtime), ran);
	if (thread->group && rg_has_quotas())
		rg_quota_charge(thread->slot, ran);
	if (RG_OPTION(promises) && thread->promise)
		rg_promise_charge(thread->slot, rg_thread_cpu(t), ran);
	rg_burst_fill(thread, ran);
	if (RG_OPTION(balance) == RG_BALANCE_CREDIT)
		rg_credits_burn(t, thread, ran);
	thread->pool = rg_pool(t, thread);
}

/* How far a thread may be ahead of those it competes with: some turns of it, and 300 ms. */
RG_INLINE u64 rg_vruntime_most(u64 min_vruntime, u64 weight)
{
	return min_vruntime + rg_virtual(2 * RG_OPTION(slice_ns) + RG_OPTION(sticky_ns), weight) +
	       RG_HELD_BACK_NS;
}

/* All vruntimes of a virtual time go on, or back. */
RG_INLINE void rg_vtime_move(struct rg_vtime *vtime, u64 by)
{
	rg_add(&vtime->shift, by);
	rg_add(&vtime->min_vruntime, by);
}

/*
 * A batch thread comes to a set of CPUs in which none competes. Where that is nothing has said: it
 * begins no earlier than what the thread comes from. Further behind it would go before all that it
 * has competed with until now.
 */
RG_INLINE void rg_set_begins(struct rg_vtime *to, struct rg_vtime *from, struct rg_thread *thread)
{
	if (to->has_batch || !thread->counted || !rg_holds_clock(thread))
		return;
	rg_vtime_move(to, rg_lead(from->min_vruntime, to->min_vruntime));
	to->has_batch = RG_CONTENDED_LOOKS;
}

/*
 * The bounds of a vruntime that comes from other competitors. One that wants a CPU meanwhile is no
 * further behind these than a slice: what it could not use where it was they do not owe it, and the
 * requests of a service would wait for it.
 */
RG_INLINE u64 rg_vruntime_entered(struct rg_vtime *to, struct rg_thread *thread, u64 vruntime)
{
	u64 behind = thread->counted ? RG_OPTION(slice_ns) : RG_HELD_BACK_NS;
	u64 most = rg_vruntime_most(to->min_vruntime, thread->weight);

	if (rg_before(most, vruntime))
		vruntime = most;
	return rg_latest(vruntime, to->min_vruntime - behind);
}

/* The account enters another virtual time: it keeps its distance to the min_vruntime. */
RG_INLINE void rg_account_enter(struct rg_account *account, struct rg_vtime *from,
				struct rg_vtime *to, struct rg_thread *thread, u32 id)
{
	bool bounded = RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE;

	if (bounded && id < RG_CPUSETS)
		rg_set_begins(to, from, thread);
	account->vruntime += to->min_vruntime - from->min_vruntime;
	if (bounded)
		account->vruntime = rg_vruntime_entered(to, thread, account->vruntime);
}

/*
 * The account is of the virtual time of this number from now on. A new one starts half a slice
 * behind the min_vruntime: at the min_vruntime itself, threads that come and go without end would
 * hold it where it is, and no thread that has run would be the least.
 */
RG_INLINE void rg_renormalise(struct rg_account *account, struct rg_thread *thread, u32 id)
{
	struct rg_vtime *to = rg_vtime_at(id);
	struct rg_vtime *from;

	if (!to)
		return;
	from = rg_account_sync(account);
	if (!from)
		account->vruntime = to->min_vruntime + (RG_OPTION(slice_ns) >> 1);
	else if (from != to)
		rg_account_enter(account, from, to, thread, id);
	account->shift = to->shift;
	account->vtime = rg_some(id);
}

/*
 * The thread belongs to the queue of a CPU with its vruntime. Says whether its set of CPUs is new
 * to it.
 */
RG_SUBPROGRAM bool rg_attach(struct task_struct *t RG_TRUSTED, s32 at)
{
	struct rg_thread *thread = rg_thread(t);
	struct rg_account *account;
	bool is_new;
	u32 id;

	if (!thread)
		return 0;
	account = rg_account(t, thread);
	id = rg_vtime_of(t, thread, at);
	is_new = id < RG_CPUSETS && account->vtime != rg_some(id);
	rg_renormalise(account, thread, id);
	rg_queue_move(thread, rg_some(rg_queue_of(at)));
	return is_new && RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE;
}

/* The same, and CPUs near it know of a set that is new to it. */
RG_INLINE void rg_attach_near(struct task_struct *t, s32 at)
{
	if (rg_attach(t, at))
		rg_admit_near(t, at);
}

/* The thread is the next that the CPU runs. */
RG_INLINE void rg_set_next(s32 cpu, struct task_struct *t, struct rg_thread *thread)
{
	if (thread->waits)
		rg_index_leave(thread);
	rg_attach_near(t, cpu);
	rg_weight_refresh(thread);
	rg_set_curr(cpu, t, thread);
	thread->cpu = cpu;
}

/*
 * The least vruntime that waits in a queue, if a thread has it that runs on: a waking one comes
 * before that. Would it come before one that has just woken, too, the next would come before it,
 * and so each with credit upon credit.
 */
RG_INLINE u64 rg_least_to_pass(struct rg_queue *queue)
{
	u64 least = queue->least;

	return least != RG_NEVER && rg_thread_at(queue->first)->runs_on ? least : RG_NEVER;
}

/*
 * The least vruntime that a waking pinned thread competes with: of what waits for its CPU or runs
 * there. Where no other pinned thread wants the CPU their virtual time goes to where that is: one
 * that had the CPU to itself got ahead there, by what nobody else wanted.
 */
RG_INLINE u64 rg_min_of_pinned(struct rg_vtime *vtime, struct rg_cpu *cpu, struct rg_queue *own)
{
	bool sleeps = own->least == RG_NEVER && cpu->vtime != RG_VTIME_OF_QUEUE(cpu->own);
	struct rg_vtime *running = cpu->pool ? rg_vtime_at(cpu->vtime) : 0;
	struct rg_queue *shared = rg_queue(rg_queue_of(own->cpu));
	u64 least = own->least;

	if (running) {
		least = rg_earliest(least, running->min_vruntime);
		least = rg_earliest(least, rg_vruntime_running(cpu, rg_now()));
	}
	if (least == RG_NEVER)
		return vtime->min_vruntime;
	if (sleeps && rg_before(least, vtime->min_vruntime))
		rg_vtime_move(vtime, least - vtime->min_vruntime);
	else if (rg_before(vtime->min_vruntime, least))
		vtime->min_vruntime = least;
	if (!shared || !rg_precedes(shared->least, least))
		return least;
	return rg_latest(shared->least, least - RG_HELD_BACK_NS);
}

/* Whether threads of a set of CPUs wait in a queue, or of one that is not all CPUs in any. */
RG_INLINE bool rg_set_waits(struct rg_queue *queue, u32 cpuset)
{
	struct rg_shared *shared = rg_shared();

	return (queue->waiting >> (cpuset & (RG_CPUSETS - 1)) & 1) ||
	       (shared && shared->cpusets[rg_masked(cpuset, RG_CPUSETS)].waiting);
}

/*
 * The min_vruntime of the threads that a waking one competes with at a CPU. Where none of its own
 * set waits its virtual time takes up where theirs is; that of bound threads moves to a set's
 * instead (converge.h). Threads of other sets may be behind: it comes before these, too, as far as
 * converge.h holds virtual times together. Further, its set would be raised for each such thread.
 */
RG_INLINE u64 rg_min_vruntime(struct rg_vtime *vtime, struct rg_cpu *cpu, struct rg_queue *queue,
			      u32 cpuset)
{
	bool waited = rg_set_waits(queue, cpuset);
	struct rg_vtime *running = cpu->pool ? rg_vtime_at(cpu->vtime) : 0;
	u64 sets = rg_least_to_pass(queue);
	struct rg_queue *own = rg_queue(cpu->own);
	u64 least = sets;

	if (RG_OPTION(min_vruntime) != RG_MIN_VRUNTIME_MACHINE)
		return vtime->min_vruntime;
	if (queue->is_own)
		return rg_min_of_pinned(vtime, cpu, queue);
	if (running)
		least = rg_earliest(least, running->min_vruntime);
	if (own)
		least = rg_earliest(least, rg_least_to_pass(own));
	if (least == RG_NEVER)
		return vtime->min_vruntime;
	if (running && cpu->vtime < RG_CPUSETS)
		sets = rg_earliest(sets, running->min_vruntime);
	if (!waited && sets != RG_NEVER && rg_before(vtime->min_vruntime, sets))
		vtime->min_vruntime = sets;
	if (!rg_before(least, vtime->min_vruntime))
		return vtime->min_vruntime;
	return rg_latest(least, vtime->min_vruntime - RG_HELD_BACK_NS);
}

/*
 * How far before the min_vruntime a waking thread is placed. A pinned one competes with what its
 * CPU runs: where both have less weight than nice 0 the credit is CPU time, since virtual time runs
 * the faster. If it runs for longer than a slice it has less by as much: many of one CPU that wake
 * at once would go before all others one after the other. So has each where no batch thread wants a
 * CPU: of two that wake at once the shorter burst comes first.
 */
RG_INLINE u64 rg_wakeup_credit(struct rg_thread *thread, struct rg_vtime *vtime,
			       struct rg_cpu *cpu, struct rg_queue *queue)
{
	bool pinned = queue->is_own || RG_OPTION(cpus) == 1;
	u64 most = RG_NORMAL_WEIGHT * RG_WEIGHT_ONE;
	u64 credit = RG_OPTION(wakeup_credit_ns);
	u64 weight = thread->weight;
	bool alike = rg_has_clock(vtime) && !queue->is_own;
	u64 burst_ns = thread->burst_usual_ns;

	if (thread->helper)
		return 0;
	if (!pinned)
		return alike ? rg_less(credit, rg_virtual(burst_ns, weight)) : credit;
	if (alike || burst_ns > RG_OPTION(slice_ns))
		credit = rg_less(credit, burst_ns);
	if (cpu->weight > weight)
		weight = cpu->weight;
	return rg_virtual(credit, cpu->pool && weight < most ? weight : most);
}

/* A quota takes the CPU from a thread that would go on. */
RG_INLINE void rg_cut_off(struct rg_thread *thread, struct rg_account *account)
{
	struct rg_vtime *vtime = rg_account_sync(account);

	if (!vtime)
		return;
	thread->cut_off = account->vtime;
	thread->cut_at = vtime->min_vruntime;
}

/*
 * Such a thread did not sleep: it keeps its distance to the min_vruntime. Else all of its group
 * would begin each period alike, whatever each has received.
 */
RG_INLINE bool rg_keeps_distance(struct rg_thread *thread, struct rg_account *account,
				 struct rg_vtime *vtime)
{
	if (!thread->cut_off || thread->cut_off != account->vtime)
		return 0;
	rg_account_shift(account, vtime);
	account->vruntime += vtime->min_vruntime - thread->cut_at;
	return 1;
}

/*
 * Places a waking thread: sleep earns no more than the wakeup credit, and debt has a bound. It
 * comes later by what its group has received in advance, and a helper without credit.
 */
RG_INLINE void rg_vruntime_place(struct rg_account *account, struct rg_thread *thread,
				 struct rg_cpu *cpu, struct rg_queue *queue)
{
	struct rg_vtime *vtime = rg_vtime_at(rg_number(account->vtime));
	u64 delay = 0;
	u64 min_vruntime, earliest, most;

	if (!vtime)
		return;
	account->vruntime += rg_virtual(thread->owes_ns, thread->weight);
	thread->owes_ns = 0;
	if (rg_keeps_distance(thread, account, vtime))
		return;
	if (RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE && thread->group)
		delay = rg_surplus_delay(thread->slot, rg_number(account->vtime));
	min_vruntime = rg_min_vruntime(vtime, cpu, queue, thread->cpuset);
	rg_account_shift(account, vtime);
	earliest = min_vruntime - rg_wakeup_credit(thread, vtime, cpu, queue) + delay;
	most = rg_vruntime_most(min_vruntime, thread->weight) + delay;
	account->vruntime = rg_latest(account->vruntime, earliest);
	if (RG_OPTION(min_vruntime) == RG_MIN_VRUNTIME_MACHINE &&
	    rg_before(most, account->vruntime))
		account->vruntime = most;
}

#endif
