//! What `rearguard` promises where threads are bound to CPUs, help, take turns or loop over events. Each
//! promise stands beside a run without the rule that keeps it, or under a policy that has none.

use crate::fairness::{due, over_due, runs, summary};
use crate::tails::tails;
use model::{Nanos, Scenario, Trace};

/// A case of this folder, with some words of its text replaced.
pub fn case_with(name: &str, replaced: &[(&str, &str)]) -> Scenario {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
    let mut text = std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap();
    for (from, to) in replaced {
        assert!(text.contains(from), "{name}: {from}");
        text = text.replace(from, to);
    }
    Scenario { seeds: vec![1], ..Scenario::read(&text, name).unwrap() }
}

pub fn case(name: &str) -> Scenario {
    case_with(name, &[])
}

fn run(scenario: &Scenario, policy: &str) -> Trace {
    runs(scenario, policy).remove(0)
}

/// The share of the machine that the first group got; without groups, the first program.
pub fn received(scenario: &Scenario, policy: &str) -> f64 {
    summary(scenario, policy).groups[0].share
}

/// The p99.9 of the first program over the ideal's; requests that were lost are infinitely late.
pub fn excess(scenario: &Scenario, policy: &str) -> f64 {
    tails(scenario, &run(scenario, policy)).excess(0.999)
}

/// The same where the first program has so many of the machine's CPUs to run on.
fn excess_on(cpus: u32, scenario: &Scenario, policy: &str) -> f64 {
    let machine = model::scenario::Machine { cpus, ..scenario.machine };
    let its = Scenario { machine, ..scenario.clone() };
    tails(&its, &run(scenario, policy)).excess(0.999)
}

/// On so many CPUs the service has its p99.9 below `most` times the ideal; the control, under the class that
/// `rearguard` replaces, above `eevdf`.
#[track_caller]
pub fn keeps_its_tail(cpus: u32, scenario: &Scenario, what: &str, [most, eevdf]: [f64; 2]) {
    let [at, control] = ["rearguard", "eevdf"].map(|policy| excess_on(cpus, scenario, policy));
    assert!(at < most, "{what}: {at}");
    assert!(control > eevdf, "{what}: {control}");
}

/// The longest wait of any request of the first program that came in the measured part.
fn latest(scenario: &Scenario, policy: &str) -> Nanos {
    let trace = run(scenario, policy);
    let requests = trace.programs[0].requests.iter();
    let inside = requests.filter(|request| trace.window.contains(request.intended));
    inside.map(|request| request.latency()).max().unwrap()
}

#[test]
fn no_cpu_sleeps_beside_a_thread_however_many_others_may_not_run_there() {
    for threads in ["threads = 10\n", "threads = 100\n", "threads = 1000\n"] {
        let scenario = case_with("cpuset-fork-join", &[("threads = 100\n", threads)]);
        let [ours, eevdf] = ["rearguard", "eevdf"].map(|policy| received(&scenario, policy));
        assert!(ours > 0.95 * eevdf, "{threads}: {ours}, {eevdf}");
    }
    // The control: one of its two CPUs asleep.
    let half = case_with("cpuset-fork-join", &[("[0, 1]", "[0]")]);
    let [half, both] = [half, case("cpuset-fork-join")].map(|case| received(&case, "rearguard"));
    assert!(half < 0.95 * both, "{half}, {both}");
}

#[test]
fn a_service_on_cpus_of_its_own_is_alone_there() {
    // Its group's CPUs are two.
    keeps_its_tail(2, &case("cpuset-service"), "on two CPUs", [1.1, 1.1]);
}

#[test]
fn threads_that_leave_an_overloaded_cpu_overrun_nobody() {
    let scenario = case_with("released-spinners", &[("120s", "30s")]);
    let late = latest(&scenario, "rearguard");
    assert!(late < Nanos::from_millis(200), "{late}");
    // With a virtual time for each queue of its own nothing bounds what is owed.
    let control = latest(&scenario, "cts");
    assert!(control > Nanos::from_secs(1), "{control}");
}

