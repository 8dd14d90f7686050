/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the policies remember, and where it hangs; the choices that they were loaded with. */
#ifndef RG_STATE_H
#define RG_STATE_H

#include "platform.h"

/* A number or none. State is zero at first, so 0 is none and n + 1 stands for n. */
typedef u32 rg_maybe;

RG_INLINE rg_maybe rg_some(u32 number)
{
	return number + 1;
}

/* The number; meaningful where there is one. */
RG_INLINE u32 rg_number(rg_maybe maybe)
{
	return maybe - 1;
}

/*
 * Here begins a line of the cache, and what stands before it lies on others: what CPUs read is kept
 * apart from what other CPUs write, and what is wanted together lies together. benches/coherence
 * counts the lines that go from CPU to CPU.
 */
#define RG_LINE __attribute__((aligned(64)))

/*
 * Virtual time wraps: after 584 years at nice 0, but after days where all threads of many CPUs have
 * little weight. So two vruntimes are compared by their distance. As in CFS, it begins 1 ms before
 * it wraps: what forgets that fails in each test.
 */
#define RG_VTIME_BEGIN (-1000000ULL)

/* Whether a vruntime is before another. */
RG_INLINE bool rg_before(u64 a, u64 b)
{
	return (long long)(a - b) < 0;
}

/* The same where each may be RG_NEVER: none, after all others. */
RG_INLINE bool rg_precedes(u64 a, u64 b)
{
	return a != RG_NEVER && (b == RG_NEVER || rg_before(a, b));
}

/* The first of two that may each be RG_NEVER. */
RG_INLINE u64 rg_earliest(u64 a, u64 b)
{
	return rg_precedes(b, a) ? b : a;
}

/* The last of two vruntimes. */
RG_INLINE u64 rg_latest(u64 a, u64 b)
{
	return rg_before(a, b) ? b : a;
}

/* By how much a vruntime is ahead of another; 0: it is not. */
RG_INLINE u64 rg_lead(u64 a, u64 b)
{
	return rg_before(b, a) ? a - b : 0;
}

/*
 * The sum of the weights of the active (runnable or running) members of a group or process, and
 * what the group itself adds to its parent's sum meanwhile. Both change on wake-up, sleep, fork,
 * exit only (GVTS section 3.4).
 */
struct rg_share {
	u64 active;
	u64 counted;
};

/*
 * A vruntime: virtual time in ns of CPU time at nice 0, as of a shift of the virtual time in which
 * it counts (struct rg_vtime), whose number it has.
 */
struct rg_account {
	u64 vruntime;
	u64 shift;
	rg_maybe vtime;
	u32 unused;
};

/* Which thread goes before which, whatever their vruntimes: urgent.h. */
enum rg_lent {
	RG_LENT_NOTHING, /* fair order */
	RG_LENT_BUSY,    /* urgent, but it has computed for long */
	RG_LENT_SERVES,  /* urgent */
};

/* A thread's part in work that one hands on to another: hand_on.h. */
enum rg_hands {
	RG_HANDS_ON = 1, /* it has computed for long since it woke, and woken others */
	RG_IS_HANDED = 2, /* such a thread has woken it */
};

