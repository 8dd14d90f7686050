//! How lag and shares went during one run.

use model::scenario::Kind;
use model::trace::Usage;
use model::{Nanos, Scenario, Trace};

use crate::capacity;
use crate::due::Due;
use crate::waiting::Waiting;

/// Lag and shares at the regular moments of one run, for charts and for their extremes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// The moments at which CPU time was read; the first is the window's start.
    pub at: Vec<Nanos>,
    /// The lag of each batch thread.
    pub lags: Vec<ThreadLag>,
    /// For each entry of the summary's groups: the share of the machine's CPU time received since the moment
    /// before. One entry for each moment, the first 0.
    pub group_shares: Vec<Vec<f64>>,
}

/// The lag of one batch thread: the CPU time due to it since the window's start less what it received (GVTS
/// section 2.1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadLag {
    /// Index of the thread in the trace.
    pub thread: usize,
    /// Index of its program in the scenario.
    pub program: usize,
    /// Seconds at each moment, positive where it got less than was due.
    pub lag_s: Vec<f64>,
    /// CPU time received over CPU time due in the whole window (GVTS section 2.4); 1 is exactly fair. `None`:
    /// nothing was due.
    pub fairness: Option<f64>,
}

impl Course {
    /// The lags of one run; none where nothing says what is due.
    ///
    /// What is due is found anew for each span between two moments: batch threads want a CPU all the time,
    /// all others what they received in it and what requests ask for that waited throughout.
    pub(crate) fn lags(scenario: &Scenario, trace: &Trace) -> Vec<ThreadLag> {
        let programs: Vec<usize> = trace.threads.iter().map(|thread| thread.program).collect();
        let Some(weights) = Due::new(scenario, &programs) else { return Vec::new() };
        let is_batch =
            |thread: usize| matches!(scenario.programs[programs[thread]].kind, Kind::Batch { .. });
        let mut due_s = vec![0.0; programs.len()];
        let mut got_s = vec![0.0; programs.len()];
        let batch = (0..programs.len()).filter(|thread| is_batch(*thread));
        let mut lags: Vec<ThreadLag> = batch
            .map(|thread| ThreadLag { thread, program: programs[thread], ..ThreadLag::default() })
            .collect();
        lags.iter_mut().for_each(|lag| lag.lag_s.extend(trace.usage.first().map(|_| 0.0)));
        let waiting = Waiting::new(scenario, trace);
        let cpus = capacity::cpus(scenario, trace);
        for pair in trace.usage.windows(2) {
            let (from, to) = (pair[0].at, pair[1].at);
            let span_s = to.saturating_sub(from).as_secs_f64();
            let received = received_s(&pair[0], &pair[1]);
            let by_program: Vec<f64> = (0..scenario.programs.len())
                .map(|program| waiting.per_thread_s(program, from, to))
                .collect();
            let wanted = |t: usize| ((received[t] + by_program[programs[t]]) / span_s).min(1.0);
            let wants: Vec<f64> =
                (0..programs.len()).map(|t| if is_batch(t) { 1.0 } else { wanted(t) }).collect();
            let due = weights.in_span(cpus, [from, to], &wants);
            add(&mut due_s, &due);
            add(&mut got_s, &received);
            lags.iter_mut().for_each(|lag| lag.lag_s.push(due_s[lag.thread] - got_s[lag.thread]));
        }
        for lag in &mut lags {
            lag.fairness =
                Some(got_s[lag.thread] / due_s[lag.thread]).filter(|ratio| ratio.is_finite());
        }
        lags
    }

    /// The least and the greatest lag over the threads at each moment: (moment, least, greatest), in seconds.
    pub fn lag_band(&self) -> Vec<(Nanos, f64, f64)> {
        let band = |(i, at): (usize, &Nanos)| {
            let (least, greatest) = extremes(self.lags.iter().map(|lag| lag.lag_s[i]))?;
            Some((*at, least, greatest))
        };
        self.at.iter().enumerate().filter_map(band).collect()
    }
}

/// The CPU time that each thread received between two readings, in seconds.
pub(crate) fn received_s(from: &Usage, to: &Usage) -> Vec<f64> {
    to.cpu_time
        .iter()
        .zip(&from.cpu_time)
        .map(|(b, a)| b.saturating_sub(*a).as_secs_f64())
        .collect()
}

/// The least and the greatest of some numbers; `None` of none.
pub(crate) fn extremes(numbers: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let wider = |(least, greatest): (f64, f64), x: f64| (least.min(x), greatest.max(x));
    numbers.into_iter().map(|x| (x, x)).reduce(|band, (x, _)| wider(band, x))
}

fn add(sums: &mut [f64], parts: &[f64]) {
    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
}