#[test]
fn a_server_of_bursts_keeps_its_tail_beside_threads_that_spin() {
    let scenario = case_with("released-spinners", &[("120s", "30s")]);
    let at = excess(&scenario, "rearguard");
    assert!(at < 1.2, "{at}");
    let control = excess(&scenario, "rearguard:wakeup_credit=on");
    assert!(control > 5.0, "{control}");
}

#[test]
fn an_event_loop_is_not_late_behind_threads_that_run_rarely() {
    let spread = [("cpus = 4", "cpus = 8\nllcs = 2"), ("0.7", "0.6"), ("0.025", "0.0125")];
    let longer = [&spread[..], &[("500us", "2ms")]].concat();
    let cases = [("on four CPUs", &[][..], 20.0), ("on two caches", &longer, 12.0)];
    for (what, replaced, most) in cases {
        let scenario = case_with("loop-and-service", replaced);
        let [at, eevdf] = ["rearguard", "eevdf"].map(|policy| excess(&scenario, policy));
        assert!(at < most && at < eevdf, "{what}: {at}, {eevdf}");
    }
    // Without batch threads there is no clock.
    let control = excess(&case("loop-and-service"), "rearguard:burst_limit=off");
    assert!(control > 50.0, "{control}");
}

#[test]
fn a_group_whose_threads_take_turns_keeps_to_its_weight() {
    // The more threads take turns, the slower their group swings about its due.
    let cases = [
        ("200", "4", "20s", 1.2),
        ("200", "40", "20s", 1.2),
        ("200", "8", "20s", 1.2),
        ("1000", "4", "60s", 1.05),
    ];
    for (threads, spinners, duration, without) in cases {
        let threads = format!("threads = {threads}");
        let spinners = format!("threads = {spinners}");
        let scenario = case_with(
            "taking-turns",
            &[("threads = 200", &threads), ("threads = 4", &spinners), ("20s", duration)],
        );
        let at = over_due(&summary(&scenario, "rearguard"), "turns");
        assert!(at < 1.02, "{threads} beside {spinners}: {at}");
        let control = over_due(&summary(&scenario, "cts"), "turns");
        assert!(control > without, "{threads} beside {spinners}: {control}");
    }
}

#[test]
fn a_group_with_a_bound_thread_keeps_to_its_weight() {
    let scenario = case("bound-and-turns");
    // Weights 100 and 1,000, and the bound thread's CPU has room for its group's part.
    let due = 1.0 / 11.0;
    let [at, control] = ["rearguard", NO_ACCOUNTS].map(|policy| received(&scenario, policy) / due);
    assert!((0.95..1.08).contains(&at), "{at}");
    assert!(control > 2.0, "{control}");
}

#[test]
fn what_a_bound_thread_finds_left_over_costs_nobody_on_other_cpus() {
    let scenario = case("bound-neighbours");
    let low = |scenario: &Scenario| {
        let parts = summary(scenario, "rearguard").groups;
        parts.iter().find(|part| part.name == "low").expect("a program").share
    };
    let at = low(&scenario);
    assert!(at < 0.01, "nice 19 beside nice 0 is due 0.7% of two CPUs: {at}");
    let control = low(&case_with("bound-neighbours", &[("nice = 19", "nice = 0")]));
    assert!(control > 0.1, "{control}");
    let [at, control] = ["rearguard", NOT_CONVERGED].map(|policy| excess(&scenario, policy));
    assert!(at < 1.1, "{at}");
    assert!(control > 3.0, "{control}");
}