struct rg_thread {
	/* What choices among waiting threads and balance look at. */
	struct rg_account account RG_LINE;
	u64 owes_ns;   /* CPU time that the vruntime has not been charged for yet: debt.h */
	u64 weight;    /* effective, in 1/65536 of a weight of 1; cached for dispatch */
	u64 woke_at;   /* when it last became runnable */
	u64 ran_ns;    /* since it woke */
	u64 yields_ns; /* up to this of ran_ns it is in the pool of its process: yield.h */
	u64 arrival;   /* the key in its queue: lower runs first among those of its pool */
	u64 queued_at; /* when it last entered a queue, or was held */
	/* Under the lock of the queue where it waits, see index/: */
	rg_maybe waits;    /* that queue */
	rg_maybe row;      /* of its pool, while it is in the index */
	rg_maybe last_row; /* where it was last */
	u32 next;  /* its neighbours there, by slot; 0: none */
	u32 prev;
	u32 unlisted : 1; /* it waits, and there was no room in the index */
	u32 clocks : 1;   /* it is one of its queue's `batch` */
	u32 runs_on : 1;  /* it did when it began to wait: burst.h */
	u32 hands : 2;    /* its part in work that is handed on, while it does not wait: rg_hands */
	u32 waits_cpuset; /* the heap where it waits */
	u32 batch;     /* the bucket has been full and is not yet empty */
	u32 cpu;       /* the one that it ran on last */
	u32 utilised;  /* its utilisation when it last woke or blocked, in 1/1024 */
	u32 cpuset;    /* the CPUs that it may run on: see index/cpusets.h */
	u32 slot;      /* its own row */
	/* Its own, where it runs and where it wakes. */
	u64 exec_seen; /* rg_exec_ns when the vruntime was last charged; RG_NEVER: it was away */
	u64 burst;     /* the level of its bucket in ns */
	u64 burst_mean_ns; /* what it runs from a wake-up to the next sleep */
	u64 burst_usual_ns; /* the mean of its process, if its own is not much longer */
	u64 slept_at;  /* when it last blocked */
	u64 asleep;    /* the least target when it last blocked */
	u64 pool;      /* see rg_pool; as of when it last entered a queue or ran */
	u64 held;      /* by which group: quota.h; 0: by none */
	u64 held_at;   /* since when, unless it has run since; 0: it has */
	u64 cut_at;    /* the min_vruntime when it was cut off */
	u32 counted;   /* what it adds to the sum of its process or group; 0: not active */
	rg_maybe queue; /* the one that it runs from or waits in */
	u32 fresh;     /* it has never been runnable */
	u32 group;     /* where it belongs; 0: the root */
	u32 helper;    /* its bursts are much longer than those of its process: burst.h */
	u32 process;   /* rg_process_id */
	rg_maybe victim; /* the CPU that it preempts when it is enqueued: preempt.h */
	u32 spends;    /* how it counts among the active threads of its groups: RG_SPENDS */
	u32 held_brief; /* it was brief when it was held */
	rg_maybe cut_off; /* the virtual time of one that was held when its turn was over */
	u32 top;       /* the greatest weight lately of its group below the root */
	u32 instalments; /* how often it has paid since it ran */
	u32 boosted;   /* it woke with credit, and no tick of the account has met it since */
	u32 earns;     /* one has met it since it last held all the credit that it may */
	u32 promise;   /* the group whose promise it has: promise.h; 0: none */
	u32 lent;      /* an rg_lent: whether it goes before fair order */
	u64 credit;    /* in ns above RG_CREDIT_ZERO (balance/credits.h) */
	u64 earned;    /* what a unit of weight had earned when its credit was last settled */
	u64 credited;  /* of a child of the root: what it counts among those that share credits */
	/* Where there are quotas: */
	u64 wants_at;  /* since when it wants a CPU, whatever has held it since */
	u32 owed;      /* a batch thread that has its turn since they had too little */
	u32 unused;
};

struct rg_process {
	struct rg_share share RG_LINE;
	struct rg_account account; /* what fair=process charges instead of the threads' */
	u64 burst_mean_ns; /* of its threads, as in rg_thread */
};

#define RG_CLASSES 16 /* of bursts, each twice as long: up to 64 us, 128 us, ... and the rest */

