/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says which callback runs where, and what it does to the kernel's queues and locks: lines of the
 * kernel that a policy's choices make CPUs share.
 */
#ifndef RG_WATCHED_H
#define RG_WATCHED_H

/* As `What` of counter.rs. */
enum rg_what { RG_WAKES, RG_SWITCHES, RG_TICKS, RG_RETURNS };
enum rg_kernel { RG_LOCKS, RG_UNLOCKS, RG_CHANGES, RG_ASKS, RG_COUNTS, RG_LOOKS_UP };

void (*rg_callback_call)(u32 what, s32 cpu);
void (*rg_kernel_call)(u32 what, u64 which, u32 slot);

#define RG_NOTED(what, which, slot, call)                                                          \
	({                                                                                         \
		(*rg_kernel_call)(what, which, slot);                                              \
		call;                                                                              \
	})

#undef rg_acquire
#define rg_acquire(lock)                                                                           \
	({                                                                                         \
		struct rg_lock *rg_held = (lock);                                                  \
		RG_NOTED(RG_LOCKS, (u64)rg_held, 0, (*rg_acquire_call)(rg_held));                  \
	})

#undef rg_release
#define rg_release(lock)                                                                           \
	({                                                                                         \
		struct rg_lock *rg_held = (lock);                                                  \
		RG_NOTED(RG_UNLOCKS, (u64)rg_held, 0, (*rg_release_call)(rg_held));                \
	})

#undef rg_insert_ordered
#define rg_insert_ordered(t, queue, slice_ns, key)                                                 \
	RG_NOTED(RG_CHANGES, queue, rg_slot(t), (*rg_insert_ordered_call)(t, queue, slice_ns, key))

#undef rg_move_thread
#define rg_move_thread(queue, slot)                                                                \
	RG_NOTED(RG_CHANGES, queue, slot, (*rg_move_thread_call)(queue, slot))

#undef rg_visit_move
#define rg_visit_move(cursor, t)                                                                   \
	RG_NOTED(RG_CHANGES, (cursor)->queue, rg_slot(t), (*rg_visit_move_call)(cursor, t))

#undef rg_visit_next
#define rg_visit_next(cursor)                                                                      \
	({                                                                                         \
		struct task_struct *rg_next = (*rg_visit_next_call)(cursor);                       \
		RG_NOTED(RG_ASKS, (cursor)->queue, rg_next ? rg_slot(rg_next) : 0, rg_next);       \
	})

#undef rg_queue_length
#define rg_queue_length(queue) RG_NOTED(RG_ASKS, queue, 0, (*rg_queue_length_call)(queue))

#undef rg_queue_peek
#define rg_queue_peek(queue) RG_NOTED(RG_ASKS, queue, 0, (*rg_queue_peek_call)(queue))

#endif
