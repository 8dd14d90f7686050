//! The holders of the CPUs during a run of an arm.

use std::collections::BTreeMap;
use std::path::Path;

use model::trace::ThreadTrace;
use model::trace_session::{CapturedEvents, KernelTracer, Run, TraceSession};
use model::{CpuId, Failure};

use super::cpu_time::CpuTime;
use super::events::translate;
use super::thread_table::ThreadTable;
use super::tracer::{Scheduling, Tracer, Wanted};

/// Records by the hooks of the stages, those of the scheduler and of interrupts alone.
pub struct Hooks;

impl KernelTracer for Hooks {
    fn check(&self) -> Result<(), Failure> {
        bpf::privileged("recording scheduling events")?;
        if Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Ok(());
        }
        Err(Failure::Machine(
            "recording scheduling events takes a kernel with BTF (/sys/kernel/btf/vmlinux)"
                .to_string(),
        ))
    }

    fn start(&self, cpus: &[usize]) -> Result<Box<dyn TraceSession>, Failure> {
        let scheduling = Scheduling::On(cpus.to_vec());
        Ok(Box::new(Tracer::start(Wanted { ports: Vec::new(), scheduling })?))
    }
}

impl TraceSession for Tracer {
    fn finish(self: Box<Self>, run: &Run) -> Result<CapturedEvents, Failure> {
        let recording = self.stop()?;
        recording.check_whole()?;
        let programs = run.threads.len();
        let known = run.threads.iter().enumerate().flat_map(|(program, threads)| {
            threads.iter().map(move |thread| (thread.cast_unsigned(), program))
        });
        let table = ThreadTable::new(&recording, known, programs, BTreeMap::new());
        let place = |cpu: usize| {
            run.cpus.iter().position(|known| *known == cpu).map(|cpu| CpuId(cpu as u32))
        };
        let (events, mut tables) = translate(&recording, &table.numbers, &place, run.start);
        let time = CpuTime::new(&recording.seen);
        let first = run.threads.iter().map(Vec::len).sum();
        let others = &table.threads[first..];
        let times = |moment: &_| {
            others.iter().map(|thread| time.until(*thread, run.start + *moment)).collect()
        };
        tables.others = table.others;
        Ok(CapturedEvents {
            events,
            tables,
            threads: table.programs_of[first..]
                .iter()
                .map(|&program| ThreadTrace { program })
                .collect(),
            cpu_times: run.moments.iter().map(times).collect(),
        })
    }
}