/* What a group has left of its quota. */
struct rg_budget {
	u64 quota_ns; /* in each period */
	u64 period_ns;
	u64 burst_ns; /* what of earlier quotas may be kept */
	u64 most_ns;  /* what is left of quota and burst at most */
	u64 left_ns;  /* wraps below 0: overdrawn */
	u64 filled_at; /* the beginning of the period for which it was filled last */
	u64 due_at;    /* when the group's timer comes; RG_NEVER: not at all */
	u64 came_at;   /* when it came last */
	u64 turn_ns;   /* what a thread may use before it is asked */
	u64 swept_at;  /* when the timer last looked at all threads that are held */
	u64 periods;   /* that have ended, for statistics */
	u64 throttled; /* of these, with threads held at the end */
	u32 limited;
	u32 active;    /* how many threads below are active */
	u32 held;      /* how many it holds */
	u32 brief;     /* how many of the active ones are brief: expect.h */
	u32 held_brief; /* how many of those that it holds are */
	u32 classes;   /* of bursts: threads of so many, the shortest ones, are brief */
	u64 brief_ns;  /* what brief threads have used in this period */
	u64 expected_ns; /* what they use in a period, at most */
	u64 owed_ns;   /* what batch threads had less than their part */
	u64 used_ns[RG_CLASSES];  /* by threads whose bursts are so long, in this period */
	u64 wants_ns[RG_CLASSES]; /* what those use in a period: a mean */
	u32 waits;     /* periods until more classes may come first */
	u32 backoff;   /* how many that are the next time */
	u32 mean_shift; /* what is wanted is a mean of 2^this periods */
	u32 unused;
};

/* What a group was promised, and what is left of the CPU time for it. */
struct rg_promise {
	u64 within_ns; /* from a wake-up to its end; 0: there is no promise */
	u64 share;     /* what the group may have at most, in millionths of a CPU */
	u64 most_ns;   /* what may be left at most */
	u64 left_ns;   /* wraps below 0: overdrawn */
	u64 filled_at; /* until when it was filled last */
	u64 used_ns;   /* what was taken off since it was made */
	u64 wakes;     /* how often a thread was served: from a wake-up to its end */
	u64 late;      /* of these, for longer than promised */
};

struct rg_group {
	u32 parent RG_LINE; /* 0: the root */
	u32 weight;   /* cpu.weight */
	u32 idle;     /* it has the least weight, whatever cpu.weight says */
	u32 threads;  /* how many those of `members` are */
	u64 members;  /* of a child of the root: the active weights of all threads below */
	u64 credited; /* what it counts among those that share credits */
	/* What changes at every charge and wake-up. */
	struct rg_share share RG_LINE;
	u64 surplus_ns; /* what it has received beyond its due: surplus.h */
	u64 seen;       /* when that was settled last, and in which virtual time */
	u64 aside_ns;   /* received in others since a thread of that one was charged */
	u64 flat;       /* its effective weight then */
	u64 tolerance_ns; /* how much surplus costs nothing */
	struct rg_budget budget RG_LINE;
	struct rg_promise promise RG_LINE;
};

/*
 * Threads that wait in one queue and are interchangeable to the pick, with as many vruntimes in the
 * queue's heap as there are threads, or more: see index/pools.h. Under the queue's lock.
 */
struct rg_pool {
	u64 key RG_LINE; /* see rg_pool_key; 0: never claimed */
	u64 pool;     /* see rg_pool */
	u64 vruntime; /* of a thread alone: what its entry in the heap says */
	u32 cpuset;   /* of all its threads: the heap that it is in */
	u32 first;    /* thread by place, by slot; 0: no thread waits */
	u32 last;
	u32 waiting; /* threads */
	u32 vruntimes;  /* entries in the heap */
	u32 unused;
};

/* A vruntime in a heap of a queue: see index/heap.h. Under the queue's lock. */
struct rg_entry {
	u64 vruntime; /* without the shift of its virtual time */
	u32 row;   /* of the pool that it belongs to */
	u32 stamp; /* among equal vruntimes the one that came first is first */
};

