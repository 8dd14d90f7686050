//! Who held the CPUs during a run of an arm.

use std::collections::BTreeMap;
use std::path::Path;

use model::recorder::{Heard, Recorder, Run, Tape};
use model::trace::ThreadTrace;
use model::{CpuId, Failure};

use super::cpu_time::CpuTime;
use super::crew::Crew;
use super::events::translate;
use super::tracer::{Scheduling, Tracer, Wanted};
use crate::ready::privileged;

/// Records by the hooks of the stages, those of the scheduler and of interrupts alone.
pub struct Hooks;

impl Recorder for Hooks {
    fn check(&self) -> Result<(), Failure> {
        privileged("recording scheduling events")?;
        if Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Ok(());
        }
        Err(Failure::Machine(
            "recording scheduling events takes a kernel with BTF (/sys/kernel/btf/vmlinux)"
                .to_string(),
        ))
    }

    fn start(&self, cpus: &[usize]) -> Result<Box<dyn Tape>, Failure> {
        let scheduling = Scheduling::On(cpus.to_vec());
        Ok(Box::new(Tracer::start(Wanted { port: None, tcp: false, scheduling })?))
    }
}

impl Tape for Tracer {
    fn finish(self: Box<Self>, run: &Run) -> Result<Heard, Failure> {
        let recording = self.stop()?;
        recording.check_whole()?;
        let programs = run.threads.len();
        let known = run.threads.iter().enumerate().flat_map(|(program, threads)| {
            threads.iter().map(move |thread| (thread.cast_unsigned(), program))
        });
        let crew = Crew::new(&recording, known, programs, BTreeMap::new());
        let place = |cpu: usize| {
            run.cpus.iter().position(|known| *known == cpu).map(|cpu| CpuId(cpu as u32))
        };
        let (events, mut tables) = translate(&recording, &crew.numbers, &place, run.start);
        let time = CpuTime::new(&recording.seen);
        let first = run.threads.iter().map(Vec::len).sum();
        let others = &crew.threads[first..];
        let times = |moment: &_| {
            others.iter().map(|thread| time.until(*thread, run.start + *moment)).collect()
        };
        tables.others = crew.others;
        Ok(Heard {
            events,
            tables,
            threads: crew.programs_of[first..]
                .iter()
                .map(|&program| ThreadTrace { program })
                .collect(),
            cpu_times: run.moments.iter().map(times).collect(),
        })
    }
}
