//! Scheduling events by the kernel's own tracing (tracefs), of the scenario's threads alone.
//!
//! In an instance of its own, so that nobody else's tracing is touched. A run that is killed leaves the instance behind: only for a machine that is gone after the run.

mod line;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use model::event::{Event, What, Why};
use model::{CpuId, Nanos, ThreadId};

use line::{Line, Seen};

const FOLDER: &str = "/sys/kernel/tracing/instances/rearguard";
/// Memory of all CPUs' buffers: an event takes some 60 bytes.
const BUFFERS_KIB: usize = 128 << 10;
const EVENTS: [&str; 2] = ["sched_switch", "sched_wakeup"];

/// Tracing that is on.
pub struct Recorder {
    /// Kernel ids, in the order of the trace's threads.
    threads: Vec<i32>,
    /// The scenario's CPUs, as the kernel numbers them.
    cpus: Vec<usize>,
}

fn set(file: &str, value: &str) -> io::Result<()> {
    fs::write(Path::new(FOLDER).join(file), value)
        .map_err(|error| io::Error::other(format!("{FOLDER}/{file}: {error}")))
}

impl Recorder {
    /// Starts to record what the scheduler does with these threads on these CPUs.
    pub fn start(threads: Vec<i32>, cpus: &[usize]) -> io::Result<Recorder> {
        fs::create_dir_all(FOLDER)?;
        set("tracing_on", "0")?;
        set("trace_clock", "mono")?;
        let online = fs::read_dir(Path::new(FOLDER).join("per_cpu"))?.count().max(1);
        set("buffer_size_kb", &(BUFFERS_KIB / online).to_string())?;
        let only = OpenOptions::new().append(true).open(Path::new(FOLDER).join("set_event_pid"));
        let mut only = only?;
        threads.iter().try_for_each(|thread| only.write_all(format!("{thread} ").as_bytes()))?;
        for event in EVENTS {
            set(&format!("events/sched/{event}/enable"), "1")?;
        }
        set("tracing_on", "1")?;
        Ok(Recorder { threads, cpus: cpus.to_vec() })
    }

    /// Stops, and tells what was recorded; moments count from `start`.
    pub fn finish(self, start: Nanos) -> io::Result<Vec<Event>> {
        set("tracing_on", "0")?;
        for cpu in &self.cpus {
            let file = format!("{FOLDER}/per_cpu/cpu{cpu}/stats");
            let stats = fs::read_to_string(&file)?;
            if stats.lines().any(|line| line.starts_with("overrun:") && !line.ends_with(" 0")) {
                return Err(io::Error::other(format!(
                    "more happened than the kernel's trace buffer of {} MiB holds: trace a shorter --duration",
                    BUFFERS_KIB >> 10
                )));
            }
        }
        let mut seen = Translation::new(&self, start);
        for line in BufReader::new(File::open(Path::new(FOLDER).join("trace"))?).lines() {
            if let Some(line) = Line::read(&line?) {
                seen.hear(&line);
            }
        }
        fs::remove_dir(FOLDER)?;
        Ok(seen.events)
    }
}

/// The kernel's lines into events.
struct Translation<'a> {
    recorder: &'a Recorder,
    start: Nanos,
    /// Threads by kernel id, sorted.
    ids: Vec<(i32, ThreadId)>,
    ran_on: Vec<Option<CpuId>>,
    events: Vec<Event>,
}

impl Translation<'_> {
    fn new(recorder: &Recorder, start: Nanos) -> Translation<'_> {
        let numbered = recorder.threads.iter().zip(0..);
        let mut ids: Vec<_> = numbered.map(|(id, number)| (*id, ThreadId(number))).collect();
        ids.sort_unstable();
        let ran_on = vec![None; recorder.threads.len()];
        Translation { recorder, start, ids, ran_on, events: Vec::new() }
    }

    fn thread(&self, id: i32) -> Option<ThreadId> {
        let at = self.ids.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.ids[at].1)
    }

    fn cpu(&self, id: usize) -> Option<CpuId> {
        let at = self.recorder.cpus.iter().position(|cpu| *cpu == id)?;
        Some(CpuId(at as u32))
    }

    fn hear(&mut self, line: &Line) {
        let at = line.at.saturating_sub(self.start);
        match line.seen {
            Seen::Wakeup { id, target } => {
                if let (Some(thread), Some(cpu)) = (self.thread(id), self.cpu(target)) {
                    let by = self.cpu(line.cpu);
                    self.events.push(Event { at, what: What::Wake { thread, cpu, by } });
                }
            }
            Seen::Switch { prev, blocks, next } => {
                if let Some(cpu) = self.cpu(line.cpu) {
                    self.switch(at, cpu, (self.thread(prev), blocks), self.thread(next));
                }
            }
        }
    }

    /// Whoever is not of the scenario counts as idle.
    fn switch(
        &mut self,
        at: Nanos,
        cpu: CpuId,
        prev: (Option<ThreadId>, bool),
        to: Option<ThreadId>,
    ) {
        let (from, blocks) = prev;
        let why = match (from, blocks) {
            (None, _) => Why::Idle,
            (Some(_), true) => Why::Blocked,
            (Some(_), false) => Why::Preempted,
        };
        let mut tell = |what| self.events.push(Event { at, what });
        if let (Some(thread), true) = prev {
            tell(What::Block { thread, cpu });
        }
        if let Some(thread) = to {
            match self.ran_on[thread.index()].replace(cpu) {
                Some(from) if from != cpu => tell(What::Migrate { thread, from, to: cpu }),
                _ => {}
            }
        }
        if from != to {
            tell(What::Switch { cpu, from, to, why });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
# tracer: nop
     rearguard-91      [002] d..2.    10.000500: sched_wakeup: comm=my prog pid=77 prio=120 target_cpu=001
          <idle>-0       [001] d..2.    10.000510: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my prog next_pid=77 next_prio=120
          my prog-77      [001] d..2.    10.000600: sched_switch: prev_comm=my prog prev_pid=77 prev_prio=120 prev_state=R+ ==> next_comm=kworker/1:0 next_pid=33 next_prio=120
     kworker/1:0-33      [000] d..2.    10.000700: sched_switch: prev_comm=kworker/1:0 prev_pid=33 prev_prio=120 prev_state=I ==> next_comm=my prog next_pid=77 next_prio=120
          my prog-77      [000] d..2.    10.000800: sched_switch: prev_comm=my prog prev_pid=77 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

    #[test]
    fn the_kernels_lines_become_events() {
        let recorder = Recorder { threads: vec![50, 77], cpus: vec![0, 1] };
        let mut seen = Translation::new(&recorder, Nanos::from_secs(10));
        LINES.lines().filter_map(Line::read).for_each(|line| seen.hear(&line));
        let (us, thread) = (Nanos::from_micros, ThreadId(1));
        let (first, other) = (CpuId(1), CpuId(0));
        let expected = [
            // CPU 2 is the generator's.
            (us(500), What::Wake { thread, cpu: first, by: None }),
            (us(510), What::Switch { cpu: first, from: None, to: Some(thread), why: Why::Idle }),
            (
                us(600),
                What::Switch { cpu: first, from: Some(thread), to: None, why: Why::Preempted },
            ),
            (us(700), What::Migrate { thread, from: first, to: other }),
            (us(700), What::Switch { cpu: other, from: None, to: Some(thread), why: Why::Idle }),
            (us(800), What::Block { thread, cpu: other }),
            (us(800), What::Switch { cpu: other, from: Some(thread), to: None, why: Why::Blocked }),
        ];
        assert_eq!(seen.events, expected.map(|(at, what)| Event { at, what }));
    }
}
