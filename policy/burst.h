/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. First come, first served needs a bound: a thread that spins keeps its place for ever,
 *          starves its siblings, and lives on the vruntimes that they bring when they wake. And
 *          threads of a service do not all serve requests: collectors, compilers and flushers run
 *          for long, and requests would queue behind them.
 * Rule.    A bucket a thread fills with its CPU time and drains with its sleep. At the burst limit
 *          (50 ms or 4 slices, the larger) the thread is batch: a pool of its own until the bucket
 *          is empty. A thread whose bursts take 8 times as long as those of its process and 2 ms is
 *          a helper: it is batch from its wake-up on, and begins behind its siblings.
 * Why.     A bucket that is emptied on every wake-up can be gamed by a short sleep; this one
 *          measures what the thread does. What a helper does is known from its last bursts, before
 *          a request waits for it. A thread that serves requests of all lengths has the mean of
 *          its process, however they vary.
 * Figure.  A spinner among 200 sleeping siblings beside a foreign hog: 0.50 with it, starving the
 *          hog without: docs/reference/policies.md. Helpers of 20 ms in a service of 200 us:
 *          docs/evidence/production-node.md.
 * Limits.  A request longer than the burst limit loses its place; so does a worker that serves more
 *          than half of the time without a pause. A helper's first bursts are taken for requests.
 */
#ifndef RG_BURST_H
#define RG_BURST_H

#include "balance/utilisation.h"
#include "pick/pool.h"

#define RG_HELPER_RATIO 8
#define RG_HELPER_NS 2000000
#define RG_BURSTS_SHIFT 2         /* four of a thread and */
#define RG_PROCESS_BURSTS_SHIFT 6 /* 64 of a process make its mean */

RG_INLINE void rg_burst_fill(struct rg_thread *thread, u64 ran_ns)
{
	u64 limit = RG_OPTION(burst_limit_ns);

	thread->ran_ns += ran_ns;
	thread->burst += ran_ns;
	if (thread->burst < limit)
		return;
	thread->burst = limit;
	thread->batch = 1;
}

/*
 * Whether virtual time follows the thread (clock.h): a batch one, but no helper of short bursts; or
 * one that has never slept.
 */
RG_INLINE bool rg_holds_clock(struct rg_thread *thread)
{
	if (!thread->burst_mean_ns)
		return thread->ran_ns > RG_OPTION(slice_ns);
	return thread->batch && thread->burst > RG_OPTION(burst_limit_ns) >> 1;
}

/*
 * Whether a thread runs for longer than a slice, wants a CPU for most of the time, or has never
 * slept. One that has waited for as long is settled (min_vruntime.h), but may be brief.
 */
RG_INLINE bool rg_runs_on(struct rg_thread *thread)
{
	return thread->utilised > RG_UTILISATION_ONE >> 1 || !thread->burst_mean_ns ||
	       thread->ran_ns > RG_OPTION(slice_ns);
}

/* A mean of the last 2^shift values or so, that begins with the first. */
RG_INLINE u64 rg_mean(u64 mean, u64 value, u32 shift)
{
	return mean ? mean - (mean >> shift) + (value >> shift) : value;
}

/* Whether a thread's bursts are much longer than those of its process. */
RG_INLINE bool rg_outlasts_process(struct rg_thread *thread, struct rg_process *process)
{
	return thread->burst_mean_ns > RG_HELPER_NS &&
	       thread->burst_mean_ns > RG_HELPER_RATIO * process->burst_mean_ns;
}

/* A thread falls asleep: one more burst of it and of its process; a helper's counts little. */
RG_INLINE void rg_burst_end(struct task_struct *t, struct rg_thread *thread)
{
	struct rg_process *process = rg_process(t);
	u64 most;

	thread->burst_mean_ns = rg_mean(thread->burst_mean_ns, thread->ran_ns, RG_BURSTS_SHIFT);
	if (process) {
		most = RG_HELPER_RATIO * process->burst_mean_ns + RG_HELPER_NS;
		if (!process->burst_mean_ns || thread->ran_ns < most)
			most = thread->ran_ns;
		process->burst_mean_ns =
			rg_mean(process->burst_mean_ns, most,
				RG_PROCESS_BURSTS_SHIFT);
	}
	thread->ran_ns = 0;
	thread->yields_ns = 0;
	if (thread->hands) /* else its line stays where it was read */
		thread->hands = 0;
}

/* Where there are quotas: a thread wants a CPU, since now or since its group has held it. */
RG_INLINE void rg_burst_begin(struct rg_thread *thread, u64 now)
{
	if (!thread->ran_ns)
		thread->wants_at = thread->held_at ? thread->held_at : now;
}

RG_INLINE void rg_burst_drain(struct task_struct *t, struct rg_thread *thread, u64 slept_ns)
{
	struct rg_process *process = rg_process(t);
	bool outlasts = process && rg_outlasts_process(thread, process);

	thread->burst = rg_less(thread->burst, slept_ns);
	thread->burst_usual_ns =
		process && !outlasts ? process->burst_mean_ns : thread->burst_mean_ns;
	thread->helper = RG_OPTION(burst_limit_ns) != RG_NEVER && outlasts;
	if (thread->helper)
		thread->batch = 1;
	else if (!thread->burst)
		thread->batch = 0;
}

#endif
