//! Gates of a small simulated scenario, between seeds that share nothing.

use gate::{Judged, Least, Outcome, Recorded, Runner, Source, judge};
use model::PolicySpec;
use sim::SimArm;

pub const SEEDS: u64 = 6;

/// A service beside batch work, with this service time.
fn text(service_us: u64, first_seed: u64) -> String {
    let seeds: Vec<u64> = (first_seed..first_seed + SEEDS).collect();
    format!(
        "# A service beside batch work.\nduration = \"1s\"\nwarm_up = \"200ms\"\nseeds = {seeds:?}\n\
         outlier_threshold = \"2ms\"\n[machine]\ncpus = 1\n\
         [[program]]\nname = \"web\"\nkind = \"service\"\narchitecture = \"thread-per-connection\"\n\
         connections = 64\nservice_time = {{ law = \"exponential\", mean = \"{service_us}us\" }}\n\
         arrivals = {{ law = \"poisson\", rate = \"800/s\" }}\n\
         [[program]]\nname = \"batch\"\nkind = \"batch\"\nthreads = 2\n"
    )
}

pub fn record(policy: &str, service_us: u64, first_seed: u64) -> Recorded {
    let policy = PolicySpec::plain(policy);
    let runner = Runner { arm: &SimArm, policy: &policy, jobs: Some(1) };
    let source = Source { name: "small.toml".into(), text: text(service_us, first_seed) };
    runner.record(&source, None, &model::Silent).expect("a run")
}

/// What a gate says whose sides have other arrivals, services and all: the hardest of equals.
pub fn gate(trial: u64, base_us: u64, now_us: u64) -> Outcome {
    let base = record("rearguard", base_us, 1 + trial * 2 * SEEDS);
    let now = record("rearguard", now_us, 1 + (trial * 2 + 1) * SEEDS);
    judge(&[base], &[now], Least(0.01)).expect("the same scenario")
}

/// What a gate says whose sides have the same arrivals, as those of a user have.
pub fn paired(trial: u64, base_us: u64, now_us: u64) -> Outcome {
    let first = 1 + trial * SEEDS;
    let (base, now) = (record("rearguard", base_us, first), record("rearguard", now_us, first));
    judge(&[base], &[now], Least(0.01)).expect("the same scenario")
}

pub fn figure<'a>(outcome: &'a Outcome, name: &str) -> &'a Judged {
    outcome.0.iter().find(|judged| judged.figure == name).expect("such a figure")
}
