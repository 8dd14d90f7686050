//! Gates between equals stay silent, what became worse is found, and what is no base is refused.
#![forbid(unsafe_code)]

mod common;

use std::slice::from_ref;

use common::{figure, gate, paired, record};
use gate::{Base, FIGURES, GATE_SCHEMA, Least, annotations, judge, junit, table};
use model::Answer;

/// Of 40 gates with 5% false alarms, more than 6 raise one with a probability of 1 in 100.
#[test]
fn gates_between_equals_are_silent() {
    let alarms = (0..40)
        .filter(|trial| {
            gate(*trial, 500, 500).0.iter().any(|judged| judged.answer != Answer::CannotTell)
        })
        .count();
    println!("{alarms} of 40 gates raised an alarm");
    assert!(alarms <= 6, "{alarms}");
}

#[test]
fn the_same_is_the_same_and_half_as_slow_again_is_worse() {
    let same = paired(0, 500, 500);
    assert!(same.0.iter().all(|judged| FIGURES.contains(&&judged.figure[..])));
    assert!(
        same.0
            .iter()
            .all(|judged| judged.answer == Answer::CannotTell && judged.base == judged.now)
    );
    let worse = paired(0, 500, 750);
    for name in ["latency_ns.mean", "latency_ns.p50"] {
        assert_eq!(figure(&worse, name).answer, Answer::Worse, "{name}");
    }
    let better = paired(0, 750, 500);
    assert_eq!(figure(&better, "latency_ns.mean").answer, Answer::Better);
}

/// CFS serves by its own order, so requests overtake each other.
#[test]
fn inversions_of_another_policy_are_worse() {
    let (base, now) = (record("rearguard", 500, 1), record("eevdf", 500, 1));
    let outcome = judge(&[base], &[now], Least(0.01)).unwrap();
    assert_eq!(figure(&outcome, "inversions_per_request").answer, Answer::Worse);
}

#[test]
fn what_does_not_matter_is_no_verdict() {
    let (base, now) = (record("rearguard", 500, 1), record("rearguard", 550, 1));
    let mean = |least| {
        let outcome = judge(from_ref(&base), from_ref(&now), Least(least)).unwrap();
        figure(&outcome, "latency_ns.mean").answer
    };
    assert_eq!((mean(0.01), mean(1.0)), (Answer::Worse, Answer::CannotTell));
}

fn base() -> Base {
    Base {
        schema: GATE_SCHEMA.into(),
        version: "0".into(),
        arm: "sim".into(),
        machine: "m".into(),
        kernel: None,
        policy: "rearguard".into(),
        scenarios: vec![record("rearguard", 500, 1)],
    }
}

fn refused(change: impl Fn(&mut Base)) -> String {
    let mut base = base();
    change(&mut base);
    Base::read(&report::json(&base), "b.json").unwrap_err().to_string()
}

#[test]
fn a_base_is_read_as_it_was_written_and_what_is_none_is_refused() {
    let whole = base();
    assert_eq!(Base::read(&report::json(&whole), "b.json").unwrap(), whole);
    assert!(
        refused(|base| base.schema = "rearguard.gate/9".into()).contains("format rearguard.gate/9")
    );
    assert!(refused(|base| base.scenarios.clear()).contains("holds no scenario"));
    let cut = |base: &mut Base| drop(base.scenarios[0].services[0].latencies_ns.pop());
    assert!(refused(cut).contains("not one run a seed"));
    assert!(refused(|base| base.scenarios[0].seeds.clear()).contains("not one run a seed"));
    for text in ["", "[]", "{}", "{\"schema\":1}"] {
        let message = Base::read(text, "b.json").unwrap_err().to_string();
        assert!(message.starts_with("b.json: no base of a gate"), "{message}");
    }
    let other = judge(
        &base().scenarios,
        &[gate::Recorded { services: vec![], ..base().scenarios[0].clone() }],
        Least(0.01),
    );
    assert!(other.unwrap_err().to_string().contains("other services"));
}

#[test]
fn build_servers_read_what_became_worse() {
    let outcome = paired(0, 500, 750);
    let xml = junit(&outcome);
    let worse = outcome.with(Answer::Worse).count();
    assert_eq!(xml.matches("<failure message=").count(), worse);
    assert!(xml.contains(&format!("tests=\"{}\" failures=\"{worse}\"", outcome.0.len())));
    let lines = annotations(&outcome);
    assert_eq!(lines.lines().filter(|line| line.starts_with("::error title=")).count(), worse);
    assert!(table(&outcome, Least(0.01)).contains(&format!("{worse} worse")));
    assert!(table(&outcome, Least(0.07)).contains("worse, better: by 7% or more; any"));
}
