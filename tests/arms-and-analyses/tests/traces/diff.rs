//! Where two traces part.

use crate::common::recorded;
use model::event::What;
use model::{CpuId, Nanos};
use trace::Recorded;
use trace::diff::{Parting, diff, text};

fn run(policy: &str, seed: u64) -> Recorded {
    recorded("service-and-batch", policy, seed, Nanos::from_millis(200))
}

fn said(a: &Recorded, b: &Recorded) -> String {
    text(&diff(a, b), a, b, ["a.trace", "b.trace"])
}

#[test]
fn a_run_made_twice_does_not_differ_on_any_writer() {
    let (a, mut b) = (run("rearguard", 1), run("rearguard", 1));
    b.header.version = "another".to_string();
    b.header.replay = "another".to_string();
    assert!(diff(&a, &b).is_none());
    assert_eq!(said(&a, &b), "the same: a.trace and b.trace\n");
}

#[test]
fn the_first_changed_decision_is_found_wherever_it_is() {
    let a = run("rearguard", 1);
    let events = a.trace.events.as_ref().unwrap();
    for index in [0, 1, events.len() / 2, events.len() - 1] {
        let mut b = a.clone();
        b.trace.events.as_mut().unwrap()[index].at += Nanos(1);
        let Parting::Event(side) = diff(&a, &b).parting else { panic!("{index}") };
        assert_eq!((side.index, side.a[0]), (index, events[index]));
        assert_eq!(side.before, events[index.saturating_sub(4)..index]);
        let mut shorter = a.clone();
        shorter.trace.events.as_mut().unwrap().truncate(index);
        let Parting::Event(side) = diff(&a, &shorter).parting else { panic!("{index}") };
        assert!(side.index == index && side.b.is_empty());
        assert!(said(&a, &shorter).contains("B        ends here"), "{}", said(&a, &shorter));
    }
}

#[test]
fn two_policies_part_at_the_first_decision_that_differs() {
    let (a, b) = (run("eevdf", 1), run("rearguard", 1));
    let difference = diff(&a, &b);
    let settings: Vec<&str> = difference.settings.iter().map(|setting| setting.name).collect();
    assert_eq!(settings, ["policy", "kernel"]);
    let Parting::Event(side) = &difference.parting else { panic!("{:?}", difference.parting) };
    assert!(side.index > 0 && side.before.len() == 4);
    assert!(side.a.iter().chain(&side.b).any(|event| matches!(event.what, What::Switch { .. })));
    let service = &difference.programs[0];
    assert_eq!((service.name.as_str(), service.requests[0]), ("service", service.requests[1]));
    assert!(service.changed > 10 && service.first.is_some());
    let [slow, fast] = service.latency[1].1;
    assert_ne!(fast, slow, "the p99s");
    let shown = said(&a, &b);
    for words in ["policy: eevdf / rearguard", "CPU 0", "batch/", "with another latency", "p99.9"] {
        assert!(shown.contains(words), "no `{words}` in:\n{shown}");
    }
}

#[test]
fn without_decisions_requests_are_compared() {
    let mut a = run("rearguard", 1);
    let mut b = a.clone();
    b.trace.programs[0].requests[7].completed += Nanos(5);
    let Parting::Request { program: 0, at } = diff(&a, &b).parting else { panic!("the same") };
    assert_eq!(at.index, 7);
    a.trace.events = None;
    a.header.events = false;
    let difference = diff(&a, &b);
    assert_eq!(difference.settings[0].name, "scheduling events");
    assert!(matches!(difference.parting, Parting::Request { .. }));
    assert!(said(&a, &b).contains("They part at request 7 of service"), "{}", said(&a, &b));
}

#[test]
fn totals_and_machines_count() {
    let a = run("rearguard", 1);
    let mut b = a.clone();
    b.trace.counters.switches = Some(0);
    assert!(!diff(&a, &b).is_none() && said(&a, &b).contains("CPU times or totals differ"));
    let mut b = a.clone();
    b.header.cpus.cpus = 2;
    b.trace.events.as_mut().unwrap()[3].what =
        What::Block { thread: model::ThreadId(0), cpu: CpuId(1) };
    assert!(said(&a, &b).contains("1 CPUs") && said(&a, &b).contains("2 CPUs"));
}

#[test]
fn other_seeds_have_no_requests_in_common() {
    let (a, b) = (run("eevdf", 1), run("eevdf", 2));
    assert_eq!(diff(&a, &b).programs[0].paired, 0);
    assert!(said(&a, &b).contains("none was sent at the same moment in both"), "{}", said(&a, &b));
    assert!(diff(&a, &run("cfs", 1)).programs[0].paired > 10);
}
