//! What helps against each source, and what it costs: Table 1 of Tales, in the words of this project's
//! commands.

use crate::source::Source;

/// A source in words.
pub(crate) struct Words {
    /// The key of results.
    pub key: &'static str,
    /// What happens.
    pub what: &'static str,
    /// What helps.
    pub mitigation: &'static str,
    /// What it costs.
    pub trade_off: &'static str,
    /// Where that is from.
    pub from: &'static str,
}

impl Source {
    /// The key of results: `background`.
    pub fn key(self) -> &'static str {
        self.words().key
    }

    pub(crate) fn words(self) -> Words {
        match self {
            Source::Inversion => Words {
                key: "inversion",
                what: "requests that came later were served first",
                mitigation: "a scheduler that serves threads first come, first served: `rearguard load rearguard`, or SCHED_FIFO for the service's threads",
                trade_off: "under SCHED_FIFO other work on these CPUs waits for as long as the service is busy",
                from: "Tales Table 1, Non-FIFO Scheduling; CTS section 3",
            },
            Source::Background => Words {
                key: "background",
                what: "other programs held the CPU",
                mitigation: "real-time priority for the service, or CPUs of its own (a cell)",
                trade_off: "real-time priority can starve the others; CPUs of its own idle whenever no request is there",
                from: "Tales Table 1, Background Processes",
            },
            Source::Interrupt => Words {
                key: "interrupt",
                what: "interrupts and softirqs held the CPU",
                mitigation: "a CPU for interrupts that the service does not run on (affinity of IRQs, RPS)",
                trade_off: "throughput, where that CPU is not used up",
                from: "Tales Table 1, Interrupt Processing",
            },
            Source::IdleElsewhere => Words {
                key: "idle_elsewhere",
                what: "a CPU was free and the request could not get to it",
                mitigation: "let every thread serve every request: a thread a connection, or one queue for all workers; if the scheduler left the thread waiting, one queue for all CPUs (`rearguard load rearguard --queue llc`)",
                trade_off: "a thread a connection costs throughput; one queue moves threads between caches",
                from: "Tales Table 1, Concurrency Architecture; section 4.3",
            },
            Source::Power => Words {
                key: "power",
                what: "the CPU was on its way out of an idle state",
                mitigation: "limit the depth of idle states (PM QoS)",
                trade_off: "more energy",
                from: "Tales Table 1, Power Saving",
            },
            Source::Numa => Words {
                key: "numa",
                what: "the service ran away from its memory",
                mitigation: "an instance a node, bound to the node's CPUs and memory",
                trade_off: "a queue an instance, where one would have the shorter tail; keys must be partitioned over instances",
                from: "Tales Table 1, NUMA Effects",
            },
            _ => self.own_words(),
        }
    }

    /// Of what threads and processes of the service take that serve no request, where it is most of a source.
    pub(crate) fn words_of_own(self) -> Words {
        let words = self.words();
        if self != Source::Background {
            return words;
        }
        Words {
            what: "threads and processes of the service that serve no request held the CPU",
            mitigation: "less of that work, later, or at a lower priority than the threads that serve (nice, SCHED_BATCH)",
            trade_off: "that work takes longer",
            from: "the CPUs' holders",
            ..words
        }
    }

    /// Of what the service does itself, or what is done to it as a whole: no scheduler mends that.
    fn own_words(self) -> Words {
        let words = |key, what, mitigation, trade_off| Words {
            key,
            what,
            mitigation,
            trade_off,
            from: "what its thread waited for",
        };
        match self {
            Source::Own => words(
                "own_work",
                "the service's own thread worked on something else, or for far longer than a request takes",
                "move long work off the threads that serve: a profile (perf record) of these threads says what it is",
                "more threads",
            ),
            Source::Lock => words(
                "lock",
                "its thread waited for a lock",
                "hold the lock for a shorter time, or split it",
                "a change of the service",
            ),
            Source::Sleep => words(
                "sleep",
                "its thread slept because it asked to",
                "no sleep on a thread that serves",
                "a change of the service",
            ),
            Source::Socket => words(
                "socket",
                "its thread waited for another socket, a pipe or a signal: a server behind it, or the process that is named",
                "look at that server or process: `rearguard explain` there",
                "none",
            ),
            Source::Client => words(
                "client",
                "its answer was written, or was to be, and the client or the network did not take it",
                "look at the client and the network (`ss -ti` shows windows and retransmissions); shorter answers, or larger socket buffers; for waits of 40 ms one write an answer, or TCP_NODELAY, in the server",
                "memory for buffers",
            ),
            Source::Disk => words(
                "disk",
                "its thread waited for a disk",
                "a faster disk, fewer synchronous writes, or none on threads that serve",
                "what is not written is lost with the power",
            ),
            Source::PageFault => words(
                "page_fault",
                "its thread waited for a page of its memory",
                "more memory, or mlockall",
                "memory for others",
            ),
            Source::Stopped => words(
                "stopped",
                "its thread was stopped by a signal or a debugger, or its group was frozen",
                "let it run",
                "none",
            ),
            _ => words(
                "throttled",
                "its group had used up its quota of CPU time",
                "a larger quota, a longer burst (cpu.max, cpu.max.burst), or fewer threads that use it up at once",
                "CPU time for others",
            ),
        }
    }
}
