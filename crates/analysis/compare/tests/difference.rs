//! Results held against each other: which service is which, what is told, and what is not.

use compare::difference::{Found, difference};
use model::{Answer, Failure};
use report::capacity::{CAPACITY_SCHEMA, CapacityRun, Carried};
use report::difference::Difference;
use report::document::{COMPARE_SCHEMA, Estimate, Latency, Outlier, PolicyResult, ProgramResult};
use report::{Disturbance, Document, MEASURE_SCHEMA, Measured};

fn ms(value: f64) -> Estimate {
    Estimate::new(value * 1e6, value * 0.9e6, value * 1.1e6)
}

fn service(name: &str, p99_9: Estimate) -> ProgramResult {
    ProgramResult {
        name: name.into(),
        requests: 1_000,
        latency_ns: Some(Latency { p99_9, ..Latency::default() }),
        ..ProgramResult::default()
    }
}

/// A comparison of so many seeds: policy, service, p99.9 in ms.
fn compared(seeds: u64, of: &[(&str, &str, f64)]) -> String {
    let result = |(policy, name, p99_9): &(&str, &str, f64)| PolicyResult {
        policy: policy.to_string(),
        programs: vec![service(name, ms(*p99_9))],
        ..PolicyResult::default()
    };
    report::json(&Document {
        schema: COMPARE_SCHEMA.into(),
        seeds: (1..=seeds).collect(),
        results: of.iter().map(result).collect(),
        ..Document::default()
    })
}

fn measured(target: &str, p99_9: Estimate) -> Measured {
    Measured {
        schema: MEASURE_SCHEMA.into(),
        target: target.into(),
        service: service(target, p99_9),
        ..Measured::default()
    }
}

fn between(before: &[String], after: &[String]) -> Result<Difference, Failure> {
    let found = |side: &[String], name: &str| {
        let read = side.iter().map(|text| Found::read(text, name));
        read.collect::<Result<Vec<_>, _>>()
    };
    difference(&found(before, "a.json")?, &found(after, "b.json")?)
}

fn answers(before: String, after: String) -> Vec<(String, String, Option<Answer>)> {
    let difference = between(&[before], &[after]).expect("they have something in common");
    let told = difference.changes.into_iter().map(|one| {
        let p99_9 = one.figures.iter().find(|figure| figure.figure != "of_ideal");
        (one.before, one.after, p99_9.and_then(|figure| figure.answer))
    });
    told.collect()
}

#[test]
fn intervals_apart_are_told_and_few_runs_allow_for_more() {
    let told = |seeds, before, after| {
        let of = |p99_9| compared(seeds, &[("cts", "web", p99_9)]);
        answers(of(before), of(after))[0].2
    };
    assert_eq!(told(3, 5.0, 4.0), Some(Answer::Better));
    assert_eq!(told(3, 5.0, 6.2), Some(Answer::Worse));
    assert_eq!(told(3, 5.0, 5.5), Some(Answer::CannotTell));
    assert_eq!(told(1, 5.0, 6.2), Some(Answer::CannotTell), "one run: 1.5 times is allowed for");
    assert_eq!(told(1, 5.0, 9.5), Some(Answer::Worse));
}

#[test]
fn what_was_changed_is_what_is_left_over() {
    let pairs = |before: &[(&str, &str, f64)], after: &[(&str, &str, f64)]| {
        let told = answers(compared(3, before), compared(3, after)).into_iter();
        told.map(|(before, after, _)| format!("{before} -> {after}")).collect::<Vec<_>>()
    };
    let two = [("cfs", "web", 1.0), ("cts", "web", 1.0)];
    assert_eq!(pairs(&two, &two), ["cfs web -> cfs web", "cts web -> cts web"]);
    assert_eq!(pairs(&two[..1], &two[1..]), ["cfs web -> cts web"], "another policy");
    let other = [("cfs", "api", 1.0)];
    assert_eq!(pairs(&two[..1], &other), ["cfs web -> cfs api"], "another name");
    // Which of two it was before cannot be known.
    let three = [("cfs", "web", 1.0), ("a", "web", 1.0), ("b", "web", 1.0)];
    assert_eq!(pairs(&two, &three), ["cfs web -> cfs web"]);
    let alone = between(&[compared(3, &two)], &[compared(3, &three)]).expect("one in common");
    assert_eq!(
        (alone.before.alone, alone.after.alone),
        (vec!["cts web".into()], vec!["a web".into(), "b web".into()])
    );
}

