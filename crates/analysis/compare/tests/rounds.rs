//! Programs that do the same again and again: how long one time takes is compared, and nothing else of them.

mod common;

use common::{MadeUp, Run, until_sure, whole};
use model::trace::{ProgramTrace, Request, ThreadTrace, Usage};
use model::{Answer, Nanos, Scenario, Trace};
use report::document::Verdict;
use report::{Document, ROUND};

/// Runs of a command that take 10 ms under `a` and this many times as long under `b`, give or take.
fn made_up(times: f64, scenario: &Scenario, policy: &str, seed: u64) -> Trace {
    let (times, lot) = if policy == "b" { (times, seed + 1) } else { (1.0, seed) };
    let give_or_take = 1.0 + 0.01 * (lot % 3) as f64;
    let took = Nanos((1e7 * times * give_or_take) as u64);
    let end = scenario.duration;
    let run = |i: u64| Request::at_once(Nanos(took.0 * i), Nanos(took.0 * (i + 1)), took);
    let requests: Vec<Request> = (0..end.0.div_ceil(took.0)).map(run).collect();
    let usage = |at| Usage { at, cpu_time: vec![at, at] };
    let rounds = requests.iter().filter(|run| run.received <= end).count() as u64;
    Trace {
        programs: vec![
            ProgramTrace { requests, rounds, ..ProgramTrace::default() },
            ProgramTrace::default(),
        ],
        threads: vec![ThreadTrace { program: 0 }, ThreadTrace { program: 1 }],
        usage: vec![usage(Nanos::ZERO), usage(end)],
        ..Trace::default()
    }
}

const FIRST: &str = "[[program]]\nname = \"bench\"\nkind = \"command\"\ncommand = [\"true\"]\n";

fn compared(first: &str, times: f64, run: Run) -> Document {
    let text = format!(
        "# A.\nduration = \"1s\"\n[machine]\ncpus = 2\n{first}[[program]]\nname = \"spins\"\nkind = \"batch\"\n"
    );
    let made = |scenario: &Scenario, policy: &str, seed| made_up(times, scenario, policy, seed);
    let arm = MadeUp { run: made, exclusive: true };
    common::compared(&text, 6, &arm, run)
}

fn verdict(document: &Document) -> &Verdict {
    let mut against = document.verdicts.iter().filter(|one| one.a != one.b);
    against.find(|one| one.metric == ROUND).expect("a verdict")
}

#[test]
fn the_time_of_a_run_is_told_apart_and_only_where_it_differs() {
    for (times, answer) in [(1.2, Answer::Worse), (0.8, Answer::Better), (1.0, Answer::CannotTell)]
    {
        let document = compared(FIRST, times, whole);
        let found = verdict(&document);
        assert_eq!(found.answer, answer, "{times}");
        assert!((found.ratio.value.expect("a ratio") - times).abs() < 0.01, "{found:?}");
        assert!(document.verdicts.iter().all(|one| one.metric == ROUND), "no latency of a run");
    }
}

#[test]
fn a_command_has_runs_and_no_requests() {
    let document = compared(FIRST, 1.2, whole);
    let [bench, spins] = &document.shown()[0].programs[..] else { panic!("two programs") };
    assert_eq!((bench.requests, bench.latency_ns, bench.rounds), (0, None, Some(594)));
    let round_ns = bench.round_ns.expect("a time").value.expect("a number");
    assert!((round_ns / 1.01e7 - 1.0).abs() < 0.001, "{round_ns}");
    assert_eq!((spins.round_ns, spins.rounds), (None, None), "control");
    let table = report::table(&document, 120);
    assert!(table.contains("command bench: time of a round"), "{table}");
}

/// Nobody says how many threads a command has.
#[test]
fn beside_a_command_nothing_is_due() {
    let due = |first: &str| {
        let document = compared(first, 1.0, whole);
        document.shown()[0].groups.iter().map(|one| one.due_share).collect::<Vec<_>>()
    };
    assert_eq!(due(FIRST), [None, None]);
    let batch = "[[program]]\nname = \"other\"\nkind = \"batch\"\n";
    assert_eq!(due(batch), [Some(0.5), Some(0.5)], "control");
}

#[test]
fn seeds_are_added_until_the_time_of_a_run_is_told() {
    let looks = |times: f64| compared(FIRST, times, until_sure).looks.expect("looks");
    assert!(looks(1.2).is_sure && looks(1.2).taken == 1);
    assert!(!looks(1.015).is_sure, "less than runs differ by");
}