#[test]
fn a_service_bound_to_a_cpu_keeps_its_tail() {
    // From 12 to 60% of one of two CPUs, beside a thread of nice 19 that is bound there, too.
    for part in ["0.06", "0.1", "0.25", "0.3"] {
        let replaced = [("utilisation = 0.3", &*format!("utilisation = {part}"))];
        let scenario = case_with("bound-service", &replaced);
        keeps_its_tail(1, &scenario, part, [1.1, 2.0]);
    }
    keeps_its_tail(1, &case("bound-light-group"), "in a light group", [1.1, 5.0]);
}

#[test]
fn a_service_bound_to_a_cpu_is_not_late_for_light_threads_that_wake_there_at_once() {
    let scenario = case("bound-and-periodic");
    let [at, control] = ["rearguard", NO_ACCOUNTS].map(|policy| excess_on(1, &scenario, policy));
    assert!(at < 1.3, "{at}");
    assert!(control > 1.8, "{control}");
}

#[test]
fn a_service_of_a_cpu_is_not_late_for_threads_that_wake_there_at_once_and_run_for_long() {
    let bound = "\n[[change]]\nat = \"0s\"\nprogram = \"NAME\"\ncpus = [1]\n";
    let bound = ["web", "parts"].map(|name| bound.replace("NAME", name)).concat();
    for (machine, part, work, bound) in [
        ("cpus = 1", "0.1", "5ms", ""),
        ("cpus = 1", "0.1", "20ms", ""),
        ("cpus = 2", "0.05", "20ms", &*bound),
    ] {
        let work = format!("work = \"{work}\"{bound}");
        let replaced = [("cpus = 1", machine), ("0.1", part), ("work = \"20ms\"", &work)];
        let scenario = case_with("bound-fork-join", &replaced);
        keeps_its_tail(1, &scenario, &format!("{machine}, {work}"), [1.3, 5.0]);
    }
}

#[test]
fn a_bound_service_of_a_heavy_group_keeps_what_it_is_owed_when_virtual_times_meet() {
    keeps_its_tail(1, &case("bound-heavy-group"), "in a heavy group", [1.1, 2.0]);
}

#[test]
fn a_service_that_had_its_cpus_to_itself_is_not_late_when_others_come() {
    let [released, own, others] = ["cpus = [0, 1]", "cpus = [0]", "cpus = [1]"];
    let created = [(released, "threads = 3"), (others, "threads = 0")];
    let set = [
        (released, "cpus = [0, 1, 2, 3]"),
        (own, "cpus = [0, 1]"),
        (others, "cpus = [2, 3]"),
        ("cpus = 2\n", "cpus = 4\n"),
        ("threads = 3", "threads = 9"),
        ("utilisation = 0.3", "utilisation = 0.2"),
    ];
    for (cpus, replaced) in [(1, &[][..]), (1, &created), (2, &set)] {
        let drawn = |seed| Scenario { seeds: vec![seed], ..case_with("alone-then-met", replaced) };
        let worst = |policy: &str| {
            [2, 3].map(|seed| excess_on(cpus, &drawn(seed), policy)).into_iter().fold(0.0, f64::max)
        };
        let [at, control] = ["rearguard", NOT_CONVERGED].map(worst);
        assert!(at < 4.0, "{replaced:?}: {at}");
        assert!(control > 8.0, "{replaced:?}: {control}");
    }
}

#[test]
fn a_service_is_not_late_when_threads_that_starved_have_their_turn() {
    for cpus in [1, 4] {
        let [machine, threads] = [format!("cpus = {cpus}\n"), format!("threads = {}", 40 * cpus)];
        let replaced = [("cpus = 1\n", &*machine), ("threads = 40", &*threads)];
        let scenario = case_with("starved-siblings", &replaced);
        keeps_its_tail(cpus, &scenario, &machine, [1.1, 50.0]);
    }
}

#[test]
fn a_light_group_does_not_have_a_cache_to_itself_while_threads_wait_in_others() {
    let scenario = case("light-and-fork-join");
    let at = |policy: &str| over_due(&summary(&scenario, policy), "light");
    let [ours, eevdf] = ["rearguard", "eevdf"].map(at);
    assert!(ours < 1.2, "{ours}");
    assert!(eevdf > 5.0, "{eevdf}");
}