#[test]
fn more_is_better_of_a_load_and_objectives_must_agree() {
    let carries = |rate: f64, threshold_ns| {
        let rate_per_s = Estimate::new(rate, rate * 0.95, rate * 1.05);
        let policies = vec![Carried { policy: "cts".into(), rate_per_s, ..Carried::default() }];
        report::json(&CapacityRun {
            schema: CAPACITY_SCHEMA.into(),
            seeds: vec![1, 2, 3],
            proportion: 0.001,
            threshold_ns,
            policies,
            ..CapacityRun::default()
        })
    };
    assert_eq!(answers(carries(100.0, 5), carries(200.0, 5))[0].2, Some(Answer::Better));
    assert_eq!(answers(carries(200.0, 5), carries(100.0, 5))[0].2, Some(Answer::Worse));
    let refused = between(&[carries(100.0, 5)], &[carries(100.0, 6)]).unwrap_err();
    assert_eq!(refused.exit_code(), 2);
    assert!(refused.to_string().contains("they ask for 0.1% over 5 ns"), "{refused}");
}

#[test]
fn outliers_of_other_thresholds_are_other_figures() {
    let of = |threshold_ns| {
        let proportion = Estimate::new(0.1, 0.09, 0.11);
        let mut one = measured("web", ms(1.0));
        one.service.outlier = Some(Outlier { threshold_ns, proportion, ..Outlier::default() });
        report::json(&one)
    };
    let figures = |before, after| {
        let found = between(&[of(before)], &[of(after)]).expect("p99.9 at least");
        found.changes[0].figures.iter().map(|one| one.figure.clone()).collect::<Vec<_>>()
    };
    assert_eq!(figures(5, 5), ["latency_ns.p99_9", "outlier.proportion"]);
    assert_eq!(figures(5, 6), ["latency_ns.p99_9"]);
}

#[test]
fn a_late_generator_takes_a_verdict_back() {
    let before = report::json(&measured("web", ms(1.0)));
    let mut after = measured("web", ms(9.0));
    let told = |after: &Measured| answers(before.clone(), report::json(after))[0].2;
    assert_eq!(told(&after), Some(Answer::Worse), "the control");
    let at_least_ns = Latency { p99_9: ms(1.0), ..Latency::default() };
    after.disturbance = Some(Disturbance { at_least_ns, ..Disturbance::default() });
    assert_eq!(told(&after), Some(Answer::CannotTell));
}

