/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seam between a policy and its platform: every question that a policy may ask and every act
 * that it may perform.
 *
 * A policy includes this file and its own, and nothing else: no kernel header, no BPF helper, no
 * condition on the target. The simulator implements the calls in Rust; a kernel adapter implements
 * them with kfuncs and maps. So that both can:
 *
 *  - Callbacks of different CPUs run at the same time in the kernel. An answer is true when it is
 *    given and may be old at the next line; "stale" below says what may have changed. A failed act
 *    is normal: try another, or do nothing.
 *  - At most 5 arguments a call, 512 bytes of stack a callback, loops by RG_FOR and RG_VISIT alone.
 *  - A policy has no variables of its own. State hangs on a thread, process, group, CPU, queue, or
 *    is shared.
 *  - All division goes through rg_div: BPF defines x / 0 as 0 where a native CPU traps.
 *
 * Times are nanoseconds. "Cost" is relative to a load from memory: none, low (a few loads), high
 * (locks or other CPUs' lines).
 */
#ifndef RG_PLATFORM_H
#define RG_PLATFORM_H

/* The same types as in vmlinux.h: C11 allows the repetition. */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef _Bool bool;

/* A thread. Never looked into; the name is the kernel's because BPF relocations search for it. */
struct task_struct;

/* State that the policy defines (state.h) and the platform keeps, zero at first. */
struct rg_thread;
struct rg_process;
struct rg_group;
struct rg_cpu;
struct rg_queue;
struct rg_pool;
struct rg_entry;
struct rg_shared;
struct rg_options;

/*
 * How the calls below and the callbacks of scheduler.h are linked. An adapter that inlines them
 * says otherwise first.
 */
#ifndef RG_CALL
#define RG_CALL extern
#endif
#ifndef RG_CALLBACK
#define RG_CALLBACK
#endif

/*
 * A policy's own functions: inlined, because BPF has no linker and charges every call for its
 * stack.
 */
#define RG_INLINE static inline __attribute__((always_inline, unused))

/*
 * A larger one that several callers share: a program of its own in BPF, verified alone, so its
 * arguments are numbers, or threads marked RG_TRUSTED.
 */
#ifndef RG_SUBPROGRAM
#define RG_SUBPROGRAM __attribute__((noinline, unused))
#endif

/* Marks a thread that such a program is given: one of the callback's own. */
#ifndef RG_TRUSTED
#define RG_TRUSTED
#endif

#define RG_NEVER (~0ULL)

/* ---- Time and chance ---- */

/*
 * The present moment on a clock that never runs backwards. CPUs may differ by a few hundred ns.
 * Cost: low.
 */
RG_CALL u64 rg_now(void);

/* A uniform random number. Cost: low. */
RG_CALL u32 rg_random(void);

/* ---- Threads ---- */

/*
 * CPU time that the thread received. Exact in tick, stopping and (for a runnable prev) dispatch;
 * elsewhere, for a thread that runs, as of the last tick. Charge the difference from what you saw
 * last: then a callback more or less is harmless.
 */
RG_CALL u64 rg_exec_ns(struct task_struct *thread);

/*
 * A number that no other living thread has (the kernel's pid) and one that the threads of a process
 * share (its tgid). Neither is ever 0, and one number never names a thread of one process and
 * another process. Cost: none.
 */
RG_CALL u32 rg_thread_id(struct task_struct *thread);
RG_CALL u32 rg_process_id(struct task_struct *thread);

/*
 * The thread's own weight as the kernel's default class has it, without its groups: 1,024 at nice
 * 0, 15 at nice 19, 88,761 at nice -20, 3 under SCHED_IDLE. Stale: nice may change. Cost: none.
 */
RG_CALL u32 rg_weight(struct task_struct *thread);

/*
 * The CPU that it runs on, waits for or ran on last; from `enqueue` on the one that select_cpu
 * chose. In stopping ask this instead of assuming the present CPU: the kernel calls it from
 * elsewhere when it moves threads. Cost: none.
 */
RG_CALL s32 rg_thread_cpu(struct task_struct *thread);

/*
 * Whether its affinity admits the CPU. Stale: affinity may change; an insertion that has become
 * illegal ends the policy, a move does not. Cost: low.
 */
RG_CALL bool rg_may_run_on(struct task_struct *thread, s32 cpu);

/*
 * A number that is equal for threads that may run on the same CPUs: 0 for those that may run on
 * all. Different sets have different numbers but by an accident of hashing (1 in 4 billion). Stale:
 * affinity may change; the thread is then taken out of its queue and enqueued anew. Cost: none.
 */
RG_CALL u32 rg_affinity(struct task_struct *thread);

/*
 * Whether it may run on rg_thread_cpu alone at present: by its affinity, or because its migration
 * is disabled for a while. Cost: none.
 */
RG_CALL bool rg_is_pinned(struct task_struct *thread);

/*
 * Whether it is a kernel thread that serves one CPU (its soft interrupts, its work queues). Never
 * let these wait. Cost: none.
 */
RG_CALL bool rg_is_percpu_kthread(struct task_struct *thread);

/*
 * In dispatch: whether prev could go on. It is then in no queue, and goes on when dispatch brings
 * nothing. Cost: none.
 */
RG_CALL bool rg_is_runnable(struct task_struct *prev);

/*
 * Since when the request is at the machine that the thread of that row (rg_slot) was woken for, or
 * has read last; 0: it has none, or the platform does not say. A kernel says so with order=arrival
 * alone, and hands a request's moment on from a thread to one that it wakes, once. Cost: low.
 */
RG_CALL u64 rg_request_at(u32 slot);

/* Whether it exits, or shall: a signal has come that ends it. Cost: none. */
RG_CALL bool rg_is_ending(struct task_struct *thread);

/* ---- State ---- */

/*
 * The policy's state of a thread (from init_thread to exit_thread), of its process, of a CPU, of a
 * queue, and of all. NULL where the platform has none: a policy must check, and then does nothing.
 * Fields that several CPUs write change by rg_add. Cost: a look-up in a map each, so ask
 * once a callback.
 */
RG_CALL struct rg_thread *rg_thread(struct task_struct *thread);
RG_CALL struct rg_process *rg_process(struct task_struct *thread);
RG_CALL struct rg_cpu *rg_cpu(s32 cpu);
RG_CALL struct rg_queue *rg_queue(u32 queue);
RG_CALL struct rg_shared *rg_shared(void);

/*
 * Tables, for state that is linked by numbers, which unlike pointers may be kept anywhere. Never
 * NULL: a number beyond the table names some entry of it, so a mistake costs order, not safety.
 *
 * rg_slot      the thread's own row, from init_thread to exit_thread: 1 to RG_THREADS - 1; then
 *              rg_thread(t) is rg_thread_at(rg_slot(t)). The row outlives the thread and may be
 *              given to another
 * rg_group_at  the row of a group, 1 to RG_GROUPS - 1, named by init_group; 0 is the root's
 * rg_pool_at, rg_entry_at  rows that the policy deals out itself
 *
 * Cost: none. Sizes are powers of two.
 */
#define RG_THREADS 65536
#define RG_GROUPS 4096
#define RG_POOLS 65536
#define RG_ENTRIES 1048576
RG_CALL u32 rg_slot(struct task_struct *thread);
RG_CALL struct rg_thread *rg_thread_at(u32 slot);
RG_CALL struct rg_group *rg_group_at(u32 group);
RG_CALL struct rg_pool *rg_pool_at(u32 row);
RG_CALL struct rg_entry *rg_entry_at(u32 row);

/*
 * The choices made when the policy was loaded. Constant: BPF prunes what they switch off. Cost:
 * none.
 */
RG_CALL const volatile struct rg_options *rg_options(void);

/* ---- CPUs ---- */

/* Domains of the machine, each level part of the next. */
enum rg_level {
	RG_LEVEL_CPU,
	RG_LEVEL_CORE, /* SMT siblings */
	RG_LEVEL_LLC,  /* CPUs that share a last-level cache */
	RG_LEVEL_NODE,
	RG_LEVEL_MACHINE,
	RG_LEVELS,
};

/* More CPUs than any machine has: the bound of loops over them. */
#define RG_MAX_CPUS 4096

/* The number of the domain that holds the CPU, counted from 0 on each level. Cost: low. */
RG_CALL u32 rg_domain(s32 cpu, u32 level);

/*
 * The i-th CPU of the domain that holds `cpu`, counted from `cpu` itself (i = 0) and wrapping
 * round; -1 past the last. Cost: low.
 */
RG_CALL s32 rg_cpu_in(s32 cpu, u32 level, u32 i);

/*
 * In select_cpu: the kernel's own choice for a waking thread: an idle CPU as near as possible to
 * `prev_cpu`, whole idle cores first. Sets *idle and claims the CPU where it is idle, else answers
 * prev_cpu. Cost: high on a big machine.
 */
RG_CALL s32 rg_default_cpu(struct task_struct *thread, s32 prev_cpu, bool *idle);

/*
 * In select_cpu, and in enqueue of a thread that wakes: the slot of the thread that wakes it; 0: an
 * interrupt does, a thread without a row, or the platform does not say. Cost: low.
 */
RG_CALL u32 rg_waker(void);

/*
 * Claims an idle CPU that admits the thread, the nearest first; -1 where none is idle. Stale:
 * the policy must kick a CPU that it claims. Cost: as above.
 */
RG_CALL s32 rg_pick_idle(struct task_struct *thread);

/*
 * Makes a CPU choose again soon: IDLE only if it idles; PREEMPT also ends the slice of a thread
 * that runs there under this policy. An order, not a wait: callbacks may run between. Cost: an
 * interrupt to another CPU.
 */
enum rg_kick { RG_KICK_IDLE, RG_KICK_PREEMPT };
RG_CALL void rg_kick(s32 cpu, u32 how);

/* ---- Queues ---- */

/*
 * A queue holds threads in the order of a key; every CPU also has a local queue, first in, first
 * out, from which alone it runs. An insertion from select_cpu or enqueue takes effect after the
 * callback has returned: no call finds the thread before. A thread may leave a queue without a
 * callback of the policy (exit, affinity, another class).
 */

/*
 * In init: creates a queue by a number that the policy chooses below RG_QUEUES; 0, or a negative
 * error number, which init returns.
 */
#define RG_QUEUES 8192
RG_CALL s32 rg_queue_create(u32 queue);

/*
 * In enqueue: the thread waits in `queue` by ascending key, equal keys first come first, and gets
 * slice_ns when it runs.
 */
RG_CALL void rg_insert_ordered(struct task_struct *thread, u32 queue, u64 slice_ns, u64 key);

/*
 * In select_cpu and enqueue: the thread waits in the local queue of its CPU (of the one that
 * select_cpu returns); after an insertion from select_cpu there is no enqueue. An idle CPU is
 * woken. HEAD: before all others; PREEMPT: in place of what runs there.
 */
enum rg_insert { RG_INSERT_HEAD = 1, RG_INSERT_PREEMPT = 2 };
RG_CALL void rg_insert_local(struct task_struct *thread, u64 slice_ns, u32 flags);

/* How many threads wait in a queue. Stale at once. Cost: low. */
RG_CALL u32 rg_queue_length(u32 queue);

/* The first thread of a queue, NULL if there is none. Stale: it may have left. Cost: low. */
RG_CALL struct task_struct *rg_queue_peek(u32 queue);

/*
 * In dispatch: moves the thread of that row (rg_slot) from the queue to this CPU's local queue,
 * unless it is not there (any more, or not yet), or may not run here. Cost: high (locks).
 */
enum rg_move { RG_GONE, RG_REFUSED, RG_MOVED };
RG_CALL u32 rg_move_thread(u32 queue, u32 slot);

/*
 * In dispatch: visits the threads that were in a queue when the visit began, in its order. Inside,
 * RG_MOVE(thread) moves the thread just visited to this CPU's local queue: 0 where it left
 * meanwhile or may not run here.
 *
 *     RG_VISIT(thread, queue) { if (wanted(thread) && RG_MOVE(thread)) break; }
 *
 * In rg_group_due a visit is legal, too, where RG_MOVE_TO(thread, queue, slice_ns, key) moves the
 * thread to another queue, as rg_insert_ordered would put it there: 0 where it left meanwhile, or
 * is not there yet.
 *
 * Cost: low a thread, under the queue's lock step by step.
 */
#ifndef RG_VISIT
struct rg_cursor {
	u64 queue;
	u64 position; /* The platform's own; 0 before the first thread. */
};
RG_CALL struct task_struct *rg_visit_next(struct rg_cursor *cursor);
RG_CALL bool rg_visit_move(struct rg_cursor *cursor, struct task_struct *thread);
RG_CALL bool rg_visit_move_to(struct rg_cursor *cursor, struct task_struct *thread, u32 queue,
			      u64 slice_ns, u64 key);
#define RG_VISIT(thread, id)                                                                       \
	for (struct rg_cursor rg_cursor = { .queue = (id) };                                       \
	     ((thread) = rg_visit_next(&rg_cursor));)
#define RG_MOVE(thread) rg_visit_move(&rg_cursor, thread)
#define RG_MOVE_TO(thread, queue, slice_ns, key)                                                   \
	rg_visit_move_to(&rg_cursor, thread, queue, slice_ns, key)
#endif

/*
 * In dispatch, yield and tick: what is left of the slice of prev or of the running thread; 0 ends
 * it at the next tick. Cost: none.
 */
RG_CALL void rg_set_slice(struct task_struct *thread, u64 slice_ns);

/* ---- Threads that are held ---- */

/*
 * Each group has a queue for threads that it holds, from init_group to exit_group. No more may be
 * done with it than rg_insert_ordered in enqueue, and a visit in rg_group_due.
 */
#define RG_HELD(group) (RG_QUEUES + (group))

/* In dispatch: prev, which could go on, does not. It is enqueued, whatever dispatch brings. */
RG_CALL void rg_vacate(struct task_struct *prev);

/*
 * rg_group_due or rg_turn_due is called after so long, in place of any other call, for the group or
 * the CPU. Whether a group's will be: a kernel may lack memory to start it. Cost: high.
 */
RG_CALL bool rg_group_timer(u32 group, u64 after_ns);
RG_CALL void rg_cpu_timer(s32 cpu, u64 after_ns);

/* ---- Arithmetic and loops ---- */

/*
 * Adds to a number that other CPUs may change, too, and answers the new value. Cost: high if they
 * do.
 */
#define rg_add(at, by) __sync_add_and_fetch(at, by)

/* Puts a 64-bit number there and answers the one that it replaces, at once. Cost: as above. */
#define rg_swap(at, value) __sync_lock_test_and_set(at, value)

/*
 * Puts a 64-bit number there if another is there now; answers what was there. Cost: as above.
 */
#define rg_compare_and_swap(at, now, value) __sync_val_compare_and_swap(at, now, value)

/* a / b, and 0 where b is 0, on every platform. */
RG_INLINE u64 rg_div(u64 a, u64 b)
{
	return b ? a / b : 0;
}

/* a - b, and 0 where that is negative. */
RG_INLINE u64 rg_less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/*
 * for (i = from; i < to; i++), in a form that the BPF verifier can bound, also under a lock. `i` is
 * declared here. The platform may end it early after some million steps.
 */
#ifndef RG_FOR
#define RG_FOR(i, from, to) for (u32 i = (from); i < (u32)(to); i++)
#endif

/* The same around another loop: a platform may have the verifier forget more between its steps. */
#ifndef RG_FOR_OUTER
#define RG_FOR_OUTER RG_FOR
#endif

/*
 * The same number, of which the BPF verifier then knows nothing. What a loop carries from step to
 * step begins so: else the verifier follows all that comes after it once for each value.
 */
#ifndef rg_opaque
#define rg_opaque(number) (number)
#endif

/* The number of a row of an array whose length is a power of two, within its bounds. */
#ifndef rg_masked
#define rg_masked(row, rows) ((row) & ((rows) - 1))
#endif

/* ---- Locks ---- */

/*
 * One lock a queue. Look it up first (NULL: no such queue), then hold it for at most one step at a
 * time of a few dozen lines; a holder must not return, take another, or make any other call than
 * the tables' (rg_thread_at, rg_pool_at, rg_entry_at), rg_options, atomics, rg_div, rg_less and
 * RG_FOR: state of other kinds is looked up before. Cost: high if others want it.
 */
struct rg_lock;
RG_CALL struct rg_lock *rg_lock_of(u32 queue);
RG_CALL void rg_acquire(struct rg_lock *lock);
RG_CALL void rg_release(struct rg_lock *lock);

/* ---- Callbacks ---- */

/*
 * What the platform calls, in the kernel's order for one thread:
 *
 *   rg_init          once, before all others; may sleep; not 0: the policy is not loaded
 *   rg_init_group    a group comes: parents before children, all before their threads. Also
 *   rg_weigh_group   its weight (1 to 10,000, default 100) has changed
 *   rg_idle_group    it has the least weight whatever rg_weigh_group says, or not any more
 *   rg_limit_group   its threads and those below may have a quota in each period and a burst more;
 *                    a quota of RG_NEVER: all that they want
 *   rg_promise_group its threads and those below shall be served within so long of a wake-up, for
 *                    no more than `share` millionths of a CPU; within_ns 0: as the others
 *   rg_exit_group    it is gone; it has no children, and no threads but such that end (before 6.19)
 *   rg_init_thread   a thread comes under the policy, in a group; not 0: its creation fails
 *   rg_move_thread_group  it is in another group now
 *   rg_select_cpu    it wakes, or is new: which CPU (not for pinned threads)
 *   rg_enqueue       it must be put into a queue: woken, new, at the end of a slice, preempted, or
 *                    back after its affinity, weight or group has changed while it waited: then
 *                    it was in a queue until just now (not if select_cpu put it)
 *   rg_dispatch      a CPU has nothing local: bring it something. Before stopping(prev) if prev is
 *                    runnable, which is in no queue then; after it if prev has blocked
 *   rg_group_due     a group's timer is due. Other callbacks for the threads that it visits may
 *                    run at the same time
 *   rg_turn_due      a CPU's timer is due
 *   rg_yield         it runs, and calls sched_yield; a dispatch of its CPU follows
 *   rg_tick          it runs, and the timer ticks; slices end here
 *   rg_stopping      it ceases to run, and still wants the CPU or not. It does if its affinity,
 *                    weight or group changes while it runs: it then goes on without a callback
 *   rg_idle          a CPU has found nothing and goes to sleep: others see it as idle from now on
 *   rg_exit_thread   it is gone, or in another class, from which it may return to select_cpu or
 *                    enqueue; it may have waited in a queue
 *
 * A thread that a higher class preempts returns to the head of its CPU's local queue without
 * enqueue. The kernel could also say when a thread begins to run, to want a CPU, and not to want
 * one any more; a policy sees as much in dispatch, select_cpu, enqueue, tick and stopping, and
 * every callback costs some hundred instructions a switch before it does anything.
 */

/* Flags of enqueue. */
enum rg_enqueue { RG_ENQUEUE_WAKEUP = 1 };

RG_CALLBACK s32 rg_init(void);
RG_CALLBACK void rg_init_group(u32 group, u32 parent, u32 weight);
RG_CALLBACK void rg_weigh_group(u32 group, u32 weight);
RG_CALLBACK void rg_idle_group(u32 group, bool idle);
RG_CALLBACK void rg_limit_group(u32 group, u64 quota_ns, u64 period_ns, u64 burst_ns);
RG_CALLBACK void rg_promise_group(u32 group, u64 within_ns, u64 share);
RG_CALLBACK void rg_group_due(u32 group);
RG_CALLBACK void rg_turn_due(s32 cpu);
RG_CALLBACK void rg_exit_group(u32 group);
RG_CALLBACK s32 rg_init_thread(struct task_struct *thread, u32 group);
RG_CALLBACK void rg_move_thread_group(struct task_struct *thread, u32 group);
RG_CALLBACK s32 rg_select_cpu(struct task_struct *thread, s32 prev_cpu);
RG_CALLBACK void rg_enqueue(struct task_struct *thread, u64 flags);
RG_CALLBACK void rg_dispatch(s32 cpu, struct task_struct *prev);
RG_CALLBACK void rg_yield(struct task_struct *thread);
RG_CALLBACK void rg_tick(struct task_struct *thread);
RG_CALLBACK void rg_stopping(struct task_struct *thread, bool runnable);
RG_CALLBACK void rg_idle(s32 cpu);
RG_CALLBACK void rg_exit_thread(struct task_struct *thread);

#endif
