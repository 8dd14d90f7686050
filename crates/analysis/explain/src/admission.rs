//! Where the threads of programs may run. A machine has thousands of CPUs and a trace as many threads, so
//! that lists of CPUs are shared, and none is kept for each thread.

use std::sync::Arc;

use model::event::CpuSetId;
use model::{ThreadId, Trace};

use crate::timeline::indices;

/// What threads may use, as far as events have told.
pub(crate) struct Admission<'a> {
    trace: &'a Trace,
    all: Arc<[usize]>,
    /// By thread; `None`: any CPU.
    sets: Vec<Option<CpuSetId>>,
    programs: Vec<Program>,
}

#[derive(Clone)]
struct Program {
    /// Threads that may run on any CPU.
    anywhere: usize,
    /// By CPU: how many others may run there; empty where there are no others.
    admitted: Vec<u32>,
    usable: Arc<[usize]>,
}

impl<'a> Admission<'a> {
    /// Every thread may run on any of so many CPUs.
    pub fn new(trace: &'a Trace, cpus: usize) -> Admission<'a> {
        let all: Arc<[usize]> = (0..cpus).collect();
        let none = Program { anywhere: 0, admitted: Vec::new(), usable: Arc::clone(&all) };
        let mut programs = vec![none; trace.programs.len()];
        trace.threads.iter().for_each(|thread| programs[thread.program].anywhere += 1);
        Admission { trace, all, sets: vec![None; trace.threads.len()], programs }
    }

    /// All CPUs.
    pub fn all(&self) -> Arc<[usize]> {
        Arc::clone(&self.all)
    }

    /// A thread may run there only. What its program may use now, if that is something else: a program may
    /// use a CPU as long as one of its threads may.
    pub fn admit(&mut self, thread: ThreadId, cpus: CpuSetId) -> Option<Arc<[usize]>> {
        let before = self.sets[thread.index()].replace(cpus);
        let program = &mut self.programs[self.trace.threads[thread.index()].program];
        program.admitted.resize(self.all.len(), 0);
        let counted = |set: CpuSetId| indices(self.trace.tables.cpus_of(set));
        match before {
            None => program.anywhere -= 1,
            Some(set) => counted(set).into_iter().for_each(|cpu| program.admitted[cpu] -= 1),
        }
        counted(cpus).into_iter().for_each(|cpu| program.admitted[cpu] += 1);
        program.changed(&self.all)
    }
}

impl Program {
    fn changed(&mut self, all: &Arc<[usize]>) -> Option<Arc<[usize]>> {
        let usable = if self.anywhere > 0 { Arc::clone(all) } else { self.union() };
        if usable == self.usable {
            return None;
        }
        self.usable = Arc::clone(&usable);
        Some(usable)
    }

    fn union(&self) -> Arc<[usize]> {
        (0..self.admitted.len()).filter(|cpu| self.admitted[*cpu] > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::CpuId;
    use model::event::Tables;
    use model::trace::{ProgramTrace, ThreadTrace};

    const THREADS: [ThreadId; 2] = [ThreadId(0), ThreadId(1)];

    /// A program of two threads; sets of CPU 0, of CPU 2, and of both.
    fn trace() -> Trace {
        let cpu_sets = vec![vec![CpuId(0)], vec![CpuId(2)], vec![CpuId(0), CpuId(2)]];
        Trace {
            programs: vec![ProgramTrace::default()],
            threads: vec![ThreadTrace { program: 0 }; 2],
            tables: Tables { cpu_sets, ..Tables::default() },
            ..Trace::default()
        }
    }

    #[test]
    fn a_program_may_use_what_any_of_its_threads_may() {
        let trace = trace();
        let mut admission = Admission::new(&trace, 4);
        let mut admit = |thread: usize, set: u32| {
            admission.admit(THREADS[thread], CpuSetId(set)).map(|cpus| cpus.to_vec())
        };
        assert_eq!(admit(0, 0), None, "the other thread still may run anywhere");
        assert_eq!(admit(1, 1), Some(vec![0, 2]));
        assert_eq!(admit(1, 2), None, "one more CPU of the first thread's is none for the program");
        assert_eq!(admit(1, 0), Some(vec![0]));
        assert_eq!(admit(0, 1), Some(vec![0, 2]));
    }

    #[test]
    fn lists_of_cpus_are_shared() {
        let trace = trace();
        let mut admission = Admission::new(&trace, 4);
        let all = admission.all();
        assert!(Arc::ptr_eq(&all, &admission.programs[0].usable));
        THREADS.iter().for_each(|thread| drop(admission.admit(*thread, CpuSetId(0))));
        assert!(
            !Arc::ptr_eq(&all, &admission.programs[0].usable),
            "one of its own, where it differs"
        );
    }
}