#[test]
fn several_runs_show_how_much_runs_differ() {
    let runs = |values: &[f64]| -> Vec<String> {
        // Each start of a server has a port of its own.
        let target = |run: usize| format!("http://127.0.0.1:{}", 40_000 + run);
        let all = values.iter().enumerate();
        all.map(|(run, value)| report::json(&measured(&target(run), ms(*value)))).collect()
    };
    let told = |before: &[f64], after: &[f64]| {
        let found = between(&runs(before), &runs(after)).expect("the same service");
        found.changes[0].figures[0].answer
    };
    assert_eq!(told(&[1.0], &[1.3]), Some(Answer::CannotTell));
    assert_eq!(told(&[1.0, 1.01, 1.02], &[1.3, 1.31, 1.29]), Some(Answer::Worse));
    assert_eq!(told(&[1.0, 1.5, 0.8], &[1.3, 1.31, 1.29]), Some(Answer::CannotTell), "the control");
    let found = between(&runs(&[0.0, 1.0]), &runs(&[0.0, 0.0])).expect("the same service");
    let figure = &found.changes[0].figures[0];
    let values = (figure.before.value, figure.after.value, figure.answer);
    assert_eq!(values, (Some(0.5e6), Some(0.0), None), "no ratio of nothing");
    // One of several would be taken for all, the first as it happens.
    for (before, after) in [(&[1.0][..], &[1.3, 9.0][..]), (&[1.3, 9.0], &[1.0])] {
        let refused = between(&runs(before), &runs(after)).unwrap_err();
        assert!(refused.exit_code() == 2 && refused.to_string().contains("as many files"));
    }
    assert_eq!(
        told(&[1.0, 1.01], &[9.0, 9.1, 8.9]),
        Some(Answer::Worse),
        "two runs or more a side"
    );
    let twice = between(&[runs(&[1.0]), runs(&[1.0])].concat(), &runs(&[1.3, 1.2])).unwrap_err();
    assert!(twice.to_string().contains("given twice"), "{twice}");
}

#[test]
fn lost_requests_and_unknown_figures_are_no_numbers() {
    let lost = Estimate { value: None, low: Some(2e6), high: None };
    let told = |before: Estimate, after: Estimate| {
        let of = |p99_9| report::json(&measured("web", p99_9));
        answers(of(before), of(after))[0].2
    };
    assert_eq!(told(ms(1.3), lost), Some(Answer::CannotTell), "2 ms or more, of one run");
    assert_eq!(told(ms(0.5), lost), Some(Answer::Worse));
    assert_eq!(told(lost, lost), Some(Answer::CannotTell));
    assert_eq!(told(ms(1.0), Estimate::exact(5e6)), None, "no interval, no answer");
    let nothing = [report::json(&measured("web", Estimate::default()))];
    let refused = between(&nothing, &nothing).unwrap_err();
    assert!(refused.to_string().contains("nothing to hold against each other"), "{refused}");
}

/// Runs of a server: of 600 requests so many are lost and so many complained about, p99.9 in ms (with losses
/// beyond any number).
fn failing(runs: &[(u64, u64, f64)]) -> Vec<String> {
    let one = |(run, (lost, complaints, p99_9)): (usize, &(u64, u64, f64))| {
        let p99_9 = if *lost == 0 { ms(*p99_9) } else { Estimate::default() };
        let mut one = measured(&format!("http://web:{run}"), p99_9);
        let latency = one.service.latency_ns.as_mut().expect("a service has latencies");
        (latency.p50, latency.p90, latency.p99) = (ms(0.1), ms(0.2), ms(0.3));
        latency.mean = if *lost == 0 { ms(0.15) } else { Estimate::default() };
        (one.service.requests, one.service.lost) = (600, *lost);
        let over = stats::share_of(*lost, 600).expect("of 600");
        let proportion = Estimate::new(over.value, over.low, over.high);
        one.service.outlier = Some(Outlier { proportion, ..Outlier::default() });
        if *complaints > 0 {
            one.complaints.insert("HTTP 503".into(), *complaints);
        }
        report::json(&one)
    };
    runs.iter().enumerate().map(one).collect()
}

/// The answers by figure.
fn told(before: &[(u64, u64, f64)], after: &[(u64, u64, f64)]) -> Vec<(String, Option<Answer>)> {
    let found = between(&failing(before), &failing(after)).expect("the same service");
    let figures = found.changes.into_iter().flat_map(|change| change.figures);
    figures.map(|one| (one.figure, one.answer)).collect()
}

fn of<'a>(told: &'a [(String, Option<Answer>)], key: &str) -> Option<&'a Option<Answer>> {
    told.iter().find(|one| one.0 == key).map(|one| &one.1)
}

