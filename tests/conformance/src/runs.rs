//! One run, and what is asked of it.

use libtest_mimic::Failed;
use model::scenario::Kind;
use model::{Arm, Events, Nanos, PolicySpec, Scenario, Silent, Trace};
use queue::ideal_latencies;
use stats::{Summary, summarise, window_latencies};

/// A scenario of a second on so many CPUs, and its programs.
pub fn scenario(cpus: u32, programs: &str) -> Result<Scenario, Failed> {
    timed_scenario(["200ms", "1s"], cpus, programs)
}

/// A scenario with so long a warm-up and a window.
pub fn timed_scenario(times: [&str; 2], cpus: u32, programs: &str) -> Result<Scenario, Failed> {
    let [warm_up, duration] = times;
    let text = format!(
        "# Conformance.\nduration = \"{duration}\"\nwarm_up = \"{warm_up}\"\n[machine]\ncpus = {cpus}\n{programs}"
    );
    Ok(Scenario::read(&text, "conformance.toml")?)
}

/// A table of a service that wants this share of the machine.
pub fn service(service_time: &str, utilisation: f64) -> String {
    format!(
        "[[program]]\nname = \"service\"\nkind = \"service\"\nservice_time = \"{service_time}\"\n\
         arrivals = {{ law = \"poisson\", utilisation = {utilisation} }}\n"
    )
}

/// A table of a process of spinning threads, and lines to add to it.
pub fn batch(name: &str, threads: u32, more: &str) -> String {
    format!("[[program]]\nname = \"{name}\"\nkind = \"batch\"\nthreads = {threads}\n{more}\n")
}

/// A run under a policy.
pub struct Seen {
    scenario: Scenario,
    trace: Trace,
    /// Its figures.
    pub summary: Summary,
}

/// Runs a scenario under a policy, once.
pub fn run(arm: &dyn Arm, scenario: &Scenario, policy: &str) -> Result<Seen, Failed> {
    let policy = PolicySpec::parse(policy)?;
    arm.check(scenario, &policy)?;
    let trace = arm.run(scenario, &policy, 1, Events::Omitted, &Silent)?;
    let summary = summarise(scenario, &[&trace]);
    Ok(Seen { scenario: scenario.clone(), trace, summary })
}

/// A run with its scheduling events, where the arm has them.
pub fn recorded(arm: &dyn Arm, scenario: &Scenario, policy: &str) -> Result<Trace, Failed> {
    let policy = PolicySpec::parse(policy)?;
    arm.check(scenario, &policy)?;
    Ok(arm.run(scenario, &policy, 1, Events::Recorded, &Silent)?)
}

impl Seen {
    /// Pairs served out of order, a request, by start or by completion: whichever are more.
    pub fn inversions(&self) -> f64 {
        let inversions = self.summary.programs[0].inversions.unwrap_or_default();
        inversions.start.max(inversions.completion)
    }

    /// The share of the machine that a program got.
    pub fn share(&self, program: usize) -> f64 {
        self.summary.programs[program].utilisation
    }

    /// The longest span of the window, as far as samples tell, in which a thread received nothing.
    pub fn longest_wait(&self, thread: usize) -> Nanos {
        let mut since = None;
        let mut longest = Nanos::ZERO;
        for usage in &self.trace.usage {
            let received = usage.cpu_time[thread];
            match since {
                Some((from, seen)) if seen == received => longest = longest.max(usage.at - from),
                _ => since = Some((usage.at, received)),
            }
        }
        longest
    }

    /// The share of the machine that was idle.
    pub fn idle(&self) -> f64 {
        1.0 - self.summary.programs.iter().map(|program| program.utilisation).sum::<f64>()
    }

    /// The first program's p99 over that of the ideal queue for its own arrivals and service times.
    pub fn excess_p99(&self) -> f64 {
        let Kind::Service(service) = &self.scenario.programs[0].kind else { return f64::NAN };
        let requests = &self.trace.programs[0].requests;
        let workers = self.scenario.machine.cpus.min(service.threads());
        let all = ideal_latencies(&self.trace, 0, workers);
        let inside = requests.iter().map(|request| self.trace.window.contains(request.intended));
        let ideal: Vec<Nanos> =
            all.into_iter().zip(inside).filter_map(|(at, inside)| inside.then_some(at)).collect();
        p99(window_latencies(&self.trace, 0)) / p99(ideal)
    }
}

fn p99(latencies: Vec<Nanos>) -> f64 {
    slower_than(latencies, 990)
}

/// The p99.9 of latencies.
pub fn p99_9(latencies: Vec<Nanos>) -> f64 {
    slower_than(latencies, 999)
}

/// What so many in a thousand do not reach.
fn slower_than(mut latencies: Vec<Nanos>, per_mille: usize) -> f64 {
    latencies.sort_unstable();
    let rank = latencies.len() * per_mille / 1000;
    latencies.get(rank).map_or(f64::NAN, |latency| latency.0 as f64)
}

/// Fails with the figures unless `holds`.
pub fn expect(holds: bool, what: &str, figures: &[f64]) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(format!("{what}: {figures:.4?}").into()) }
}
