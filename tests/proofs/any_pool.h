/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any pool whose list is in order of arrival, of up to LISTED threads in rows of any numbers, and
 * what is asked of it after one step: by that of any number of steps. Arrivals are 16 numbers: a
 * list only asks which of two is less, and to which end an arrival is nearer.
 */
#ifndef ANY_POOL_H
#define ANY_POOL_H

#define LISTED 4
#define PROOF_THREADS (LISTED + 2) /* row 0 is no thread's, and one more comes */

#include "proof.h"

#include "index/pools.h"

static struct rg_pool pool;
static u32 order[LISTED + 1]; /* the rows of its threads, first come first */

/* The list is what `order` says, in both directions, and by arrival. */
static bool is_listed(u32 count)
{
	bool fine = pool.waiting == count;

	fine &= pool.first == (count ? order[0] : 0);
	fine &= pool.last == (count ? order[count - 1] : 0);
	for (u32 i = 0; i < LISTED + 1; i++) {
		struct rg_thread *thread;

		if (i >= count)
			break;
		thread = rg_thread_at(order[i]);
		fine &= thread->prev == (i ? order[i - 1] : 0);
		fine &= thread->next == (i + 1 < count ? order[i + 1] : 0);
		fine &= !i || rg_thread_at(order[i - 1])->arrival <= thread->arrival;
	}
	return fine;
}

/* Any order of the threads of `count` rows and of one more, whose list is that of the first. */
static void any_pool(u32 count)
{
	for (u32 i = 0; i < LISTED + 1; i++) {
		order[i] = nondet_u32();
		ASSUME(order[i] > 0 && order[i] < PROOF_THREADS);
		for (u32 j = 0; j < i; j++)
			ASSUME(order[j] != order[i]);
	}
	for (u32 i = 1; i < PROOF_THREADS; i++) {
		threads[i]->arrival = nondet_u32() & 15;
		threads[i]->prev = nondet_u32();
		threads[i]->next = nondet_u32();
	}
	pool.first = nondet_u32();
	pool.last = nondet_u32();
	pool.waiting = nondet_u32();
	ASSUME(is_listed(count));
}

#endif
