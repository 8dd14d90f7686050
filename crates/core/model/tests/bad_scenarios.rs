//! Every mistake in a scenario gets its exact message, and no text at all makes the reader panic.

use std::fmt::Write;

use model::scenario::Kind;
use model::{Failure, Nanos, Scenario};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

const BASE: &str = include_str!("bad/base.toml");

/// A mistake in [`BASE`] and what must be said about it.
#[derive(Default)]
struct Case {
    name: String,
    instead_of: String,
    by: String,
    message: String,
}

/// The cases of `bad/cases.txt`, which says how they are written.
fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in include_str!("bad/cases.txt").lines() {
        if let Some(name) = line.strip_prefix("## ") {
            cases.push(Case { name: name.to_string(), ..Case::default() });
        }
        let Some(case) = cases.last_mut() else { continue };
        match line.split_at_checked(1) {
            Some(("-", text)) => writeln!(case.instead_of, "{}", text.trim_start()).unwrap(),
            Some(("+", text)) => writeln!(case.by, "{}", text.trim_start()).unwrap(),
            Some(("#", _)) => {}
            _ => writeln!(case.message, "{line}").unwrap(),
        }
    }
    cases
}

#[test]
fn every_mistake_gets_its_message() {
    let cases = cases();
    assert!(cases.len() > 60, "{} cases", cases.len());
    for case in cases {
        assert!(BASE.contains(&case.instead_of), "{}: not in base.toml", case.name);
        let text = BASE.replacen(&case.instead_of, &case.by, 1);
        match Scenario::read(&text, "x.toml") {
            Err(Failure::Input(message)) => {
                assert_eq!(message.trim(), case.message.trim(), "\n## {}\n{message}\n", case.name);
            }
            other => panic!("{}: {other:?}", case.name),
        }
    }
}

/// The control: without a mistake the same text is a scenario.
#[test]
fn the_base_has_no_mistake() {
    let scenario = Scenario::read(BASE, "some/where/x.toml").unwrap();
    assert_eq!((scenario.name.as_str(), scenario.shows.as_str()), ("x", "A base for mistakes."));
    assert_eq!(scenario.groups[1].parent, Some(0));
    assert_eq!(scenario.programs[0].group, Some(1));
}

/// Zero needs no unit, in keys whose defaults it takes away.
#[test]
fn zero_is_a_duration() {
    let text = "nodes = 1\ntick_late = 0\nmigration = { core = 0, llc = 0 }";
    let scenario = Scenario::read(&BASE.replace("nodes = 1", text), "x.toml").unwrap();
    let migration = scenario.mechanisms.migration.expect("it stands there");
    assert_eq!((scenario.mechanisms.tick_late, migration.llc), (Some(Nanos::ZERO), Nanos::ZERO));
    let usual = Scenario::read(BASE, "x.toml").unwrap().mechanisms;
    assert_eq!((usual.tick_late, usual.migration), (None, None), "the control");
}

#[test]
fn all_problems_are_shown_in_the_order_of_the_file() {
    let text = BASE.replace("weight = 100", "weight = 0").replace("cpus = 4", "cpu = 4");
    let message = Scenario::read(&text, "x.toml").unwrap_err().to_string();
    let heads: Vec<&str> = message.lines().filter(|line| line.starts_with("x.toml")).collect();
    assert_eq!(
        heads,
        [
            "x.toml:8:1: machine: unknown key `cpu`; did you mean `cpus`?",
            "x.toml:15:10: weight: found the number 0; expected a whole number from 1 to 10000",
        ]
    );
}

/// TOML has them in comments: U+009B begins an escape sequence as ESC [ does.
#[test]
fn what_a_scenario_shows_is_fit_for_a_terminal() {
    let text = BASE.replacen("# A base", "# A \u{9b}2J base", 1);
    let scenario = Scenario::read(&text, "x.toml").expect("TOML has no objection");
    assert_eq!(scenario.shows, "A ?2J base for mistakes.");
    let wrong = BASE.replace("duration = \"", "duration = \"1\\u009b2J");
    let said = Scenario::read(&wrong, "x.toml").unwrap_err().to_string();
    assert!(said.contains("?2J") && !said.contains('\u{9b}'), "{said}");
}

