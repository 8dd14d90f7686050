//! The threads that were seen, by number, and their programs.

use std::collections::BTreeMap;

use model::ThreadId;
use model::event::Process;

use super::process_cache::ProcessInfo;
use super::recording::{Kind, Recording};

/// Threads in the order of their numbers.
#[derive(Default)]
pub(super) struct ThreadTable {
    /// The kernel's ids of threads.
    pub threads: Vec<u32>,
    /// The numbers of threads, by the kernel's id.
    pub numbers: BTreeMap<u32, ThreadId>,
    /// The program of each thread.
    pub programs_of: Vec<usize>,
    /// Unknown processes: programs behind the known ones.
    pub others: Vec<Process>,
}

impl ThreadTable {
    /// Every thread that had a CPU. `known` are (thread, program), of which there are `programs`; all threads
    /// of a process of `homes` belong to its program.
    pub fn new(
        recording: &Recording,
        known: impl IntoIterator<Item = (u32, usize)>,
        programs: usize,
        mut homes: BTreeMap<u32, usize>,
    ) -> ThreadTable {
        let mut table = ThreadTable::default();
        for (thread, program) in known {
            table.add(thread, program);
        }
        for thread in recording.seen.iter().flat_map(|seen| match seen.kind {
            Kind::Switch { from, .. } => [from, seen.thread],
            _ => [0, 0],
        }) {
            if thread == 0 || table.numbers.contains_key(&thread) {
                continue;
            }
            let info = recording.known.get(&thread);
            let process = info.map_or(thread, |info| info.process);
            let program = *homes.entry(process).or_insert_with(|| {
                table.others.push(ProcessInfo::process(info, thread));
                programs + table.others.len() - 1
            });
            table.add(thread, program);
        }
        table
    }

    fn add(&mut self, thread: u32, program: usize) {
        let next = ThreadId(self.threads.len() as u32);
        if *self.numbers.entry(thread).or_insert(next) == next {
            self.threads.push(thread);
            self.programs_of.push(program);
        }
    }
}
