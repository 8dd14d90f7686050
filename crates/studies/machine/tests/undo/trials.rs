//! Trials of knobs: which mattered, and nothing left behind.

use std::fs;
use std::path::Path;
use std::time::Duration;

use machine::tune::Scope;
use machine::tune::trial::{self, Outcome, Trial};
use machine::{Machine, Stop};
use model::{Answer, Failure};

use crate::fake::assert_same;
use crate::{alive, machine, tree};

/// A trial whose measurement looks at the tree: it has a figure that the governor halves and nothing else
/// touches.
fn trial(root: &Path, measure: &str) -> Result<Outcome, Failure> {
    let machine = alive(root);
    let trial = planned(&machine, &["governor", "irq-affinity=0"], measure);
    trial::run(&machine, &trial, &Stop::new(false), &mut |_, _, _| {})
}

fn planned(machine: &Machine, knobs: &[&str], measure: &str) -> Trial {
    Trial {
        knobs: knobs.iter().map(|knob| knob.to_string()).collect(),
        service: Some(Scope::of_process(machine.on(), tree::SERVICE).expect("a service")),
        measure: measure.into(),
        key: "latency_ns.p99_9".into(),
        blocks: 3,
        seed: 1,
        settle: Duration::ZERO,
    }
}

fn halved(root: &Path) -> String {
    let file = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let file = root.join(file).display().to_string();
    format!(
        "grep -q performance {file} && p=50 || p=100; echo '{{\"latency_ns\": {{\"p99_9\": '$p'}}}}'"
    )
}

#[test]
fn the_knob_that_matters_is_found_and_the_other_is_not() {
    let (folder, before) = machine();
    let outcome = trial(folder.path(), &halved(folder.path())).expect("an outcome");
    let answers: Vec<Answer> = outcome.results.iter().map(|one| one.answer).collect();
    use Answer::{Better, CannotTell};
    assert_eq!(answers, [CannotTell, CannotTell, Better, CannotTell, Better]);
    assert!((outcome.results[2].ratio.value - 0.5).abs() < 1e-9);
    assert_eq!(outcome.results[4].figures, [Some(50.0); 3]);
    assert_same(folder.path(), &before, "after a trial");
}

#[test]
fn an_impossible_knob_is_refused_before_the_first_run() {
    let (folder, _) = machine();
    let machine = alive(folder.path());
    let trial = planned(&machine, &["governor", "dedicated-cpus=1"], &halved(folder.path()));
    let run = || {
        let mut runs = 0;
        let outcome = trial::run(&machine, &trial, &Stop::new(false), &mut |_, _, _| runs += 1);
        (outcome.err().map(|failure| failure.exit_code()), runs)
    };
    assert_eq!(run(), (None, 5 * 3), "the control");
    fs::remove_file(folder.path().join("sys/fs/cgroup/cgroup.controllers")).expect("removed");
    assert_eq!(run(), (Some(3), 0));
}

#[test]
fn a_measurement_that_fails_leaves_nothing() {
    for (measure, word) in [
        ("exit 3", "exit status: 3"),
        ("echo no document", "--json"),
        ("echo '{}'", "--key"),
        ("echo '{\"latency_ns\": {\"p99_9\": null}}'", "--key"),
    ] {
        let (folder, before) = machine();
        let failure = trial(folder.path(), measure).unwrap_err();
        assert!(failure.to_string().contains(word), "{failure}");
        assert_same(folder.path(), &before, measure);
    }
}

#[test]
fn one_run_without_a_figure_does_not_take_the_others_along() {
    let (folder, before) = machine();
    let aside = tempfile::tempdir().expect("a folder");
    let measure = failing_once(folder.path(), &aside.path().join("count"));
    let outcome = trial(folder.path(), &measure).expect("an outcome");
    assert_eq!(outcome.failures.len(), 1);
    assert!(outcome.failures[0].contains("exit status: 1"), "{:?}", outcome.failures);
    let figures = outcome.results.iter().flat_map(|one| &one.figures);
    assert_eq!(figures.filter(|figure| figure.is_none()).count(), 1);
    assert_eq!(outcome.results[2].answer, Answer::Better, "{:?}", outcome.results[2]);
    assert_same(folder.path(), &before, "after a trial");
}

/// The third run fails.
fn failing_once(root: &Path, count: &Path) -> String {
    let (count, measure) = (count.display(), halved(root));
    format!("echo >> {count}; [ $(wc -l < {count}) = 3 ] && exit 1; {measure}")
}