/* A virtual time in which threads compete, and what the present look has seen of them. */
struct rg_vtime {
	u64 min_vruntime RG_LINE; /* min_vruntime.h; of a set it falls only with all vruntimes */
	u64 shift;        /* how far all its vruntimes were moved so far: see converge.h */
	u64 turn;         /* the longest turn of those that ran lately */
	u64 met_at;       /* when a tick has last met it beside another: see converge.h */
	u64 raised;       /* how far it was, and what falls behind with it: see converge.h */
	u64 ahead;        /* of the least that waits, of the min_vruntime, in the last look */
	u64 raised_at;    /* when a tick has last met it beside such a set */
	u32 has_batch;    /* for how many looks more a batch thread holds the clock: see clock.h */
	/* Of this look, too: see rg_vtime_is_held_back. */
	u64 least RG_LINE; /* of those seen in this look */
	u64 settled;      /* of those among them that want a CPU for most of the time */
	u64 floor;        /* how far the others let it fall behind */
	u64 weight;       /* of all that run and are not too heavy */
	u64 seen_weight;  /* the same of the last look */
	u64 last;         /* the least vruntime of all that run */
	u32 running;      /* how many have that weight */
	u32 seen_running; /* the same of the last look */
	u32 seen_batch;   /* whether one of those seen is a batch thread */
	u64 last_weight RG_LINE; /* of the one with the least vruntime */
	u64 waits;        /* the least vruntime of all that wait */
	u64 mean_weight;  /* of what ran in the last looks: see clock.h */
	u64 used_at;      /* when one of its threads was last seen */
};

/* How far the present look at some CPUs has come. */
struct rg_looking {
	u64 busy RG_LINE; /* somebody is looking */
	u32 seen;      /* how many CPUs */
	u32 idle;      /* whether one of them ran nothing */
	u32 waited;    /* whether somebody waited in this look */
	u32 contended RG_LINE; /* for how many looks more somebody counts as waiting */
	s32 cpu;       /* the first one of these CPUs */
};

/* How many sets of CPUs that threads may run on are told apart at once; 0 is all CPUs. */
#define RG_CPUSETS 64

/* Threads that may run on the same CPUs: see index/cpusets.h. */
struct rg_cpuset {
	u64 affinity RG_LINE; /* its number (rg_affinity); 0: no thread's, but for the first */
	struct rg_vtime vtime;
	u64 waiting;  /* threads in any queue */
};

/*
 * What all threads of a domain are to pass before any of them goes on (balance/target.h). A domain
 * is the row of a CPU by the domain's number. A child is a domain on the next lower level in use.
 */
struct rg_target {
	u64 at RG_LINE; /* virtual time */
	u64 least;    /* the least target of its lowest domains that count; RG_NEVER: none does */
	u32 busy;     /* of a lowest domain: how many of its queues have threads */
	u32 cpus;     /* how many it has */
	u32 cursor;   /* the CPU where the next look for lagging queues begins, by rg_cpu_in */
	u32 clear;    /* how many CPUs in a row were looked at without finding a lagging queue */
	rg_maybe children; /* the number of the first one */
	rg_maybe sibling;  /* the number of the parent's next child */
	s32 cpu;      /* its first one */
	u32 unused;
};

/* Rows of a table by level, as many as a mask bounds; those past the last level are 0. */
#define RG_LEVEL_ROWS 8
#define RG_LEVEL_ROW(level) rg_masked(level, RG_LEVEL_ROWS)

/* What was popped from an index, to be put back if the kernel does not have it. */
struct rg_listing {
	u64 vruntime; /* as in the heap */
	u64 key; /* of its pool */
	u32 cpuset;
	u32 slot;
	u32 row;
	u32 unused;
};

#define RG_TRIES 4 /* a power of two */

/* Where a set is: the foremost thread that waits for a CPU, or what that runs if none waits. */
struct rg_foremost {
	u64 vruntime; /* RG_NEVER: none */
	u64 floor;   /* how far behind it others may be */
	u32 set;     /* which it is */
	u32 batch;   /* whether it is a batch thread */
};

