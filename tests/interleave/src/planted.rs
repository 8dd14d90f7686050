//! Races on purpose, as changes to the text of the policy: each must be found.

use model::Failure;

/// One of them.
pub struct Race {
    /// A word for it.
    pub name: &'static str,
    /// What is wrong.
    pub what: &'static str,
    /// File of `policy/`, the text there, and the text in its place.
    pub changes: &'static [[&'static str; 3]],
}

/// A race by name.
pub fn by_name(name: &str) -> Result<&'static Race, Failure> {
    RACES.iter().find(|race| race.name == name).ok_or_else(|| {
        Failure::Input(format!("no planted race `{name}`: --planted list lists them"))
    })
}

/// All.
pub const RACES: &[Race] = &[
    Race {
        name: "asks-again-if-idle",
        what: "before 61d54ca: a CPU that came too early for a thread asks again only if it got no other",
        changes: &[[
            "pick/pick.h",
            "	rg_pick_again(here);\n	if (verdict == RG_STAYS)",
            "	if (verdict == RG_NOBODY)\n		rg_pick_again(here);\n	if (verdict == RG_STAYS)",
        ]],
    },
    Race {
        name: "enters-unlocked",
        what: "a thread enters the index without the queue's lock",
        changes: &[[
            "index/index.h",
            "	rg_acquire(lock);\n	thread->waits = rg_some(id);\n	rg_index_add(shared, queue, thread, &pick);\n	rg_release(lock);\n",
            "	thread->waits = rg_some(id);\n	rg_index_add(shared, queue, thread, &pick);\n",
        ]],
    },
    Race {
        name: "puts-back-unlocked",
        what: "a thread that could not be moved is put back without the lock",
        changes: &[[
            "index/index.h",
            "	rg_acquire(lock);\n	if (thread->waits == rg_some(id) && !thread->row && !thread->unlisted)\n		rg_index_add(shared, queue, thread, pick);\n	rg_release(lock);\n",
            "	(void)lock;\n	if (thread->waits == rg_some(id) && !thread->row && !thread->unlisted)\n		rg_index_add(shared, queue, thread, pick);\n",
        ]],
    },
    Race {
        name: "puts-back-unchecked",
        what: "a thread is put back although it may have left or come anew meanwhile",
        changes: &[[
            "index/index.h",
            "	if (thread->waits == rg_some(id) && !thread->row && !thread->unlisted)\n		rg_index_add",
            "	if (id != RG_QUEUES)\n		rg_index_add",
        ]],
    },
    Race {
        name: "idles-unchecked",
        what: "a CPU that goes idle does not look again whether a thread waits",
        changes: &[[
            "scheduler.h",
            "		rg_kick(at, RG_KICK_IDLE);\n}\n\nRG_CALLBACK void rg_exit_thread",
            "		(void)at;\n}\n\nRG_CALLBACK void rg_exit_thread",
        ]],
    },
    Race {
        name: "announces-first",
        what: "an idle CPU is looked for before the thread is in the index",
        changes: &[
            [
                "scheduler.h",
                "	queue = rg_queue_for(t, cpu, home);\n	if (indexed)",
                "	rg_announce(t, thread, victim);\n	queue = rg_queue_for(t, cpu, home);\n	if (indexed)",
            ],
            [
                "scheduler.h",
                "	rg_insert_ordered(t, queue, RG_OPTION(slice_ns), thread->arrival);\n	rg_announce(t, thread, victim);\n",
                "	rg_insert_ordered(t, queue, RG_OPTION(slice_ns), thread->arrival);\n",
            ],
        ],
    },
    Race {
        name: "row-before-lock",
        what: "a thread that leaves the index asks before the lock whether it is listed",
        changes: &[[
            "index/index.h",
            "	rg_acquire(lock);\n	if (thread->row) {\n		struct rg_pool *pool = rg_pool_at(rg_number(thread->row));",
            "	rg_maybe row = thread->row;\n\n	rg_acquire(lock);\n	if (row) {\n		struct rg_pool *pool = rg_pool_at(rg_number(row));",
        ]],
    },
    Race {
        name: "never-puts-back",
        what: "a thread that could not be moved is not put back",
        changes: &[[
            "pick/pick.h",
            "	rg_index_put_back(shared, lock, queue, id, &here->ask.pick);\n",
            "	(void)lock;\n",
        ]],
    },
    Race {
        name: "wakes-no-other",
        what: "a CPU that may not run the thread that it popped wakes no other",
        changes: &[[
            "pick/pick.h",
            "	if (moved == RG_REFUSED)\n		rg_pick_wake_others(queue, cpu);\n",
            "",
        ]],
    },
    Race {
        name: "chooses-unlocked",
        what: "a CPU chooses and pops without the queue's lock",
        changes: &[[
            "pick/pick.h",
            "	rg_acquire(lock);\n	verdict = rg_choose(shared, queue, here, key);\n	rg_release(lock);\n",
            "	verdict = rg_choose(shared, queue, here, key);\n",
        ]],
    },
    Race {
        name: "shows-emptied-heaps",
        what: "a heap that a look for the best thread has emptied goes on being shown",
        changes: &[[
            "index/heap.h",
            "		if (!heap->count)\n			queue->waiting &= ~(1ULL << i);\n		if (!heap->count || !rg_precedes(vruntime, least))\n",
            "		if (!rg_precedes(vruntime, least))\n",
        ]],
    },
    Race {
        name: "forgets-a-late-preemption",
        what: "a CPU that is preempted after its choice does not choose again",
        changes: &[["pick/pick.h", "	here->ask.gone |= here->ordered;\n", ""]],
    },
    Race {
        name: "idles-beside-others",
        what: "a CPU that goes idle does not look again whether a thread waits in another queue",
        changes: &[[
            "scheduler.h",
            "	    (RG_OPTION(balance) != RG_BALANCE_NONE && rg_is_waited_beyond(at)) ||\n",
            "",
        ]],
    },
];
