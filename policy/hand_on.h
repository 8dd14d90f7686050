/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Processes that send each other messages switch twice for each one, if every reader
 *          that is woken preempts a writer: messages are read one by one.
 * Rule.    A thread that has run for 1 ms since it woke and wakes another hands on its work. What
 *          it wakes does not preempt a thread that hands on work itself.
 * Why.     Both are at the same work. The reader comes when the writer blocks or its slice ends,
 *          and finds more to read. A request is woken by an interrupt, or by a thread that has
 *          just woken: it preempts as ever. Spinning threads, which wake no others, are preempted
 *          as ever.
 * Figure.  hackbench of 80 processes on one CPU took 2.75 times as long as under EEVDF, and takes
 *          1.24 times: docs/evidence/kernel.md.
 * Limits.  What a busy dispatcher hands to threads of other processes waits for the end of a slice
 *          of other such dispatchers. With x86 and arm64 alone.
 */
#ifndef RG_HAND_ON_H
#define RG_HAND_ON_H

#include "state.h"

#define RG_HAND_ON_NS 1000000

/* Whether a thread that runs has done so for long since it woke. */
RG_INLINE bool rg_computes(struct rg_thread *thread, u64 now)
{
	struct rg_cpu *cpu = rg_cpu(thread->cpu);

	return cpu && cpu->thread == thread->slot &&
	       thread->ran_ns + rg_less(now, cpu->since) > RG_HAND_ON_NS;
}

/* A thread wakes that finds no idle CPU: whether it is handed on. */
RG_INLINE void rg_hand_on(struct rg_thread *thread, u64 now)
{
	u32 by = rg_waker();
	struct rg_thread *waker = rg_thread_at(by);

	if (!by || !rg_computes(waker, now))
		return;
	thread->hands = RG_IS_HANDED;
	if (!(waker->hands & RG_HANDS_ON))
		waker->hands |= RG_HANDS_ON;
}

/* Whether a waking thread leaves what runs alone: both are handed on. */
RG_INLINE bool rg_is_same_work(struct rg_thread *thread, struct rg_thread *running)
{
	return thread->hands & RG_IS_HANDED && running->hands & RG_HANDS_ON;
}

#endif