/* What competes for a CPU in a tick: see converge.h. RG_NEVER: nothing of the kind. */
struct rg_span {
	u64 now;
	u64 known;   /* the least vruntime of the sets that have met others lately */
	u64 newest;  /* the last of the others */
	u64 foremost; /* the last of the least vruntimes of all sets */
	u64 floor;   /* how far behind that sets may be */
	u64 alone;   /* how far behind where its set is what it runs may be */
	u64 raised;  /* how far those were raised that fall behind together */
	u64 count;   /* how many virtual times */
	u64 beyond;  /* a bit for each set that waits in another queue and may run here */
	struct rg_foremost least;  /* the set behind all others, before any is raised */
	struct rg_foremost second; /* the next one */
	struct rg_foremost last;   /* the one behind all others, once they are no further apart */
	struct rg_foremost bound;  /* of those that wait and may not run everywhere */
};

/* A CPU's question which thread is next, and what has been tried for it: see pick/pick.h. */
struct rg_ask {
	struct rg_listing pick;
	u64 vruntime; /* of the CPU's own runnable thread */
	u64 now;
	u64 bound;    /* the least vruntime of threads that are bound to the CPU; RG_NEVER: none */
	u32 mine;     /* that thread's slot; 0: none */
	u32 tries;
	u32 tried[RG_TRIES]; /* rows of pools whose thread could not be moved */
	u32 cpu;      /* who asks */
	u32 gone;     /* a thread was not yet where the index said; or a preemption was late */
	u32 again;    /* how often in a row the CPU has asked again for such a thread */
	u32 home;     /* the queue where the CPU's own thread would wait */
	u32 orphans;  /* vruntimes whose threads have left hid all others of a heap */
	u32 deferred; /* how many threads that owe were let wait on */
};

/* What the threads of a queue need to a virtual time, and what it has for them: balance/need.h. */
struct rg_need {
	u64 total_ns;
	u64 weight;   /* effective, of all threads */
	u64 capacity; /* in 1/1024 of a CPU */
	u32 last;     /* the last that was seen to wait and needs something */
	u32 unused;
};

/* What a CPU runs or is about to, so that other CPUs can compare without touching the thread. */
struct rg_cpu {
	/* What other CPUs look at. */
	u64 pool RG_LINE; /* 0: nothing of ours */
	u64 vruntime;     /* at `since` */
	u64 weight;    /* effective, as in rg_thread */
	u64 since;
	u32 thread;    /* its row; meaningful while pool is not 0 */
	u32 own;       /* the queue of threads that may run here alone */
	u32 vtime;     /* the number of the virtual time of what it runs */
	u32 class;     /* of what it runs, under pick=credit */
	u32 ordered;   /* a preemption is on its way */
	rg_maybe leaves; /* where what it runs shall go: give_way.h */
	u32 follower;  /* who last entered its local queue behind what it runs: see direct.h */
	rg_maybe hint; /* a queue where a thread waits that this CPU was woken for */
	u32 resumed;   /* it was woken for a thread that was held, and has not asked since */
	/* Its own. */
	u64 ticks;     /* of the account, seen by this CPU */
	u64 looked_at; /* when it last looked for the min_vruntime */
	u64 advance;   /* of a virtual time that has yet to go on by it: see clock.h */
	u32 advances;  /* the number of that */
	struct rg_ask ask;
	struct rg_span span;
	u32 choices;   /* dispatches so far */
	u32 hurry;     /* the last look met a late thread: what to leave out of `choices` */
	u32 asked;     /* queues that it has asked for work in vain */
	u32 walked;    /* `came` of its queue when it last fell idle */
	u32 walks;     /* how often it has asked again since */
	u32 last_choice; /* the one before which it found a thread in another queue */
	rg_maybe turn; /* whose turn its timer ends: quota.h */
	u32 refused[RG_CPUSETS]; /* of each set of CPUs the affinity that does not admit this one */
	u32 admits[RG_CPUSETS];  /* the affinity that a thread had which ran here */
	struct rg_need needs[2]; /* of a queue that it asks, and of its own */
	u64 inversions; /* avoided: first come ran instead of the thread of the least vruntime */
	struct rg_target targets[RG_LEVEL_ROWS]; /* of the domains of this number */
};

