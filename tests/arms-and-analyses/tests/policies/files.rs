//! Policies in files of their own: they run, they do what they claim, and mistakes are said.

use std::path::Path;

use crate::fairness::{shipped, summary, worst_share};
use model::event::Event;
use model::{Arm, Events, Failure, Nanos, PolicySpec, Scenario, Silent};
use sim::SimArm;

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policy/examples");
    folder.join(name).with_extension("c").display().to_string()
}

fn brief(name: &str) -> Scenario {
    Scenario { duration: Nanos::from_secs(3), ..shipped(name) }
}

fn events(scenario: &Scenario, policy: &str) -> Vec<Event> {
    let policy = PolicySpec::parse(policy).unwrap();
    let events =
        SimArm.run(scenario, &policy, 7, Events::Recorded, &Silent).unwrap().events.unwrap();
    assert!(events.len() > 500, "{policy}: {} events", events.len());
    events
}

/// What a policy of that source does to a short scenario.
fn verdict(source: &str) -> Result<(), Failure> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.c");
    std::fs::write(&path, source).unwrap();
    let spec = PolicySpec::parse(&path.display().to_string()).unwrap();
    SimArm.run(&brief("four-cpus-and-batch"), &spec, 7, Events::Omitted, &Silent).map(drop)
}

fn template() -> String {
    std::fs::read_to_string(example("template")).unwrap()
}

#[test]
fn fifo_decides_as_the_built_in_global() {
    for name in ["service-and-batch", "four-cpus-and-batch", "fork-join", "weights-nice-5-on-4"] {
        let scenario = brief(name);
        let ours = events(&scenario, "global");
        let file = events(&scenario, &format!("{}:slice=20ms", example("fifo")));
        let parted = ours.iter().zip(&file).find(|(a, b)| a != b);
        assert_eq!(parted, None, "{name}");
        assert_eq!(ours.len(), file.len(), "{name}");
        let other = events(&scenario, &format!("{}:slice=4ms", example("fifo")));
        assert_ne!(ours, other, "{name}: another slice must show");
    }
}

#[test]
fn examples_share_by_what_they_look_at() {
    for (scenario, example_name, control) in [
        ("weights-nice-5", "vtime", "fifo"),
        ("weights-nice-5-on-4", "vtime", "fifo"),
        ("weights-groups", "flat", "vtime"),
        ("weights-groups-on-4", "flat", "vtime"),
        ("weights-nested", "flat", "vtime"),
        ("weights-nested-on-4", "flat", "vtime"),
    ] {
        let worst = |name: &str| worst_share(&summary(&shipped(scenario), &example(name)));
        let (off, control) = (worst(example_name), worst(control));
        println!("{scenario}: {example_name} off by {off:.4}, control {control:.4}");
        assert!(off < 0.02, "{scenario}: {example_name} is off by {off}");
        assert!(control > 0.1, "{scenario}: the control is off by {control} only");
    }
}

#[test]
fn vtime_shares_as_the_built_in_but_lets_waking_threads_wait() {
    let scenario = shipped("weights-nice-5");
    let [ours, file] =
        ["vtime".to_string(), example("vtime")].map(|p| worst_share(&summary(&scenario, &p)));
    assert!((ours - file).abs() < 0.02, "{ours} and {file}");
    let service = brief("service-and-batch");
    let [ours, file] = ["vtime".to_string(), example("vtime")].map(|policy| {
        let summary = summary(&service, &policy);
        crate::fairness::p99(&summary)
    });
    println!("p99 of service-and-batch: built in {ours}, vtime.c {file}");
    assert!(
        file.0 > ours.0 * 11 / 10,
        "{ours} and {file}: no thread is preempted for a waking one"
    );
}

#[test]
fn the_template_runs_at_once_and_the_same_way_each_time() {
    assert_eq!(verdict(&template()), Ok(()));
    let scenario = brief("four-cpus-and-batch");
    assert_eq!(events(&scenario, &example("template")), events(&scenario, &example("template")));
}

#[test]
fn mistakes_in_a_source_are_bad_input_with_their_place() {
    for (from, to, said) in [
        ("return cpu;", "return cpus;", "mine.c:"),
        (
            "#define QUEUE 0",
            "#define QUEUE 0\nstatic u64 count;\nu64 f(void) { return count++; }",
            "`count`",
        ),
        ("RG_WITHOUT(idle)", "", "lacks the callback rg_idle"),
        ("RG_STATELESS(rg_pool);", "", "RG_STATELESS(rg_pool)"),
        ("rg_now();", "bpf_ktime_get_ns();", "bpf_ktime_get_ns"),
    ] {
        let source = template();
        assert!(source.contains(from), "{from}");
        match verdict(&source.replacen(from, to, 1)) {
            Err(Failure::Input(message)) => assert!(message.contains(said), "{message}"),
            other => panic!("{to}: {other:?}"),
        }
    }
}

#[test]
fn a_forbidden_call_ends_the_run_and_not_the_process() {
    for (from, to, said) in [
        ("if (idle >= 0)\n\t\trg_kick(idle", "if (idle < 999)\n\t\trg_kick(999", "CPU 999"),
        ("(void)prev;", "(void)prev; rg_thread_id(0);", "NULL"),
        ("(void)prev;", "(void)prev; rg_acquire(rg_lock_of(QUEUE));", "lock"),
        ("(void)prev;", "rg_insert_local(prev, 1, 0);", "the policy"),
        ("return rg_queue_create(QUEUE);", "return rg_queue_create(RG_QUEUES);", "-22"),
        (
            "return rg_queue_create(QUEUE);",
            "rg_kick(999, 0); return rg_queue_create(QUEUE);",
            "CPU 999",
        ),
        ("return cpu;", "return cpu + 999;", "CPU 999"),
    ] {
        let source = template();
        assert!(source.contains(from), "{from}");
        match verdict(&source.replacen(from, to, 1)) {
            Err(Failure::Run(message)) => assert!(message.contains(said), "{to}: {message}"),
            other => panic!("{to}: {other:?}"),
        }
    }
}

#[test]
fn other_mistakes_name_their_remedy() {
    for (policy, said) in [
        ("./nowhere.c".to_string(), "new-policy"),
        // The project's own source has options that no policy in a file is told.
        (
            format!("{}/../../policy/policy.c", env!("CARGO_MANIFEST_DIR")),
            "rg_options of defaults.h",
        ),
        (format!("{}:pick=thread", example("fifo")), "slice"),
        (format!("{}:slice=10us", example("fifo")), "100 us"),
    ] {
        let spec = PolicySpec::parse(&policy).unwrap();
        match SimArm.check(&brief("null-rpc"), &spec) {
            Err(Failure::Input(message)) => assert!(message.contains(said), "{message}"),
            other => panic!("{policy}: {other:?}"),
        }
    }
}
