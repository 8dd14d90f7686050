//! Leaves and roots that are whole machines: what they do alone they do in a cluster.

use cluster::{Cluster, Outcome};
use model::{Arm, Events, Failure, PolicySpec, Scenario, Silent};
use sim::SimArm;
use stats::{latency_estimates, window_latencies};

const SCENARIO: &str = r#"# One service on one CPU beside four spinning threads.
duration = "20s"
machine.cpus = 1
[[program]]
name = "web"
kind = "service"
service_time = "500us"
arrivals.utilisation = 0.4
[[program]]
name = "hogs"
kind = "batch"
threads = 4
"#;

/// Machines as leaves of a search.
fn outcome(policy: &str, fan_out: u32) -> Outcome {
    let leaf = format!("servers = {fan_out}, replicas = 1, {}", machine(policy));
    run(&format!("fan_out = {fan_out}\narrivals.utilisation = 0.4\nleaf = {{ {leaf} }}"))
}

/// One machine as root before leaves that take no time: 800 requests a second are 40% of it.
fn behind_a_root(policy: &str) -> Outcome {
    let root = format!("servers = 1, {}", machine(policy));
    let leaf = "servers = 8, service_time = \"1ns\"";
    run(&format!("arrivals.rate = \"800/s\"\nroot = {{ {root} }}\nleaf = {{ {leaf} }}"))
}

fn machine(policy: &str) -> String {
    format!("machine = \"one.toml\", policy = \"{policy}\"")
}

fn run(text: &str) -> Outcome {
    let text = format!("# A test.\nduration = \"20s\"\noutlier_threshold = \"5ms\"\n{text}");
    let find = |_: &str| Ok(SCENARIO.to_string());
    let cluster =
        Cluster::read(&text, "test.toml", &find).unwrap_or_else(|failure| panic!("{failure}"));
    cluster.run(&cluster.cases()[0], 1, &Silent).expect("no interrupt")
}

/// One machine in a cluster of one, against the same machine with its own client: the same load, other
/// arrivals.
#[test]
fn a_cluster_of_one_machine_is_that_machine() {
    let scenario = Scenario::read(SCENARIO, "one.toml").expect("valid");
    for policy in ["eevdf", "rearguard"] {
        let spec = PolicySpec::parse(policy).expect("a policy");
        let trace = SimArm.run(&scenario, &spec, 1, Events::Omitted, &Silent).expect("runs");
        let alone = latency_estimates(&[window_latencies(&trace, 0)]).expect("requests");
        for place in [outcome(policy, 1), behind_a_root(policy)] {
            let in_cluster = place.latency;
            for (a, b) in [(alone.p50, in_cluster.p50), (alone.p99, in_cluster.p99)] {
                assert!(
                    (a.value / b.value - 1.0).abs() < 0.15,
                    "{policy}: {a:?} alone, {b:?} in a cluster"
                );
            }
        }
    }
}

#[test]
fn a_scheduler_shows_in_the_cluster() {
    let (eevdf, rearguard) = (outcome("eevdf", 8), outcome("rearguard", 8));
    assert!(eevdf.latency.p50.value > 1.5 * rearguard.latency.p50.value, "{eevdf:?} {rearguard:?}");
    let sub = |outcome: &Outcome| outcome.sub_outliers.expect("answers").value;
    assert!(eevdf.outliers.value > 2.0 * sub(&eevdf), "fan-out multiplies outliers");
    assert_eq!(outcome("rearguard", 8), rearguard, "the same seed, the same outcome");
    let (eevdf, rearguard) = (behind_a_root("eevdf"), behind_a_root("rearguard"));
    assert!(eevdf.latency.p99.value > 1.5 * rearguard.latency.p99.value, "{eevdf:?} {rearguard:?}");
    assert_eq!(behind_a_root("rearguard"), rearguard, "the same seed, the same outcome");
}

#[test]
fn machines_that_cannot_serve_are_refused() {
    let cluster = |machine: &'static str, policy: &str, more: &str| {
        let text = format!(
            "# x\nduration = \"1s\"\narrivals.utilisation = 0.4\nleaf = {{ servers = 2, machine = \"m\", policy = \"{policy}\" }}\n{more}"
        );
        let find = move |_: &str| Ok(machine.to_string());
        Cluster::read(&text, "a.toml", &find)
            .and_then(|cluster| cluster.run(&cluster.cases()[0], 1, &Silent))
            .map(|_| ())
    };
    let says = |found: Result<(), Failure>, words: &str| {
        let failure = found.expect_err(words).to_string();
        assert!(failure.contains(words), "{failure}");
    };
    let batch = "# x\nduration = \"1s\"\nmachine.cpus = 1\n[[program]]\nname = \"b\"\nkind = \"batch\"\nthreads = 1\n";
    says(cluster(batch, "cts", ""), "no service that could be asked");
    says(cluster(SCENARIO, "nobody", ""), "unknown to the simulator");
    says(cluster("x = 1", "cts", ""), "unknown key");
    says(cluster(SCENARIO, "cts", "dispatch = \"central\""), "no queue to bind late to");
    assert_eq!(cluster(SCENARIO, "cts", ""), Ok(()), "control");
}

/// A few bytes name a scenario, whose threads each machine has.
#[test]
fn machines_are_as_many_as_there_is_memory_for() {
    let read = |servers: u32, threads: u32| {
        let scenario = SCENARIO.replace("threads = 4", &format!("threads = {threads}"));
        let leaf = format!("servers = {servers}, replicas = 1, {}", machine("eevdf"));
        let text =
            format!("# A test.\nduration = \"1ms\"\narrivals.rate = \"1/s\"\nleaf = {{ {leaf} }}");
        Cluster::read(&text, "test.toml", &|_| Ok(scenario.clone())).map(|_| ())
    };
    for (servers, threads) in [(1_000_000, 4), (300, 65_536)] {
        let Err(Failure::Input(message)) = read(servers, threads) else { panic!("{servers}") };
        assert!(message.contains("too much memory") && message.contains("test.toml"), "{message}");
        assert!(message.contains("fewer servers"), "{message}");
    }
    read(10_000, 4).expect("control: ten thousand small ones");
    read(20, 65_536).expect("control: twenty large ones");
}