#[test]
fn a_group_of_groups_keeps_to_its_weight() {
    let scenario = case("nested-groups");
    let at = |policy: &str| over_due(&summary(&scenario, policy), "light");
    assert!(at("rearguard") < 1.02, "{}", at("rearguard"));
    assert!(at("cts") > 1.04, "{}", at("cts"));
}

/// Beside `min_vruntime=queue`, under which no group has an account of what it is owed.
pub const NO_ACCOUNTS: &str = "rearguard:min_vruntime=queue";

/// Where virtual times that meet stay apart.
const NOT_CONVERGED: &str = "rearguard:min_vruntime=target";

#[test]
fn what_heavy_members_cannot_use_goes_to_the_light_ones_of_their_group() {
    let machines = ["cpus = 1", "cpus = 4", "cpus = 8\nllcs = 2"];
    for (machine, threads, used, weight) in [
        (machines[0], 4, "0.3", 1),
        (machines[1], 2, "0.1", 1),
        (machines[1], 4, "0.3", 10),
        (machines[1], 40, "0.2", 1),
        (machines[2], 20, "0.2", 1),
    ] {
        let scenario = case_with(
            "light-subgroup",
            &[
                ("cpus = 4", machine),
                ("threads = 4", &format!("threads = {threads}")),
                ("utilisation = 0.2", &format!("utilisation = {used}")),
                ("weight = 1\n", &format!("weight = {weight}\n")),
            ],
        );
        let at = |policy: &str| over_due(&summary(&scenario, policy), "mixed");
        let (ours, control) = (at("rearguard"), at(NO_ACCOUNTS));
        assert!((0.98..1.02).contains(&ours), "{machine}, {threads} threads: {ours}");
        assert!((control - 1.0).abs() > 0.03, "{machine}, {threads} threads: {control}");
    }
    let tail = excess(&case("light-subgroup"), "rearguard");
    assert!(tail < 1.1, "{tail}");
}

#[test]
fn a_thread_that_spins_has_its_share_beside_those_that_nap() {
    for (machine, threads, run_ms) in
        [("cpus = 4", 4, 50), ("cpus = 8\nllcs = 2", 8, 500), ("cpus = 12", 24, 20)]
    {
        let threads = format!("threads = {threads}");
        let run_ms = format!("{run_ms}ms");
        let scenario = case_with(
            "naps",
            &[("cpus = 4", machine), ("threads = 4", &threads), ("50ms", &run_ms)],
        );
        let at = |policy: &str| over_due(&summary(&scenario, policy), "spin");
        let (ours, control) = (at("rearguard"), at("rearguard:infeasible=off"));
        assert!(ours > 0.96, "{machine}, {threads}: {ours}");
        assert!(control < 0.6, "{machine}, {threads}: {control}");
        let tail = excess(&scenario, "rearguard");
        assert!(tail < 1.1, "{machine}, {threads}: {tail}");
    }
}

#[test]
fn what_a_thread_could_not_use_is_not_owed_when_others_come() {
    let scenario = case("light-neighbour");
    for policy in ["rearguard", "cts"] {
        let spin = over_due(&summary(&scenario, policy), "spin");
        assert!((0.9..1.1).contains(&spin), "{policy}: {spin}");
        let tail = excess(&scenario, policy);
        assert!(tail < 1.1, "{policy}: {tail}");
    }
    // A CPU for as long as the run lasts.
    let control = over_due(&summary(&scenario, "gvts"), "spin");
    assert!(control > 2.0, "{control}");
    let light = |policy: &str| over_due(&summary(&scenario, policy), "light");
    assert!(light("rearguard") > 0.7, "{}", light("rearguard"));
    assert!(light("rearguard:infeasible=off") < 0.3, "{}", light("rearguard:infeasible=off"));
}

