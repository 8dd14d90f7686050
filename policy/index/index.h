/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Problem. To pick by process, a queue that stands by arrival must be searched for the least
 *          vruntime and for the first thread of its pool: the cost would grow with the waiting
 *          threads.
 * Rule.    The queue owns the threads. Beside it stands an index: a heap of vruntimes (heap.h) and
 *          a list of threads a pool (pools.h). Enqueue pushes a vruntime and the thread. Pick pops
 *          the least vruntime and takes the first thread of its pool. Vruntimes do not stay with
 *          their threads: the pool's first-come thread runs on the pool's least vruntime (CTS
 *          section 3).
 * Why.     Each step is logarithmic or constant. The index is a hint that may be wrong for a moment
 *          without harm: it only names which thread to move. The kernel moves it, or the move
 *          fails.
 * Figure.  docs/reference/policies.md.
 * Limits.  A thread that leaves its queue otherwise (affinity, class, death) leaves its vruntime
 *          behind: the next of its pool adopts it, or it is dropped when it is the least.
 *
 * Insertions take effect after enqueue, so another CPU may find a thread in the index that is not
 * yet in the queue. It pops the thread, fails to move it, puts it back, and sees to it that a CPU
 * asks again (pick/pick.h). An empty index never means that no thread waits.
 */
#ifndef RG_INDEX_H
#define RG_INDEX_H

#include "heap.h"
#include "pools.h"

#define RG_DROPS 16

/*
 * Lists a thread that waits, with a vruntime if its pool has none left, under the pool's key. Where
 * there is no room the queue alone knows of it. Under the lock.
 */
RG_INLINE void rg_index_add(struct rg_queue *queue, struct rg_thread *thread,
			    struct rg_listing *pick)
{
	bool full = queue->count >= queue->capacity;
	rg_maybe row = full ? 0 : rg_pool_find(pick->key, thread->last_row, 1);
	struct rg_pool *pool;

	if (!row && !full)
		row = rg_pool_claim(pick->key);
	if (!row) {
		thread->unlisted = 1;
		queue->unlisted++;
		return;
	}
	pool = rg_pool_at(rg_number(row));
	pool->pool = thread->pool;
	pool->affinity = pick->affinity;
	if (pool->vruntimes <= pool->waiting ||
	    ((pool->pool & 1) && pool->vruntime > pick->vruntime)) {
		pool->vruntimes++;
		pool->vruntime = pick->vruntime;
		rg_heap_push(queue, pick->vruntime, rg_number(row));
	}
	rg_pool_link(pool, pick->slot, thread);
	thread->row = row;
	thread->last_row = row;
}

/*
 * Drops vruntimes at the root whose threads have left. A thread alone that came back later finds
 * its old vruntime there: its own takes the place.
 */
RG_INLINE void rg_index_tidy(struct rg_queue *queue)
{
	RG_FOR(i, 0, RG_DROPS) {
		struct rg_entry *root = rg_heap_at(queue, 0);
		struct rg_pool *pool;
		u64 own;

		if (!queue->count)
			break;
		pool = rg_pool_at(root->row);
		if (pool->waiting && !(pool->pool & 1))
			break;
		own = rg_thread_at(pool->first)->account.vruntime;
		if (pool->waiting && root->vruntime >= own)
			break;
		if (pool->waiting) {
			pool->vruntime = own;
			rg_heap_exchange(queue, 0, own);
			continue;
		}
		pool->vruntimes--;
		rg_pool_leave_if_empty(pool);
		rg_heap_remove(queue, 0);
	}
}

/* The thread no longer waits where it waited. */
RG_INLINE void rg_index_leave(struct rg_thread *thread)
{
	u32 id = rg_number(thread->waits);
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);

	if (!queue || !lock)
		return;
	rg_acquire(lock);
	if (thread->row)
		rg_pool_unlink(rg_pool_at(rg_number(thread->row)), thread);
	rg_index_tidy(queue);
	if (thread->unlisted)
		queue->unlisted--;
	thread->unlisted = 0;
	thread->waits = 0;
	rg_release(lock);
}

/* In enqueue: the thread will wait in this queue, and has this vruntime. */
RG_INLINE void rg_index_enter(struct task_struct *t, struct rg_thread *thread, u32 id, u64 vruntime)
{
	struct rg_listing pick = {
		.vruntime = vruntime,
		.slot = thread->slot,
		.affinity = rg_affinity(t),
	};
	struct rg_queue *queue = rg_queue(id);
	struct rg_lock *lock = rg_lock_of(id);

	if (!queue || !lock)
		return;
	pick.key = rg_pool_key(thread->pool, id, pick.affinity);
	rg_acquire(lock);
	thread->waits = rg_some(id);
	rg_index_add(queue, thread, &pick);
	rg_release(lock);
}

/*
 * The kernel did not have the thread: it is listed again, unless it left or came anew meanwhile.
 */
RG_INLINE void rg_index_put_back(struct rg_lock *lock, struct rg_queue *queue, u32 id,
				 struct rg_listing *pick)
{
	struct rg_thread *thread = rg_thread_at(pick->slot);

	rg_acquire(lock);
	if (thread->waits == rg_some(id) && !thread->row && !thread->unlisted)
		rg_index_add(queue, thread, pick);
	rg_release(lock);
}

#endif