/// What the types promise of a scenario, asked of whatever the reader lets through.
fn assert_valid(scenario: &Scenario) {
    let machine = scenario.machine;
    assert!((1..=4_096).contains(&machine.cpus));
    assert_eq!(machine.cpus % machine.llcs + machine.llcs % machine.nodes, 0);
    assert_eq!((machine.cpus / machine.llcs) % machine.smt, 0);
    assert!(scenario.duration > Nanos::ZERO && !scenario.seeds.is_empty());
    assert!(!scenario.programs.is_empty() && !scenario.shows.is_empty());
    for (i, group) in scenario.groups.iter().enumerate() {
        assert!(
            group.parent.is_none_or(|parent| parent < i) && (1..=10_000).contains(&group.weight)
        );
    }
    for program in &scenario.programs {
        assert!(program.group.is_none_or(|group| group < scenario.groups.len()));
        if let Kind::Service(service) = &program.kind {
            assert!(service.rate_per_s(machine.cpus) > 0.0 && service.service_time > Nanos::ZERO);
            assert!(
                service.threads() > 0 && service.request_bytes.min(service.response_bytes) >= 64
            );
            service.service_law.validate().and(service.arrival_law.validate()).unwrap();
        }
    }
    assert!(!scenario.describe().is_empty());
}

fn assert_read_or_refused(text: &str) {
    match Scenario::read(text, "x.toml") {
        Ok(scenario) => assert_valid(&scenario),
        Err(Failure::Input(message)) => assert!(message.starts_with("x.toml:"), "{message}"),
        Err(other) => panic!("{other:?}"),
    }
}

/// Values that stand where others were meant.
const VALUES: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "1e400",
    "nan",
    "9999999999999999999",
    "\"1s\"",
    "\"1k\"",
    "\"\"",
    "[7]",
    "[]",
    "{}",
];

/// The base with cuts, strange letters, doubled parts and other values: in its own words, and so deep in the
/// reader.
fn mangled() -> impl Strategy<Value = String> {
    let edit = (0usize..1_000, 0usize..40, prop::sample::select(VALUES), any::<char>(), 0usize..12);
    prop::collection::vec(edit, 1..5).prop_map(|edits| {
        edits.into_iter().fold(BASE.to_string(), |text, (at, length, value, letter, how)| {
            mangle(&text, at, length, value, letter, how)
        })
    })
}

fn mangle(text: &str, at: usize, length: usize, value: &str, letter: char, how: usize) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let at = at % letters.len().max(1);
    let end = (at + length).min(letters.len());
    match how {
        0 => drop(letters.drain(at.min(end)..end)),
        1 => drop(letters.splice(at.min(end)..end, [letter])),
        2 => letters.extend_from_within(at.min(end)..end),
        3 => letters.truncate(at),
        _ => {
            // The value after the next `=`, as a whole.
            let from = letters.iter().skip(at).position(|c| *c == '=').map(|skip| at + skip + 1);
            let from = from.unwrap_or(letters.len());
            let line = letters[from..].iter().position(|c| *c == '\n').unwrap_or(0);
            drop(letters.splice(from..from + line, value.chars()));
        }
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mangled_files_are_read_or_refused(text in mangled()) {
        assert_read_or_refused(&text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(# .{0,9}\n)?(\\PC|[\\[\\]\n\"'={},.#]){0,60}") {
        assert_read_or_refused(&text);
    }
}

/// The control of the two above: the mangler leaves some files whole enough to be read, and breaks most.
#[test]
fn the_mangler_reaches_both_sides() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut read = 0;
    for _ in 0..500 {
        let text = mangled().new_tree(&mut runner).unwrap().current();
        read += usize::from(Scenario::read(&text, "x.toml").is_ok());
    }
    assert!((5..400).contains(&read), "{read} of 500 read");
}