#[test]
fn a_group_whose_threads_meet_keeps_to_its_weight() {
    for (machine, work) in
        [("cpus = 3", "200us"), ("cpus = 3", "5ms"), ("cpus = 6\nllcs = 2", "1ms")]
    {
        let scenario = case_with("barrier-group", &[("cpus = 3", machine), ("200us", work)]);
        let at = |policy: &str| over_due(&summary(&scenario, policy), "barrier");
        assert!(at("rearguard") < 1.02, "{machine}, {work}: {}", at("rearguard"));
    }
    let control = over_due(&summary(&case("barrier-group"), "cts"), "barrier");
    assert!(control > 1.05, "{control}");
}

#[test]
fn requests_do_not_wait_for_helpers_of_their_process() {
    for (run, sleep) in [("5ms", "20ms"), ("20ms", "80ms"), ("40ms", "160ms"), ("200ms", "800ms")] {
        let replaced = [("run = \"20ms\"", &*format!("run = \"{run}\"")), ("80ms", sleep)];
        let scenario = case_with("helpers", &replaced);
        let at = excess(&scenario, "rearguard");
        assert!(at < 1.5, "{run}: {at}");
    }
    let control = excess(&case("helpers"), "rearguard:burst_limit=off");
    assert!(control > 5.0, "{control}");
}

#[test]
fn a_nice_value_counts_inside_a_process() {
    let at_nice = |nice: &str| case_with("nice-siblings", &[("nice = 10", nice)]);
    let excess_at = |nice: &str| excess(&at_nice(nice), "rearguard");
    // Shares: entry 0 is the service, 1 the threads with a nice value of their own.
    let over_due_at = |nice: &str| {
        let part = &summary(&at_nice(nice), "rearguard").groups[1];
        part.share / due(part)
    };
    assert!(excess_at("nice = 10") < 1.1, "{}", excess_at("nice = 10"));
    assert!((0.97..1.03).contains(&over_due_at("nice = 10")), "{}", over_due_at("nice = 10"));
    // As equals they take turns with the service's threads.
    assert!(excess_at("nice = 0") > 1.2, "{}", excess_at("nice = 0"));
}

#[test]
fn a_service_keeps_its_tail_beside_everything_at_once() {
    let scenario = case("mixture");
    keeps_its_tail(scenario.machine.cpus, &scenario, "mixture", [3.0, 10.0]);
}

/// The p99.9 of the requests of all programs.
fn latest_of_all(scenario: &Scenario, policy: &str) -> Nanos {
    let trace = run(scenario, policy);
    let requests = trace.programs.iter().flat_map(|program| &program.requests);
    let inside = requests.filter(|request| trace.window.contains(request.intended));
    let mut latencies: Vec<Nanos> = inside.map(|request| request.latency()).collect();
    latencies.sort();
    latencies[latencies.len() * 999 / 1000]
}

#[test]
fn processes_of_a_group_are_served_first_come_first_served_if_asked_for() {
    let scenario = case("prefork");
    let of_one = case_with(
        "prefork",
        &[("count = 64\n", ""), ("connections = 1", "connections = 64"), ("0.0125", "0.8")],
    );
    let one = latest_of_all(&of_one, "rearguard");
    for policy in ["rearguard", "cts"] {
        let group = latest_of_all(&scenario, &format!("{policy}:pick=group"));
        let process = latest_of_all(&scenario, policy);
        assert!(group.0 < one.0 * 3 / 2, "{policy}: {group}, {one}");
        assert!(process.0 > one.0 * 2, "{policy}: {process}, {one}");
    }
}

#[test]
fn an_event_loop_has_no_cliff_up_to_its_due_share() {
    // Five threads on four CPUs: 0.8 of a CPU is due.
    for part in ["0.025", "0.1", "0.12", "0.15"] {
        let replaced = [("utilisation = 0.15", &*format!("utilisation = {part}"))];
        let scenario = case_with("event-loop", &replaced);
        keeps_its_tail(1, &scenario, part, [1.5, 4.0]);
    }
}

