//! Names of what events are about, as people read them.

use model::event::{CpuSetId, NameId, Tables};
use model::{CpuId, ThreadId};

use crate::Header;

/// The names of a trace.
pub struct Names {
    threads: Vec<String>,
    groups: Vec<String>,
    tables: Tables,
}

impl Names {
    /// Those that the header of a trace tells.
    pub fn new(header: &Header) -> Names {
        let mut counted = vec![0; header.programs.len()];
        let name = |&program: &usize| {
            let number = counted[program];
            counted[program] += 1;
            format!("{}/{number}", header.programs[program].name)
        };
        Names {
            threads: header.threads.iter().map(name).collect(),
            groups: header.groups.iter().map(|group| group.name.clone()).collect(),
            tables: header.tables.clone(),
        }
    }

    /// `service/3`: the program, and the thread's number in it.
    pub fn of(&self, thread: ThreadId) -> &str {
        &self.threads[thread.index()]
    }

    /// The full path of a group.
    pub fn of_group(&self, group: u32) -> &str {
        &self.groups[group as usize]
    }

    /// Of an interrupt, a softirq or an idle state.
    pub fn of_source(&self, name: NameId) -> &str {
        self.tables.name_of(name)
    }

    /// `0-3,8`: a set of CPUs as the kernel writes it.
    pub fn of_cpus(&self, set: CpuSetId) -> String {
        let mut sorted: Vec<u32> = self.tables.cpus_of(set).iter().map(|cpu| cpu.0).collect();
        sorted.sort_unstable();
        let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            one => one.iter().map(u32::to_string).collect(),
        });
        runs.collect::<Vec<_>>().join(",")
    }
}

/// A CPU, with room for four digits.
pub fn cpu(cpu: CpuId) -> String {
    format!("CPU {:<4}", cpu.0)
}
