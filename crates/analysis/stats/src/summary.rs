//! All that one policy did in a scenario, in figures.

use model::scenario::Kind;
use model::trace::{Counters, Request};
use model::{Nanos, Scenario, Trace};

use crate::capacity::known_cpus;
use crate::course::{Course, extremes, received_s};
use crate::group::{GroupShare, group_shares, share_samples};
use crate::inversion::{Inversions, inverted_pairs};
use crate::latency::{Latency, latency_estimates};
use crate::proportion::{Outlier, outlier};
use crate::round::round_ns;

/// What one policy did, over one run or pooled over runs with several seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// One entry for each program of the scenario.
    pub programs: Vec<ProgramSummary>,
    /// Every group, then every program that belongs to none.
    pub groups: Vec<GroupShare>,
    /// Lag and shares during each run.
    pub courses: Vec<Course>,
    /// The least and the greatest lag of a batch thread at any sampled moment, in seconds: positive where it
    /// got less than was due. `None` without batch threads.
    pub threads_lag_s: Option<(f64, f64)>,
    /// The least and the greatest CPU time received over CPU time due of a batch thread.
    pub fairness: Option<(f64, f64)>,
    /// Context switches, summed over the runs; `None` where an arm cannot know.
    pub switches: Option<u64>,
    /// Moves of a thread from one CPU to another, summed over the runs.
    pub migrations: Option<u64>,
    /// Moves between balancing domains a second.
    pub pulls_per_s: Option<f64>,
    /// The share of the machine's CPU time that no thread used.
    pub idle_share: Option<f64>,
    /// The share of it that no thread used and that was not idle: interrupts, other processes, the host.
    pub others_share: Option<f64>,
}

/// What one program did. Only services have requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramSummary {
    /// Its name.
    pub name: String,
    /// The word of its kind.
    pub kind: &'static str,
    /// Requests intended inside the window, lost ones included.
    pub requests: u64,
    /// Requests that were never answered.
    pub lost: u64,
    /// Rounds of a fork-join program, cycles of a daemon or a periodic one, runs of a command.
    pub rounds: u64,
    /// [`round_ns`] of each run that has it.
    pub round_ns: Vec<f64>,
    /// Requests intended a second; 0 for other kinds.
    pub rate_per_s: f64,
    /// The share of the machine's CPU time that its threads received, 0 to 1.
    pub utilisation: f64,
    /// Latency from the intended time to the response; `None` without requests.
    pub latency: Option<Latency>,
    /// FIFO inversions; `None` without requests.
    pub inversions: Option<Inversions>,
    /// Requests over the scenario's threshold; `None` without requests.
    pub outlier: Option<Outlier>,
}

/// The requests of a program that were intended inside the window, in that order.
pub fn window_requests(trace: &Trace, program: usize) -> impl Iterator<Item = &Request> + Clone {
    let window = trace.window;
    trace.programs[program].requests.iter().filter(move |request| window.contains(request.intended))
}

/// The latencies of [`window_requests`]: one run for [`latency_estimates`], [`crate::compare`] or
/// [`crate::ccdf`].
pub fn window_latencies(trace: &Trace, program: usize) -> Vec<Nanos> {
    window_requests(trace, program).map(Request::latency).collect()
}

/// Sums up the runs of one policy in a scenario.
pub fn summarise(scenario: &Scenario, traces: &[&Trace]) -> Summary {
    let courses: Vec<Course> = traces.iter().map(|trace| course(scenario, trace)).collect();
    let lags = || courses.iter().flat_map(|course| &course.lags);
    let threads_lag_s = extremes(lags().flat_map(|lag| lag.lag_s.iter().copied()));
    let fairness = extremes(lags().filter_map(|lag| lag.fairness));
    let seconds = seconds(traces);
    let whole = f64::from(scenario.machine.cpus) * seconds;
    let total = |of: fn(&Counters) -> Option<u64>| {
        traces.iter().map(|trace| of(&trace.counters)).sum::<Option<u64>>()
    };
    Summary {
        programs: programs(scenario, traces),
        groups: group_shares(scenario, traces),
        threads_lag_s,
        fairness,
        switches: total(|counters| counters.switches),
        migrations: total(|counters| counters.migrations),
        pulls_per_s: total(|counters| counters.pulls).map(|pulls| pulls as f64 / seconds),
        idle_share: total(|counters| counters.idle.map(|idle| idle.0))
            .map(|idle| Nanos(idle).as_secs_f64() / whole),
        others_share: own_cpu_s(scenario, traces).map(|own| (1.0 - own / whole).max(0.0)),
        courses,
    }
}