/* A heap of vruntimes: those of a set of CPUs in a queue. Under the queue's lock. */
struct rg_heap {
	u32 base;     /* its first row */
	u32 capacity;
	u32 count;
	u32 stamp;
};

struct rg_queue {
	/* What CPUs look at that it does not serve, and what its lock protects. */
	u64 least RG_LINE; /* the least vruntime of waiting threads; RG_NEVER: none */
	u64 waiting;  /* a bit for each set of CPUs whose heap is not empty */
	u32 first;    /* the slot of the first thread of the least vruntime */
	u32 unlisted; /* how many wait in it and are not in the index */
	u32 came;     /* how many threads came so far that the index had no room for */
	s32 cpu;      /* the first one that it serves */
	u32 cpus;     /* how many */
	u32 is_own;   /* it serves the threads of one CPU that may run there alone */
	u32 base;     /* its part of the rows of entries: index/extents.h */
	u32 capacity; /* 0: nobody has created it */
	struct rg_heap heaps[RG_CPUSETS]; /* that of all CPUs ends the line */
	/* What wake-ups change without its lock. */
	u32 threads RG_LINE; /* how many run from it or wait in it; kept where there are several */
	u32 batch;    /* how many wait in it that hold the clock: burst.h */
	u32 victim;   /* the CPU that was last seen to run the greatest vruntime */
	u32 cursor;   /* where the next look for a victim begins */
	u32 beyond;   /* as cursor, of CPUs that it does not serve */
	u64 urgent_at; /* when to look for one that is urgent: urgent.h; RG_NEVER: not at all */
	rg_maybe crowded; /* a CPU that runs what another could, while bound threads wait there */
	rg_maybe follows; /* the set of CPUs whose virtual time that of bound threads moves with */
	u64 followed;     /* how far that was moved then */
	struct rg_vtime vtime;     /* its own, where each queue has one, or of pinned threads */
	struct rg_looking looking; /* where each queue has a virtual time of its own */
};

struct rg_shared {
	/* Of all lowest domains that count: it never falls (GVTS section 4). */
	u64 least_target RG_LINE;
	u32 queues;       /* how many serve domains; those of single CPUs have higher numbers */
	u32 limited;      /* how many groups have a quota */
	u64 pulls RG_LINE; /* threads that balance moved from one queue to another */
	u32 spread;       /* where the next new thread looks for a queue */
	u32 unused;
	u64 credits_at;   /* when credits are next given out */
	u64 earned;       /* by a unit of weight since the start (balance/credits.h) */
	u64 sharing;      /* the sum of the weights that share credits */
	u64 active;       /* how many threads do */
	u64 advanced;     /* credit that sleepers collected, off what is next given out */
	u64 balance;      /* the sum of the credits of active threads, in ns; wraps below 0 */
	struct rg_looking looking; /* at the whole machine */
	struct rg_cpuset cpusets[RG_CPUSETS];
	u64 extents; /* a bit for each that a heap has: index/extents.h */
};

/* The words of policies.def: RG_BALANCE_STEAL and so on. */
enum rg_word {
#define RG_VALUE(option, word, number, help) RG_##option##_##word = (number),
#include "policies.def"
};

/* What the policy was loaded with: the options of policies.def, and facts of the machine. */
struct rg_options {
#define RG_DURATION(name, ...) u64 name##_ns;
#define RG_DURATIONS(name, ...) u64 name##_ns[RG_LEVEL_ROWS];
#define RG_LIMIT(name, ...) u64 name##_ns;
#include "policies.def"
	u32 cpus;
	u32 stride; /* between CPUs that new threads are spread over: has no divisor in common */
	u32 quotas; /* whether the platform holds threads and has timers for groups */
#define RG_CHOICE(name, ...) u32 name;
#define RG_SWITCH(name, ...) u32 name;
#include "policies.def"
};

/* The value of an option: known when the policy is loaded, so that BPF removes the others. */
#ifndef RG_OPTION /* a build that looks at one policy's code alone fixes some */
#define RG_OPTION(choice) (rg_options()->choice)
#endif

#endif
