//! The scenarios that ship with Rearguard.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use model::Scenario;
use model::scenario::Kind;

fn shipped() -> Vec<Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let mut scenarios = Vec::new();
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in paths.filter(|path| path.is_file()) {
        let text = fs::read_to_string(&path).unwrap();
        let read = Scenario::read(&text, &path.display().to_string());
        scenarios.push(read.unwrap_or_else(|failure| panic!("{failure}")));
    }
    scenarios
}

/// The share of the machine that its services and what runs beside them want; 0 without a service, which
/// alone has a backlog.
fn wanted(scenario: &Scenario) -> f64 {
    if !scenario.programs.iter().any(|program| matches!(program.kind, Kind::Service(_))) {
        return 0.0;
    }
    let cpus = f64::from(scenario.machine.cpus);
    let share = |kind: &Kind| match kind {
        Kind::Service(service) => service.utilisation(scenario.machine.cpus),
        Kind::Daemon { threads, run, sleep } => {
            f64::from(*threads) * run.as_secs_f64() / (*run + *sleep).as_secs_f64() / cpus
        }
        Kind::Periodic { threads, run, period } => {
            f64::from(*threads) * run.as_secs_f64() / period.as_secs_f64() / cpus
        }
        Kind::Batch { .. } | Kind::ForkJoin { .. } | Kind::Replay { .. } | Kind::Command { .. } => {
            0.0
        }
    };
    scenario.programs.iter().map(|program| share(&program.kind)).sum()
}

#[test]
fn all_of_them_are_there_and_have_names_of_their_own() {
    let scenarios = shipped();
    let names: BTreeSet<&str> = scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    assert_eq!(names.len(), scenarios.len());
    let promised = [
        "null-rpc",
        "service-and-batch",
        "greedy-service",
        "long-service",
        "four-cpus",
        "four-cpus-and-batch",
        "sleeping-siblings",
        "napping-spinner",
        "gvts-fig7",
        "gvts-fig8",
        "gvts-fig9",
        "infeasible-weight",
        "batch-share",
        "batch-share-on-4",
        "overloaded-service",
        "tales-shared-queue",
        "tales-partitioned",
        "background-daemons",
        "fork-join",
    ];
    for name in promised {
        assert!(names.contains(name), "{name} is missing");
    }
}

#[test]
fn each_scenario_is_readable_feasible_and_large_enough() {
    for scenario in shipped() {
        let (name, shows) = (&scenario.name, &scenario.shows);
        assert!(shows.len() > 40 && shows.ends_with(['.', '?']), "{name}: {shows}");
        let overloaded = wanted(&scenario) >= 1.0;
        assert_eq!(shows.contains("wants more than"), overloaded, "{name}: {}", wanted(&scenario));
        assert_eq!(scenario.warnings().len(), usize::from(overloaded), "{name}");
    }
}

/// The control of the test above: a tenth of the time is too short for a p99.9, and double the load is too
/// much.
#[test]
fn a_short_or_overloaded_run_is_warned_of() {
    let scenarios = shipped();
    let mut scenario = scenarios.into_iter().find(|scenario| scenario.name == "null-rpc").unwrap();
    scenario.duration.0 /= 10;
    let warning = "the p99.9 of `service` rests on 4.8 requests, 20 are needed: a duration of 5s, or more seeds";
    assert_eq!(scenario.warnings(), [warning]);
    scenario.duration.0 *= 10;
    let Kind::Service(service) = &mut scenario.programs[0].kind else { panic!("no service") };
    service.service_time.0 *= 2;
    service.arrivals = model::scenario::Arrivals::Rate(0.01);
    let warnings = scenario.warnings();
    assert!(warnings[0].contains("its rate is too low for any duration"), "{warnings:?}");
    let Kind::Service(service) = &mut scenario.programs[0].kind else { panic!("no service") };
    service.arrivals = model::scenario::Arrivals::Rate(1_600.0);
    let warning = "`service` wants 160% of the machine: its backlog grows as long as it runs";
    assert_eq!(scenario.warnings(), [warning]);
}

#[test]
fn check_says_what_a_scenario_holds() {
    let scenarios = shipped();
    let scenario = scenarios.iter().find(|scenario| scenario.name == "gvts-fig9").unwrap();
    let expected = "\
scenario  gvts-fig9
shows     Two groups of equal weight with 8 and 12 spinning threads on 16 CPUs, as in GVTS Figures 2 and 9: is a group's share its own?
machine   16 CPUs, 2 a core, 2 last-level caches, 2 NUMA nodes
time      10.0 s after a warm-up of 1.00 s; seeds 1, 2, 3; outliers above 10.0 ms
group     eight   weight 100
group     twelve  weight 100
program   eight   batch: 8 threads, spinning; group eight
program   twelve  batch: 12 threads, spinning; group twelve
";
    assert_eq!(scenario.describe(), expected);
}

/// The pieces of a text between two marks.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| rest.split(close).next()).collect()
}

#[test]
fn the_examples_of_the_documentation_are_scenarios() {
    let examples =
        between(include_str!("../../../../docs/reference/scenarios.md"), "```toml\n", "```");
    assert_eq!(examples.len(), 7);
    for example in examples {
        if let Err(failure) = Scenario::read(example, "docs/reference/scenarios.md") {
            panic!("{failure}");
        }
    }
}
