//! Work that waits: what a program wanted beyond the CPU time that it received.

use model::trace::Request;
use model::{Nanos, Scenario, Trace};

/// The slow requests of a run, by program.
pub(crate) struct Waiting<'a> {
    slow: Vec<Vec<&'a Request>>,
    /// For each program whether its requests come from another.
    behind: Vec<bool>,
    threads: Vec<usize>,
}

impl<'a> Waiting<'a> {
    /// Looks at a trace. Only requests that take as long as the shortest span between two readings can wait
    /// throughout one.
    pub fn new(scenario: &Scenario, trace: &'a Trace) -> Waiting<'a> {
        let spans = trace.usage.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at));
        let shortest = spans.min().unwrap_or(Nanos::NEVER);
        let is_slow = |r: &&Request| r.completed.saturating_sub(r.intended) >= shortest;
        let programs = trace.programs.iter();
        let slow = programs.map(|p| p.requests.iter().filter(is_slow).collect()).collect();
        let mut threads = vec![0; trace.programs.len()];
        trace.threads.iter().for_each(|thread| threads[thread.program] += 1);
        let behind = scenario.programs.iter().map(|program| program.behind.is_some()).collect();
        Waiting { slow, behind, threads }
    }

    /// The CPU time, in seconds, that the program's requests ask of each of its threads which were there from
    /// before `from` until after `to`. A request that was served in the span shows in what the program
    /// received.
    pub fn per_thread_s(&self, program: usize, from: Nanos, to: Nanos) -> f64 {
        let is_behind = self.behind[program];
        let there = |r: &Request| if is_behind { r.sent } else { r.intended };
        let throughout =
            self.slow[program].iter().filter(|r| there(r) <= from && to <= r.completed);
        let asked: f64 = throughout.map(|request| request.service.as_secs_f64()).sum();
        asked / self.threads[program] as f64
    }
}
