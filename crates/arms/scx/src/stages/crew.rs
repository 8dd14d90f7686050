//! Who was seen: threads with numbers, and their programs.

use std::collections::BTreeMap;

use model::ThreadId;
use model::event::Process;

use super::people::Person;
use super::recording::{Kind, Recording};

/// Threads in the order of their numbers.
#[derive(Default)]
pub(super) struct Crew {
    /// The kernel's ids of threads.
    pub threads: Vec<u32>,
    /// The numbers of threads, by the kernel's id.
    pub numbers: BTreeMap<u32, ThreadId>,
    /// The program of each thread.
    pub programs_of: Vec<usize>,
    /// Processes that nobody knew: programs behind the known ones.
    pub others: Vec<Process>,
}

impl Crew {
    /// Everybody who had a CPU. `known` are (thread, program), of which there are `programs`; all threads of a process of `homes` belong to its program.
    pub fn new(
        recording: &Recording,
        known: impl IntoIterator<Item = (u32, usize)>,
        programs: usize,
        mut homes: BTreeMap<u32, usize>,
    ) -> Crew {
        let mut crew = Crew::default();
        for (thread, program) in known {
            crew.add(thread, program);
        }
        for thread in recording.seen.iter().flat_map(|seen| match seen.kind {
            Kind::Switch { from, .. } => [from, seen.thread],
            _ => [0, 0],
        }) {
            if thread == 0 || crew.numbers.contains_key(&thread) {
                continue;
            }
            let person = recording.people.known.get(&thread);
            let process = person.map_or(thread, |person| person.process);
            let program = *homes.entry(process).or_insert_with(|| {
                crew.others.push(Person::process(person, thread));
                programs + crew.others.len() - 1
            });
            crew.add(thread, program);
        }
        crew
    }

    fn add(&mut self, thread: u32, program: usize) {
        let next = ThreadId(self.threads.len() as u32);
        if *self.numbers.entry(thread).or_insert(next) == next {
            self.threads.push(thread);
            self.programs_of.push(program);
        }
    }
}
