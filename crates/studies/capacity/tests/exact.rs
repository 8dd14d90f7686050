//! Capacities beside what closed forms say they are, and beside what chance may make of them.

use std::path::Path;

use capacity::{Objective, Study};
use experiment::{Runner, Source, Store};
use model::{Answer, Failure, PolicySpec, Silent};
use queue::exact::MDc;
use report::capacity::CapacityRun;
use report::document::Estimate;
use sim::SimArm;

/// A service of 20 ms with Poisson arrivals, of which the kernel's part of 15 us is nothing; a batch process
/// beside it where that is asked.
fn scenario(cpus: u32, batch: bool) -> String {
    let batch =
        if batch { "[[program]]\nname = \"batch\"\nkind = \"batch\"\nthreads = 4\n" } else { "" };
    format!(
        "# A.\nduration = \"150s\"\nwarm_up = \"20s\"\noutlier_threshold = \"200ms\"\n[machine]\ncpus = {cpus}\n\
         [[program]]\nname = \"web\"\nkind = \"service\"\nservice_time = \"20ms\"\n\
         arrivals = {{ utilisation = 0.5 }}\n{batch}"
    )
}

fn study(
    text: &str,
    policies: &[&str],
    seeds: u64,
    folder: &Path,
    jobs: usize,
) -> Result<CapacityRun, Failure> {
    let store = Store::open(folder).unwrap();
    let study = Study {
        source: Source { file: "a.toml".into(), text: text.into(), edits: Vec::new() },
        service: None,
        objective: "200ms=1%".parse::<Objective>().unwrap(),
        policies: policies.iter().map(|name| PolicySpec::plain(name)).collect(),
        seeds: (1..=seeds).collect(),
        runner: Runner { arm: &SimArm, store: &store, jobs, until: None },
    };
    study.run(&Silent)
}

fn found(text: &str, policies: &[&str]) -> CapacityRun {
    study(text, policies, 5, tempfile::tempdir().unwrap().path(), 2).unwrap()
}

/// The load at which the p99 of M/D/c is ten service times, requests a second.
fn exact(cpus: u32) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if MDc::new(cpus, middle).unwrap().quantile(0.99) <= 10.0 {
            low = middle
        } else {
            high = middle
        }
    }
    low * f64::from(cpus) * 50.0
}

fn assert_holds(interval: Estimate, truth: f64) {
    let (low, high) = (interval.low.unwrap(), interval.high.unwrap());
    assert!(low <= truth && truth <= high, "{interval:?} without {truth}");
    // And says something: the whole interval is near.
    assert!(low > 0.8 * truth && high < 1.2 * truth, "{interval:?} around {truth}");
}

#[test]
fn the_ideal_and_first_come_first_served_carry_what_the_closed_form_says() {
    for cpus in [1, 2] {
        let run = found(&scenario(cpus, false), &["fifo"]);
        assert_holds(run.ideal.rate_per_s, exact(cpus));
        assert_holds(run.policies[0].rate_per_s, exact(cpus));
    }
}

/// The controls: a policy that serves the last to come first, and one that lets batch work delay a service.
#[test]
fn a_worse_policy_carries_less() {
    let last_first = found(&scenario(1, false), &["fifo", "lcfs"]);
    assert_eq!(last_first.verdicts[0].answer, Answer::Worse, "{:?}", last_first.verdicts);
    let beside_batch = found(&scenario(1, true), &["fifo", "cfs"]);
    assert_eq!(beside_batch.verdicts[0].answer, Answer::Worse, "{:?}", beside_batch.verdicts);
    // Batch work takes next to nothing from a real-time class.
    let of_ideal = beside_batch.policies[0].of_ideal.value.unwrap();
    assert!(of_ideal > 0.95 && of_ideal <= 1.0, "{of_ideal}");
}

#[test]
fn the_same_seeds_give_the_same_bytes_and_finished_loads_are_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = |folder: &Path, jobs| study(&scenario(1, true), &["eevdf"], 2, folder, jobs).unwrap();
    let first = report::json(&run(folder.path(), 1));
    assert_eq!(first, report::json(&run(tempfile::tempdir().unwrap().path(), 3)));
    let files = || std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap());
    let written =
        || -> Vec<_> { files().map(|file| file.metadata().unwrap().modified().unwrap()).collect() };
    let before = written();
    assert_eq!(first, report::json(&run(folder.path(), 2)));
    assert_eq!(before, written());
}

#[test]
fn a_search_goes_from_loads_that_meet_to_one_that_fails() {
    let run = found(&scenario(1, false), &["fifo"]);
    let points = &run.policies[0].points;
    let (last, least) = (points.last().unwrap(), points.first().unwrap());
    assert_eq!((least.answer.as_str(), last.answer.as_str()), ("meets", "fails"));
    assert!(points.len() <= 45 && points.is_sorted_by(|a, b| a.rate_per_s < b.rate_per_s));
}

#[test]
fn what_cannot_be_found_is_told_before_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = |text: &str| study(text, &["fifo"], 1, folder.path(), 1).unwrap_err().to_string();
    let slow = scenario(1, false).replace("20ms", "300ms");
    assert!(wrong(&slow).contains("every request takes 300 ms"), "{}", wrong(&slow));
    let short = scenario(1, false).replace("150s", "1s");
    assert!(
        wrong(&short).contains("ask for more --seeds or a longer --duration"),
        "{}",
        wrong(&short)
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
