//! Roots of each kind: queues with slow episodes, measured distributions, machines.

use cluster::{Cluster, Outcome};
use model::{Failure, PolicySpec, Silent};

/// One answer in ten takes 90 to 100 ms, all others at most 2.
const BIMODAL: &str = r#"{ "ccdf": [{ "latency_ns": 1000000, "proportion": 0.9 }, { "latency_ns": 2000000, "proportion": 0.1 },
    { "latency_ns": 90000000, "proportion": 0.0999 }], "latency_ns": { "max": 100000000 } }"#;

const FRONT: &str = r#"# A front end with a CPU to itself.
duration = "1s"
machine.cpus = 1
[[program]]
name = "front"
kind = "service"
service_time = { law = "exponential", mean = "500us" }
arrivals.utilisation = 0.5"#;

const BATCH: &str = r#"# No servers.
duration = "1s"
machine.cpus = 1
[[program]]
name = "batch"
kind = "batch"
threads = 1"#;

fn read(text: &str) -> Result<Cluster, Failure> {
    let find = |name: &str| match name {
        "bimodal" => Ok(BIMODAL.to_string()),
        "front" => Ok(FRONT.to_string()),
        "batch" => Ok(BATCH.to_string()),
        _ => Err(Failure::Input(format!("no {name}"))),
    };
    let text = format!("# A test.\noutlier_threshold = \"50ms\"\n{text}");
    Cluster::read(&text, "test.toml", &find)
}

fn run(text: &str) -> Outcome {
    let cluster = read(text).unwrap_or_else(|failure| panic!("{failure}"));
    cluster.run(&cluster.cases()[0], cluster.seed, &Silent).expect("no interrupt")
}

fn near(found: f64, exact: f64, by: f64) {
    assert!((found - exact).abs() < by, "{found}, exact {exact}");
}

const SEARCH: &str = r#"
    duration = "200s"
    fan_out = 10
    arrivals.rate = "1k/s"
    leaf = { servers = 10, replicas = 1, measured = "bimodal" }"#;

#[test]
fn a_measured_root_multiplies_as_one_leaf_more() {
    let outliers = |root: &str| run(&format!("{SEARCH}\n{root}")).outliers.value;
    near(outliers(""), 1.0 - 0.9f64.powi(10), 0.005);
    let root = "servers = 5, measured = \"bimodal\"";
    near(outliers(&format!("root = {{ {root} }}")), 1.0 - 0.9f64.powi(11), 0.005);
    let merging = format!("root = {{ {root}, merge.measured = \"bimodal\" }}");
    near(outliers(&merging), 1.0 - 0.9f64.powi(12), 0.005);
}

/// Leaves that take no time behind a thousand roots, so that many are slow at any moment.
fn rooted(root: &str) -> Outcome {
    run(&format!(
        r#"duration = "200s"
        arrivals.rate = "1k/s"
        leaf = {{ servers = 8, service_time = "1ns" }}
        root = {{ servers = 1000, {root} }}"#
    ))
}

/// A server that is slow when it fans out is slow when it merges: one outlier, not two chances of one.
#[test]
fn a_slow_root_is_slow_twice() {
    let measured = "measured = \"bimodal\", merge.measured = \"bimodal\"";
    near(rooted(measured).outliers.value, 1.0 - 0.9f64.powi(2), 0.005);
    let slow = format!("{measured}, slow = {{ share = 0.1, length = \"2s\" }}");
    near(rooted(&slow).outliers.value, 0.1, 0.01);
}

#[test]
fn a_slow_root_slows_its_visits_under_way() {
    let queue = "service_time = \"1ms\"";
    assert_eq!(rooted(queue).outliers.value, 0.0, "control");
    let slow = format!("{queue}, slow = {{ share = 0.1, length = \"10s\", factor = 100 }}");
    near(rooted(&slow).outliers.value, 0.1, 0.01);
}

/// The Jackson network of `answers.rs` with a machine as its root, whose kernel costs a little.
#[test]
fn a_machine_puts_answers_together_in_the_queue_in_which_requests_come() {
    let mean = |merge: &str| {
        let root = format!("servers = 1, machine = \"front\", policy = \"fifo\"{merge}");
        let text = "duration = \"100s\"\narrivals.rate = \"500/s\"\nleaf = { servers = 1000, service_time = \"1ms\" }";
        run(&format!("{text}\nroot = {{ {root} }}")).latency.mean.value
    };
    let merge = ", merge.service_time = { law = \"exponential\", mean = \"500us\" }";
    let exact = 2.0 * 0.5e6 / (1.0 - 0.5) + 1e6;
    near(mean(merge) / exact, 1.04, 0.06);
    // The control: once at 25%.
    let exact = 0.5e6 / (1.0 - 0.25) + 1e6;
    near(mean("") / exact, 1.02, 0.04);
}

#[test]
fn a_late_answer_of_a_root_is_lost() {
    let lost = |deadline: &str| {
        let outcome = rooted(&format!("measured = \"bimodal\" }}\n{deadline}\npartial = {{ "));
        (outcome.lost as f64 / outcome.requests as f64, outcome.quality)
    };
    let (share, quality) = lost("deadline = \"50ms\"");
    near(share, 0.1, 0.005);
    near(quality, 0.9, 0.005);
    assert_eq!(lost(""), (0.0, 1.0), "control");
}

#[test]
fn roots_that_cannot_serve_are_refused() {
    let wrong = |root: &str, words: &str| {
        let text = format!(
            "duration = \"1s\"\narrivals.utilisation = 0.5\nleaf = {{ servers = 4, service_time = \"1ms\" }}\nroot = {{ servers = 1, {root} }}"
        );
        let failure = read(&text).expect_err(root).to_string();
        assert!(failure.contains(words), "{root}: {failure}");
    };
    wrong("measured = \"bimodal\", workers = 2", "unknown key `workers`");
    wrong("measured = \"bimodal\", merge.service_time = \"1ms\"", "unknown key `service_time`");
    wrong("measured = \"gone\"", "no gone");
    wrong("service_time = \"1ms\", merge.measured = \"bimodal\"", "unknown key `measured`");
    wrong("machine = \"front\", policy = \"fifo\", slow = {}", "unknown key `slow`");
    wrong("machine = \"front\"", "missing key `policy`");
    wrong("machine = \"batch\", policy = \"fifo\"", "no service that could be asked");
    // 2,000 requests a second of 500 us each.
    wrong("machine = \"front\", policy = \"fifo\"", "the roots' utilisation is 1.000");
}

#[test]
fn a_policy_is_for_all_machines() {
    let policy = PolicySpec::parse("eevdf").expect("a policy");
    let text = |leaf: &str, root: &str| {
        format!(
            "duration = \"1s\"\narrivals.utilisation = 0.1\nleaf = {{ servers = 4, {leaf} }}\nroot = {{ servers = 9, {root} }}"
        )
    };
    let (machine, queue) = ("machine = \"front\", policy = \"fifo\"", "service_time = \"1ms\"");
    let mut both = read(&text(machine, machine)).expect("valid");
    both.set_policy(&policy).expect("machines");
    let root = both.root.as_ref().and_then(|root| root.tier.machine.as_ref());
    let leaf = both.leaf.tier.machine.as_ref();
    assert!([root, leaf].iter().all(|one| one.is_some_and(|one| one.policy == policy)));
    read(&text(queue, machine)).expect("valid").set_policy(&policy).expect("a machine");
    let none = read(&text(queue, queue)).expect("valid").set_policy(&policy);
    let says = none.expect_err("queues have no policy").to_string();
    assert!(says.contains("no server of the cluster is a machine"), "{says}");
}
