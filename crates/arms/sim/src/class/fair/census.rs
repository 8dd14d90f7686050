//! How many threads each part of the machine has, kept as they come and go: balancing a large domain need not
//! ask every CPU.

use model::CpuId;

use super::domains::Level;

/// The threads of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// On its queues (`sum_nr_running`).
    pub threads: u32,
    /// Those of them that want to run (`sum_h_nr_running`).
    pub awake: u32,
    /// CPUs with two threads or more.
    pub crowded: u32,
}

/// The counts of all parts, level by level.
#[derive(Clone, Debug)]
pub struct Census {
    levels: Vec<Parts>,
}

#[derive(Clone, Debug)]
struct Parts {
    size: u32,
    counts: Vec<Count>,
}

impl Census {
    /// No threads yet.
    pub fn new(levels: &[Level], cpus: u32) -> Census {
        let parts = |level: &Level| Parts {
            size: level.part,
            counts: vec![Count::default(); (cpus / level.part) as usize],
        };
        Census { levels: levels.iter().map(parts).collect() }
    }

    /// The part of a level that begins with a CPU.
    pub fn part(&self, level: usize, start: u32) -> Count {
        let Parts { size, counts } = &self.levels[level];
        counts[(start / size) as usize]
    }

    /// What a CPU has changed from one count to another.
    pub fn change(&mut self, cpu: CpuId, from: Count, to: Count) {
        for Parts { size, counts } in &mut self.levels {
            let count = &mut counts[(cpu.0 / *size) as usize];
            count.threads = count.threads + to.threads - from.threads;
            count.awake = count.awake + to.awake - from.awake;
            count.crowded = count.crowded + to.crowded - from.crowded;
        }
    }
}

#[cfg(test)]
mod tests {
    use model::scenario::Machine;

    use super::super::domains::levels;
    use super::*;

    #[test]
    fn parts_add_up_to_what_their_cpus_have() {
        let machine = Machine { cpus: 16, smt: 2, llcs: 4, nodes: 2 };
        let levels = levels(&machine);
        let mut census = Census::new(&levels, machine.cpus);
        let mut cpus = [Count::default(); 16];
        for step in 0..100u32 {
            let cpu = step * 7 % 16;
            let to = Count { threads: step % 5, awake: step % 3, crowded: u32::from(step % 5 > 1) };
            census.change(CpuId(cpu), std::mem::replace(&mut cpus[cpu as usize], to), to);
        }
        for (index, level) in levels.iter().enumerate() {
            for start in (0..16).step_by(level.part as usize) {
                let inside = &cpus[start as usize..(start + level.part) as usize];
                let sum = |field: fn(&Count) -> u32| inside.iter().map(field).sum::<u32>();
                let expected = Count {
                    threads: sum(|c| c.threads),
                    awake: sum(|c| c.awake),
                    crowded: sum(|c| c.crowded),
                };
                assert_eq!(census.part(index, start), expected, "{index} {start}");
            }
        }
    }
}
