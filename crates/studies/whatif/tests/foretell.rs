//! Foretellings held against what happens when the change is made: of simulated traces that is known exactly.

mod support;

use model::edit::Edit;
use model::{Answer, Nanos, Silent};
use report::document::Estimate;
use report::whatif::WhatIf;
use sim::SimArm;
use sim::costs::Costs;
use support::{policy, recorded};
use trace::Recorded;
use whatif::{Change, Found, Question, foretell, scenario, usual};

const BESIDE_BATCH: &str = "# A service beside batch work.\nduration = \"4s\"\n\
    [machine]\ncpus = 2\n[[group]]\nname = \"work\"\nweight = 100\n\
    [[program]]\nname = \"web\"\nkind = \"service\"\nservice_time = \"400us\"\n\
    arrivals = { utilisation = 0.4 }\n\
    [[program]]\nname = \"batch\"\nkind = \"batch\"\nthreads = 4\n";
const BESIDE_DAEMONS: &str = "# A service beside daemons.\nduration = \"4s\"\n\
    [machine]\ncpus = 1\n[[program]]\nname = \"web\"\nkind = \"service\"\nservice_time = \"300us\"\n\
    arrivals = { utilisation = 0.5 }\n\
    [[program]]\nname = \"daemon\"\nkind = \"daemon\"\nthreads = 3\nrun = \"2ms\"\nsleep = \"31ms\"\n";
const PARTITIONED: &str = "# Workers with connections of their own.\nduration = \"4s\"\n\
    [machine]\ncpus = 2\n[[program]]\nname = \"web\"\nkind = \"service\"\nservice_time = \"300us\"\n\
    architecture = \"partitioned\"\nworkers = 2\narrivals = { utilisation = 0.5 }\n\
    [[program]]\nname = \"batch\"\nkind = \"batch\"\n";

/// The same trace as one of a server that no scenario describes.
fn unknown(mut recorded: Recorded) -> Recorded {
    recorded.header.scenario_text = String::new();
    recorded
}

fn found(recorded: &Recorded) -> Found {
    scenario(recorded, Costs::DEFAULT.switch).unwrap_or_else(|failure| panic!("{failure}"))
}

fn asked(recorded: &Recorded, found: &Found, policies: &[&str], edits: &[Edit]) -> WhatIf {
    let now = policy(&recorded.header.policy);
    let names = if policies.is_empty() { vec![now.name.as_str()] } else { policies.to_vec() };
    let change = |name: &str| Change { edits: edits.to_vec(), ..Change::to(policy(name)) };
    let changes: Vec<Change> = names.into_iter().map(change).collect();
    let question = Question { now: now.clone(), changes: &changes, seeds: vec![1, 2, 3] };
    foretell(recorded, found, &question, &SimArm, &Silent)
        .unwrap_or_else(|failure| panic!("{failure}"))
}

/// p99.9 in ns, as it is when the change is made.
fn truth(text: &str, name: &str) -> f64 {
    let runs = [stats::window_latencies(&recorded(text, name).trace, 0)];
    stats::latency_estimates(&runs).expect("requests").p99_9.value
}

#[test]
fn what_is_foretold_comes_true() {
    let (mut told, mut within) = (0, 0);
    for text in [BESIDE_BATCH, BESIDE_DAEMONS, PARTITIONED] {
        for strange in [false, true] {
            let recorded = recorded(text, "eevdf");
            let recorded = if strange { unknown(recorded) } else { recorded };
            let found = found(&recorded);
            let document = asked(&recorded, &found, &["rearguard", "fifo", "cfs"], &[]);
            for one in &document.services[0].foretold {
                let Some(foretold) = one.latency_ns.p99_9.value else { continue };
                let truth = truth(text, &one.policy);
                let off = foretold / truth;
                assert!((0.5..=2.0).contains(&off), "{text}{}: {foretold} for {truth}", one.policy);
                let (low, high) = (one.latency_ns.p99_9.low, one.latency_ns.p99_9.high);
                let holds = low.is_some_and(|low| low <= truth * 1.05)
                    && high.is_none_or(|high| high >= truth * 0.95);
                (told, within) = (told + 1, within + u32::from(holds));
            }
        }
    }
    println!("{within} of {told} foretold figures within their intervals");
    assert!(told >= 15 && 10 * within >= 8 * told, "{within} of {told} within the interval");
}

#[test]
fn a_model_that_lacks_the_cause_foretells_nothing() {
    let recorded = unknown(recorded(BESIDE_BATCH, "eevdf"));
    let whole = found(&recorded);
    let of =
        |found: &Found| asked(&recorded, found, &["fifo"], &[]).services[0].foretold[0].clone();
    let control = of(&whole);
    assert!(control.answer == Answer::Better && control.ratio.value.is_some(), "{control:?}");
    let batch = whole.text.find("\n[[program]]\nname = \"batch").expect("it is there");
    let lacking = Found { text: whole.text[..batch].to_string(), ..whole };
    let foretold = of(&lacking);
    assert_eq!((foretold.answer, foretold.latency_ns.p99_9.value), (Answer::CannotTell, None));
    assert_eq!(foretold.ratio, Estimate::default(), "nor by what factor");
}

