//! Moves of threads between last-level caches, counted by the kernel itself: a histogram over its tracepoint
//! for migrations, which costs nothing where no thread moves and is the same under every scheduler.

use std::fs;
use std::io;

use model::scenario::Machine;

const EVENT: &str = "/sys/kernel/tracing/events/sched/sched_migrate_task";

/// Counts the moves of all threads of the guest.
pub struct Crossings {
    caches: u32,
    cpus_of_each: u32,
}

impl Crossings {
    /// Counts from now on. A machine with one cache has none to count.
    pub fn watch(machine: &Machine) -> io::Result<Crossings> {
        let crossings =
            Crossings { caches: machine.llcs, cpus_of_each: machine.cpus / machine.llcs };
        if crossings.caches > 1 {
            let pairs = (machine.cpus * machine.cpus).next_power_of_two().clamp(128, 131_072);
            let trigger = format!("hist:keys=orig_cpu,dest_cpu:size={pairs}");
            fs::write(format!("{EVENT}/trigger"), trigger)?;
        }
        Ok(crossings)
    }

    /// How many so far; `None`: there is one cache.
    pub fn count(&self) -> Option<u64> {
        let text = (self.caches > 1).then(|| fs::read_to_string(format!("{EVENT}/hist")));
        Some(self.of_histogram(&text?.ok()?))
    }

    /// Lines such as `{ orig_cpu: 3, dest_cpu: 9 } hitcount: 12`, with many blanks.
    fn of_histogram(&self, text: &str) -> u64 {
        // The CPU apart belongs to the last cache here: nothing of the scenario runs there.
        let cache = |cpu: u32| (cpu / self.cpus_of_each).min(self.caches - 1);
        let pairs = text.lines().filter_map(pair);
        pairs.filter(|(from, to, _)| cache(*from) != cache(*to)).map(|(.., moves)| moves).sum()
    }
}

fn pair(line: &str) -> Option<(u32, u32, u64)> {
    let line = line.trim().strip_prefix("{ orig_cpu:")?;
    let (from, line) = line.split_once(", dest_cpu:")?;
    let (to, moves) = line.split_once("} hitcount:")?;
    Some((from.trim().parse().ok()?, to.trim().parse().ok()?, moves.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_moves_between_caches_count() {
        let text = "# event histogram\n#\n\n\
            { orig_cpu:          0, dest_cpu:          3 } hitcount:          5\n\
            { orig_cpu:          3, dest_cpu:          4 } hitcount:          7\n\
            { orig_cpu:          7, dest_cpu:          0 } hitcount:         11\n\
            { orig_cpu:          7, dest_cpu:          8 } hitcount:         13\n\n\
            Totals:\n    Hits: 36\n    Entries: 4\n    Dropped: 0\n";
        assert_eq!(Crossings { caches: 2, cpus_of_each: 4 }.of_histogram(text), 18);
        assert_eq!(Crossings { caches: 2, cpus_of_each: 4 }.of_histogram(""), 0);
    }
}
