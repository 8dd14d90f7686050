//! How fast clusters are simulated: `cluster_speed FILE DISPATCH [DURATION]` prints CPU seconds, decisions,
//! events, the mean latency in ns and the memory at its most in MiB.

use cluster::{Cluster, Dispatch};
use model::{Failure, Silent, units};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Err(failure) = run(&args) {
        eprintln!("cluster_speed: {failure}");
        std::process::exit(failure.exit_code().into());
    }
}

fn run(args: &[String]) -> Result<(), Failure> {
    let [file, dispatch, duration @ ..] = args else {
        return Err(Failure::Input("expected FILE DISPATCH [DURATION]".to_string()));
    };
    let text = std::fs::read_to_string(file).map_err(|e| Failure::Input(format!("{file}: {e}")))?;
    let find = |name: &str| Err(Failure::Input(format!("{name}: no measurements here")));
    let mut cluster = Cluster::read(&text, file, &find)?;
    cluster.dispatch = vec![dispatch.parse::<Dispatch>()?];
    if let Some(duration) = duration.first() {
        cluster.duration = units::duration(duration).map_err(Failure::Input)?;
    }
    let outcome = cluster.run(&cluster.cases()[0], cluster.seed, &Silent)?;
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|e| Failure::Machine(e.to_string()))?;
    let cpu_s = (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6;
    // The warm-up is simulated too, at the same rate.
    let whole = 1.0 + cluster.warm_up.as_secs_f64() / outcome.seconds;
    let (decisions, events) = (outcome.decisions as f64 * whole, outcome.events as f64 * whole);
    let memory = usage.max_rss() / 1_024;
    println!("{cpu_s:.3} {decisions:.0} {events:.0} {:.0} {memory}", outcome.latency.mean.value);
    Ok(())
}