#[test]
fn lost_requests_that_grew_are_worse_and_come_first() {
    let well = [(0, 0, 2.0), (0, 0, 2.1), (0, 0, 1.9)];
    let ill = [(30, 0, 2.0), (31, 0, 2.1), (29, 0, 1.9)];
    for (before, after) in [(&well[..], &ill[..]), (&well[..1], &ill[..1])] {
        let worse = told(before, after);
        assert_eq!(worse[0], ("lost_share".into(), Some(Answer::Worse)));
        for key in ["latency_ns.p99_9", "latency_ns.mean", "outlier.proportion"] {
            assert_eq!(of(&worse, key), Some(&Some(Answer::Worse)), "{key}: {worse:?}");
        }
        let better = told(after, before);
        assert_eq!(of(&better, "latency_ns.p99_9"), Some(&Some(Answer::Better)), "{better:?}");
    }
    // Controls: one lost request is no change, and without any there is no such row.
    let one = told(&well, &[(1, 0, 2.0), (0, 0, 2.1), (0, 0, 1.9)]);
    assert_eq!(of(&one, "lost_share"), Some(&Some(Answer::CannotTell)));
    assert_eq!(of(&one, "latency_ns.mean"), Some(&Some(Answer::CannotTell)));
    assert_eq!(of(&told(&well, &well[..2]), "lost_share"), None);
    // What is lost in every run of both sides shows nothing but the losses.
    let both = told(&ill, &[(30, 0, 2.0), (32, 0, 2.1), (28, 0, 1.9)]);
    assert_eq!(of(&both, "lost_share"), Some(&Some(Answer::CannotTell)));
    assert_eq!(of(&both, "latency_ns.p99_9"), None);
}

#[test]
fn fast_complaints_are_not_better() {
    let slow = [(0, 0, 20.0), (0, 0, 21.0), (0, 0, 19.0)];
    let refused = [(0, 600, 2.0), (0, 600, 2.1), (0, 600, 1.9)];
    let found = told(&slow, &refused);
    assert_eq!(found[0], ("complained_share".into(), Some(Answer::Worse)));
    assert_eq!(of(&found, "latency_ns.p99_9"), Some(&Some(Answer::CannotTell)));
    let mended = told(&refused, &slow);
    assert_eq!(mended[0], ("complained_share".into(), Some(Answer::Better)));
    assert_eq!(of(&mended, "latency_ns.p99_9"), Some(&Some(Answer::CannotTell)));
    // The control: the same latencies of good answers.
    let good = told(&slow, &[(0, 0, 2.0), (0, 0, 2.1), (0, 0, 1.9)]);
    assert_eq!(of(&good, "latency_ns.p99_9"), Some(&Some(Answer::Better)));
    assert_eq!(of(&good, "complained_share"), None);
}

#[test]
fn conditions_that_differ_are_named() {
    let text = |load: &str| {
        let text = format!("# a comment of {load}\n[program.web]\nutilisation = {load}\n");
        let mut document: Document =
            serde_json::from_str(&compared(3, &[("cts", "web", 1.0)])).expect("ours");
        (document.scenario_text, document.machine.description) = (text, "a machine".into());
        report::json(&document)
    };
    let found = between(&[text("0.5")], &[text("0.7")]).expect("the same service");
    let [one] = &found.conditions[..] else { panic!("{:?}", found.conditions) };
    assert_eq!(
        (&one.what[..], &one.before[..], &one.after[..]),
        ("scenario file", "utilisation = 0.5", "utilisation = 0.7")
    );
}

#[test]
fn what_is_no_result_is_refused_by_name() {
    let refused = |text: &str| Found::read(text, "x.json").unwrap_err();
    for (text, what) in [
        ("{}", "neither a trace nor a result document"),
        ("{\"schema\": \"rearguard.paper/1\"}", "rearguard.paper/1 cannot be held against another"),
        ("{\"schema\": \"rearguard.compare/1\"}", "a result of another version (missing field"),
    ] {
        let said = refused(text);
        assert_eq!(said.exit_code(), 2);
        assert!(
            said.to_string().starts_with("x.json: ") && said.to_string().contains(what),
            "{said}"
        );
    }
}
