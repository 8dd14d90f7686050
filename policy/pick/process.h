/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problem. Which process is next, if its threads are to be fair to those of others and first come,
 *          first served among themselves?
 * Rule.    The pool that holds the least vruntime of all runnable threads. Its first thread by
 *          arrival runs, on that vruntime (CTS section 3: "a process having a thread with the
 *          minimum vRuntime value is chosen as the next process"). A pool is the threads of a
 *          process that have one nice value, or a batch thread alone.
 * Why.     The sequence of vruntimes served is the one that a fair scheduler of threads would
 *          serve, so the shares are; only which thread runs on a vruntime differs. Threads that
 *          lend each other vruntimes must be worth the same; a nice value says that they are not.
 * Figure.  docs/reference/policies.md.
 * Limits.  With one account a process (fair=process) vruntimes in the queue are as old as their
 *          threads' arrival, and batch threads stay with their process: they only lose their
 *          arrival.
 */
#ifndef RG_PICK_PROCESS_H
#define RG_PICK_PROCESS_H

#include "../yield.h"

RG_INLINE bool rg_is_alone_process(struct rg_thread *thread)
{
	return thread->batch && RG_OPTION(fair) == RG_FAIR_THREAD && !rg_yields(thread);
}

#endif