#[test]
fn keys_of_the_scenario_can_be_changed() {
    let recorded = recorded(BESIDE_DAEMONS, "eevdf");
    let found = found(&recorded);
    let edit = ["machine.cpus=4".parse().expect("an edit")];
    let document = asked(&recorded, &found, &[], &edit);
    let one = &document.services[0].foretold[0];
    assert_eq!((&one.policy[..], one.answer), ("eevdf", Answer::Better));
    let truth =
        truth(&BESIDE_DAEMONS.replace("cpus = 1", "cpus = 4").replace("0.5", "0.125"), "eevdf");
    let foretold = one.latency_ns.p99_9.value.expect("the model holds");
    assert!((0.8..1.25).contains(&(foretold / truth)), "{foretold} for {truth}");
}

/// Seeds of the same requests hardly differ, so each difference is sure of them; what the model lacks is not.
#[test]
fn what_differs_by_less_than_the_model_may_lack_is_no_change() {
    let text = BESIDE_BATCH.replace("cpus = 2", "cpus = 1").replace("threads = 4", "threads = 20");
    let recorded = recorded(&text, "eevdf");
    let found = found(&recorded);
    let told = |threads: u32| {
        let edit = [format!("program.\"batch\".threads={threads}").parse().expect("an edit")];
        let one = asked(&recorded, &found, &[], &edit).services[0].foretold[0].clone();
        let by_seeds = Answer::of(one.ratio.low.expect("seeds"), one.ratio.high.expect("seeds"));
        (by_seeds, one.answer)
    };
    let (better, worse, none) = (Answer::Better, Answer::Worse, Answer::CannotTell);
    assert_eq!(told(19), (better, none));
    assert_eq!([5, 60].map(told), [(better, better), (worse, worse)], "the controls");
}

#[test]
fn how_requests_reach_threads_is_told_by_how_they_took_them_up() {
    let shared = PARTITIONED.replace("partitioned", "shared-queue");
    let all = [
        (PARTITIONED, "partitioned"),
        (&shared, "shared-queue"),
        (BESIDE_BATCH, "thread-per-connection"),
    ];
    for (text, expected) in all {
        for name in ["eevdf", "fifo", "rearguard"] {
            let found = found(&unknown(recorded(text, name)));
            let own = format!("architecture = \"{expected}\"");
            assert!(found.text.contains(&own), "{expected} under {name}");
            assert!(found.assumptions[0].contains(expected), "what was inferred is said");
        }
    }
}

#[test]
fn traces_without_events_or_requests_are_refused() {
    let mut without = recorded(BESIDE_BATCH, "eevdf");
    without.trace.events = None;
    let said = scenario(&without, Nanos::ZERO).unwrap_err();
    assert!(said.exit_code() == 2 && said.to_string().contains("no scheduling events"), "{said}");
    let mut idle = recorded(BESIDE_BATCH, "eevdf");
    idle.trace.programs.iter_mut().for_each(|program| program.requests.clear());
    assert!(scenario(&idle, Nanos::ZERO).unwrap_err().to_string().contains("has no requests"));
}

#[test]
fn the_usual_changes_are_foretold_and_what_each_costs_is_said() {
    let recorded = recorded(BESIDE_DAEMONS, "eevdf");
    let found = found(&recorded);
    let now = policy("eevdf");
    let changes = usual(&found, &now, "a.toml").expect("a scenario");
    let question = Question { now, changes: &changes, seeds: vec![1, 2, 3] };
    let document = foretell(&recorded, &found, &question, &SimArm, &Silent).expect("it runs");
    let all = &document.services[0].foretold;
    assert!(all.iter().all(|one| one.costs.is_some()));
    let answer = |words: &str| {
        let named = |one: &&report::whatif::Foretold| {
            one.policy == words || one.changes.iter().any(|change| change.starts_with(words))
        };
        all.iter().find(named).map(|one| one.answer)
    };
    for helps in ["fifo", "without daemon", "machine.cpus"] {
        assert_eq!(answer(helps), Some(Answer::Better), "{helps}");
    }
    assert!(answer("program.\"web\".nice").is_some());
}

/// The policies that are changes by themselves.
fn alone(changes: &[Change]) -> Vec<&str> {
    let alone = |one: &&Change| one.edits.is_empty() && one.without.is_empty();
    changes.iter().filter(alone).map(|one| &one.policy.name[..]).collect()
}

/// The scenario begins with those that do the least.
#[test]
fn the_busiest_neighbours_are_sent_away_and_the_policy_that_ran_is_no_change() {
    let daemon = |name: &str, run: &str| {
        format!(
            "[[program]]\nname = \"{name}\"\nkind = \"daemon\"\nthreads = 1\nrun = \"{run}\"\n\
             sleep = \"20ms\"\n"
        )
    };
    let more = [("a", "100us"), ("b", "200us"), ("c", "1ms"), ("d", "4ms"), ("e", "2ms")];
    let more: String = more.iter().map(|(name, run)| daemon(name, run)).collect();
    let text =
        BESIDE_BATCH.split("[[program]]\nname = \"batch\"").next().expect("a text").to_string();
    for (strange, expected) in [(false, ["d", "e", "c"]), (true, ["d-p4", "e-p5", "c-p3"])] {
        let recorded = recorded(&(text.clone() + &more), "fifo");
        let recorded = if strange { unknown(recorded) } else { recorded };
        let all = usual(&found(&recorded), &policy("fifo"), "a.toml").expect("a scenario");
        let gone: Vec<&String> = all.iter().flat_map(|change| &change.without).collect();
        assert_eq!(gone, expected);
        assert_eq!(alone(&all), ["rearguard"]);
        let control = usual(&found(&recorded), &policy("eevdf"), "a.toml").expect("a scenario");
        assert_eq!(alone(&control), ["rearguard", "fifo"]);
    }
}