#[test]
fn the_lightest_pinned_thread_gets_a_turn_every_few_seconds() {
    let scenario = case_with("pinned-nice-19", &[("120s", "60s")]);
    // Shares of the machine's two CPUs: entry 0 is the empty group `one`, 1 the pinned thread.
    let shares = |policy: &str| {
        summary(&scenario, policy).groups.iter().map(|g| g.share).collect::<Vec<_>>()
    };
    // Seconds of CPU time: a turn of 4 ms every 6 s makes 0.04 in these 60 s.
    let light = |policy: &str| shares(policy)[1] * scenario.duration.as_secs_f64() * 2.0;
    assert!(light("rearguard") > 0.03, "{:?}", shares("rearguard"));
    assert!(
        light("rearguard:starvation_limit=off") < 0.03,
        "{:?}",
        shares("rearguard:starvation_limit=off")
    );
}

/// A service of 300 us that wants a fifth of the machine, as text of a scenario.
fn a_service_on(machine: &str) -> String {
    format!(
        "# A service beside threads that spin.\nduration = \"5s\"\nseeds = [1]\n\n[machine]\n{machine}\n
[[program]]\nname = \"service\"\nkind = \"service\"\nservice_time = \"300us\"
arrivals = {{ utilisation = 0.2 }}\n"
    )
}

fn spinning(name: &str, threads: u32) -> String {
    format!("\n[[program]]\nname = \"{name}\"\nkind = \"batch\"\nthreads = {threads}\n")
}

/// The p99.9 of the service over the ideal under `rearguard`, and under another policy.
fn beside(text: &str, control: &str) -> [f64; 2] {
    let scenario = Scenario::read(text, "drawn").unwrap();
    ["rearguard", control].map(|policy| excess(&scenario, policy))
}

#[test]
fn a_service_is_not_late_for_pinned_threads_of_every_cpu() {
    let mut text = a_service_on("cpus = 16\nllcs = 2");
    for cpu in 0..16 {
        let name = format!("pinned-{cpu}");
        text += &spinning(&name, 2);
        text += &format!("\n[[change]]\nat = \"0s\"\nprogram = \"{name}\"\ncpus = [{cpu}]\n");
    }
    let [at, eevdf] = beside(&text, "eevdf");
    assert!(at < 1.1, "{at}");
    assert!(eevdf > 4.0, "{eevdf}");
}

#[test]
fn a_waking_thread_preempts_beyond_a_small_cache() {
    let text = a_service_on("cpus = 8\nllcs = 4") + &spinning("batch", 16);
    let [at, without] = beside(&text, "rearguard:preempt=off");
    assert!(at < 1.5, "{at}");
    assert!(without > 4.0, "{without}");
}

#[test]
fn more_cpusets_than_the_table_holds_do_not_delay_a_service() {
    let set = |name: &str, weight: u32, cpus: &str| {
        format!("\n[[group]]\nname = \"{name}\"\nweight = {weight}\ncpus = [{cpus}]\n")
    };
    let mut text = a_service_on("cpus = 96").replace("\"5s\"", "\"1s\"");
    text = text.replace("0.2 }", "0.02 }\ngroup = \"service\"");
    text += &set("service", 1000, "0, 1, 2, 3, 40, 41");
    for at in 0..90 {
        let name = format!("set-{at}");
        text += &set(&name, 100, &format!("{at}, {}, {}", at + 1, at + 2));
        text += &(spinning(&name, 4) + &format!("group = \"{name}\"\n"));
    }
    let scenario = Scenario::read(&text, "drawn").unwrap();
    let [at, eevdf] = ["rearguard", "eevdf"].map(|policy| latest(&scenario, policy));
    assert!(at < Nanos::from_millis(3), "{at}");
    assert!(eevdf > Nanos::from_millis(4), "{eevdf}");
}