/// CPU time that the scenario's threads could have, over all runs.
fn own_cpu_s(scenario: &Scenario, traces: &[&Trace]) -> Option<f64> {
    let of = |trace: &Trace| Some(known_cpus(scenario, trace)? * trace.window.span().as_secs_f64());
    traces.iter().map(|trace| of(trace)).sum()
}

fn course(scenario: &Scenario, trace: &Trace) -> Course {
    Course {
        at: trace.usage.iter().map(|usage| usage.at).collect(),
        lags: Course::lags(scenario, trace),
        group_shares: share_samples(scenario, trace),
    }
}

fn programs(scenario: &Scenario, traces: &[&Trace]) -> Vec<ProgramSummary> {
    let shares = utilisations(scenario, traces).into_iter().enumerate();
    shares.map(|(index, share)| program(scenario, traces, index, share)).collect()
}

fn program(
    scenario: &Scenario,
    traces: &[&Trace],
    index: usize,
    utilisation: f64,
) -> ProgramSummary {
    let seconds = seconds(traces);
    let program = &scenario.programs[index];
    let is_command = matches!(program.kind, Kind::Command { .. });
    // Nobody sends a command's runs: their times are no latencies.
    let latencies: Vec<Vec<Nanos>> =
        traces.iter().filter(|_| !is_command).map(|trace| window_latencies(trace, index)).collect();
    let requests: usize = latencies.iter().map(Vec::len).sum();
    let lost = latencies.iter().flatten().filter(|latency| **latency == Nanos::NEVER).count();
    let threshold = scenario.outlier_threshold;
    ProgramSummary {
        name: program.name.clone(),
        kind: program.kind.word(),
        requests: requests as u64,
        lost: lost as u64,
        rounds: traces.iter().map(|trace| trace.programs[index].rounds).sum(),
        round_ns: traces.iter().filter_map(|t| round_ns(&program.kind, t, index)).collect(),
        rate_per_s: requests as f64 / seconds,
        utilisation,
        latency: latency_estimates(&latencies),
        inversions: matches!(program.kind, Kind::Service(_))
            .then(|| inversions(traces, index, requests))
            .filter(|_| requests > 0),
        outlier: outlier(&latencies, threshold, seconds),
    }
}

fn inversions(traces: &[&Trace], program: usize, requests: usize) -> Inversions {
    let total = |served: fn(&Request) -> Nanos| {
        let pairs = traces.iter().map(|t| inverted_pairs(window_requests(t, program), served));
        pairs.sum::<u64>() as f64 / requests as f64
    };
    Inversions { start: total(|request| request.started), completion: total(|r| r.completed) }
}

/// The share of the machine that each program used, over the time between the readings: a real machine's
/// first one comes after the window's start, by as long as it took to read the other counters.
fn utilisations(scenario: &Scenario, traces: &[&Trace]) -> Vec<f64> {
    let (mut seconds, mut used) = (0.0, vec![0.0; scenario.programs.len()]);
    for trace in traces {
        let (Some(first), Some(last)) = (trace.usage.first(), trace.usage.last()) else { continue };
        seconds += last.at.saturating_sub(first.at).as_secs_f64();
        let mut own = vec![0.0; used.len()];
        for (thread, received_s) in trace.threads.iter().zip(received_s(first, last)) {
            own[thread.program] += received_s;
        }
        used.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    let whole = f64::from(scenario.machine.cpus) * seconds;
    let share = |used: f64| if seconds > 0.0 { used / whole } else { 0.0 };
    used.into_iter().map(share).collect()
}

/// The measured time of all runs.
fn seconds(traces: &[&Trace]) -> f64 {
    traces.iter().map(|trace| trace.window.span().as_secs_f64()).sum()
}
