/* SPDX-License-Identifier: GPL-2.0-or-later */
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

#include "../burst.h"
#include "extents.h"
#include "pools.h"

#define RG_DROPS 16

/* A vruntime as heaps hold it: without what its virtual time was raised by. */
RG_INLINE u64 rg_unshifted(struct rg_account *account)
{
	return account->vruntime - account->shift;
}

/*
 * Lists a thread that waits, with a vruntime if its pool has none left, under the pool's key. Where
 * there is no room the queue alone knows of it. Under the lock.
 */
RG_INLINE void rg_index_add(struct rg_shared *shared, struct rg_queue *queue,
			    struct rg_thread *thread, struct rg_listing *pick)
{
	struct rg_heap *heap = rg_heap_of(queue, pick->cpuset);
	bool full = heap->count >= heap->capacity;
	rg_maybe row = full ? 0 : rg_pool_find(pick->key, thread->last_row, 1);
	struct rg_pool *pool;

	if (!row && !full)
		row = rg_pool_claim(pick->key);
	if (!row) {
		thread->unlisted = 1;
		queue->unlisted++;
		queue->came++;
		return;
	}
	pool = rg_pool_at(rg_number(row));
	pool->pool = thread->pool;
	pool->cpuset = pick->cpuset;
	if (pool->vruntimes <= pool->waiting ||
	    (rg_pool_is_alone(pool->pool) && rg_before(pick->vruntime, pool->vruntime))) {
		pool->vruntimes++;
		pool->vruntime = pick->vruntime;
		rg_heap_push(heap, pick->vruntime, rg_number(row));
	}
	rg_pool_link(pool, pick->slot, thread);
	thread->row = row;
	thread->last_row = row;
	rg_queue_publish(shared, queue, pick->cpuset);
}

/*
 * Drops vruntimes at the root whose threads have left. A thread alone that came back later finds
 * its old vruntime there: its own takes the place. The caller publishes.
 */
RG_INLINE void rg_index_tidy(struct rg_heap *heap)
{
	RG_FOR(i, 0, RG_DROPS) {
		struct rg_entry *root = rg_heap_at(heap, 0);
		struct rg_pool *pool;
		u64 own;

		if (!heap->count)
			break;
		pool = rg_pool_at(root->row);
		if (pool->waiting && !rg_pool_is_alone(pool->pool))
			break;
		own = rg_unshifted(&rg_thread_at(pool->first)->account);
		if (pool->waiting && !rg_before(root->vruntime, own))
			break;
		if (pool->waiting) {
			pool->vruntime = own;
			rg_heap_exchange(heap, 0, own);
			continue;
		}
		pool->vruntimes--;
		rg_pool_leave_if_empty(pool);
		rg_heap_remove(heap, 0);
	}
}

/* One thread more or less of a set of CPUs waits; all CPUs and single ones are not counted. */
RG_INLINE void rg_cpuset_count(struct rg_shared *shared, struct rg_queue *queue, u32 cpuset,
			       u64 change)
{
	if (cpuset && !queue->is_own)
		rg_add(&shared->cpusets[rg_masked(cpuset, RG_CPUSETS)].waiting, change);
}

/* The thread no longer waits in a queue: it is none of its batch threads. */
RG_INLINE void rg_batch_leave(struct rg_queue *queue, struct rg_thread *thread)
{
	if (thread->clocks)
		rg_add(&queue->batch, -1);
	thread->clocks = 0;
}

/* The thread of a row no longer waits where it waited. */
RG_SUBPROGRAM bool rg_index_leave_row(u32 slot)
{
	struct rg_thread *thread = rg_thread_at(slot);
	u32 id = rg_number(thread->waits);
	struct rg_queue *queue = rg_queue(id);
	struct rg_shared *shared = rg_shared();
	struct rg_lock *lock = rg_lock_of(id);

	if (!queue || !shared || !lock)
		return 0;
	rg_acquire(lock);
	if (thread->row) {
		struct rg_pool *pool = rg_pool_at(rg_number(thread->row));

		rg_pool_unlink(pool, thread);
		rg_index_tidy(rg_heap_of(queue, pool->cpuset));
		rg_queue_publish(shared, queue, pool->cpuset);
	}
	if (thread->unlisted)
		queue->unlisted--;
	thread->unlisted = 0;
	thread->waits = 0;
	rg_release(lock);
	rg_batch_leave(queue, thread);
	rg_cpuset_count(shared, queue, thread->waits_cpuset, -1ULL);
	if (rg_extent_is_idle(rg_heap_of(queue, thread->waits_cpuset)))
		rg_extent_fit(id, thread->waits_cpuset);
	return 1;
}

RG_INLINE void rg_index_leave(struct rg_thread *thread)
{
	rg_index_leave_row(thread->slot);
}

/* The thread of a row will wait in this queue; the vruntime is without its virtual time's shift. */
RG_SUBPROGRAM bool rg_index_enter_row(u32 slot, u32 id, u64 vruntime)
{
	struct rg_listing pick = { .vruntime = vruntime, .slot = slot };
	struct rg_thread *thread = rg_thread_at(slot);
	struct rg_queue *queue = rg_queue(id);
	struct rg_shared *shared = rg_shared();
	struct rg_lock *lock = rg_lock_of(id);

	if (!queue || !shared || !lock)
		return 0;
	pick.cpuset = queue->is_own ? 0 : thread->cpuset;
	pick.key = rg_pool_key(thread->pool, id, pick.cpuset);
	rg_cpuset_count(shared, queue, pick.cpuset, 1);
	thread->waits_cpuset = pick.cpuset;
	if (rg_extent_is_due(rg_heap_of(queue, pick.cpuset), pick.cpuset))
		rg_extent_fit(id, pick.cpuset);
	thread->runs_on = rg_runs_on(thread);
	thread->clocks = rg_holds_clock(thread);
	if (thread->clocks)
		rg_add(&queue->batch, 1);
	rg_acquire(lock);
	thread->waits = rg_some(id);
	rg_index_add(shared, queue, thread, &pick);
	rg_release(lock);
	return 1;
}

/* In enqueue: the thread will wait in this queue, and has this account. */
RG_INLINE void rg_index_enter(struct rg_thread *thread, u32 id, struct rg_account *account)
{
	rg_index_enter_row(thread->slot, id, rg_unshifted(account));
}

/*
 * The kernel did not have the thread: it is listed again, unless it left or came anew meanwhile.
 */
RG_INLINE void rg_index_put_back(struct rg_shared *shared, struct rg_lock *lock,
				 struct rg_queue *queue, u32 id, struct rg_listing *pick)
{
	struct rg_thread *thread = rg_thread_at(pick->slot);

	rg_acquire(lock);
	if (thread->waits == rg_some(id) && !thread->row && !thread->unlisted)
		rg_index_add(shared, queue, thread, pick);
	rg_release(lock);
}

#endif
