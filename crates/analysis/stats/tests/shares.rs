//! Due shares, lag and fairness: against exact arithmetic, and on machines whose answer is known.
#![forbid(unsafe_code)]

use model::law::Law;
use model::scenario::{Architecture, Arrivals, Group, Kind, Machine, Mechanisms, Program, Service};
use model::trace::{Counters, ProgramTrace, Request, ThreadTrace, Usage, Window};
use model::{Nanos, Scenario, Trace};
use proptest::prelude::*;
use stats::{Shares, summarise};

fn scenario(cpus: u32, groups: Vec<Group>, programs: Vec<Program>) -> Scenario {
    Scenario {
        name: "shares".into(),
        shows: String::new(),
        machine: Machine { cpus, ..Machine::ONE_CPU },
        groups,
        programs,
        duration: Nanos::from_secs(10),
        warm_up: Nanos::ZERO,
        seeds: vec![1],
        outlier_threshold: Nanos::from_millis(10),
        slice: None,
        mechanisms: Mechanisms::default(),
        alterations: Vec::new(),
    }
}

fn group(name: &str, parent: Option<usize>, weight: u32) -> Group {
    Group::new(name, parent, weight)
}

fn batch(name: &str, group: Option<usize>, nice: i8, threads: u32) -> Program {
    Program { group, nice, ..Program::new(name, Kind::Batch { threads }) }
}

/// The threads of a scenario's batch programs, in order.
fn threads(scenario: &Scenario) -> Vec<usize> {
    let count = |program: &Program| match program.kind {
        Kind::Batch { threads } | Kind::Daemon { threads, .. } => threads as usize,
        _ => 1,
    };
    scenario.programs.iter().enumerate().flat_map(|(i, p)| vec![i; count(p)]).collect()
}

/// What was due to an entry of a summary's groups, which is known.
fn due(summary: &stats::Summary, entry: usize) -> f64 {
    summary.groups[entry].due_share.unwrap()
}

/// What is due when every thread wants a CPU.
fn all_busy(scenario: &Scenario) -> Vec<f64> {
    let threads = threads(scenario);
    let demand = vec![1.0; threads.len()];
    Shares::new(scenario, &threads).due(f64::from(scenario.machine.cpus), 1.0, &demand)
}

fn assert_close(found: &[f64], exact: &[f64]) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
    assert!(found.len() == exact.len() && found.iter().zip(exact).all(near), "{found:?} {exact:?}");
}

#[test]
fn equal_threads_share_evenly() {
    assert_close(&all_busy(&scenario(16, vec![], vec![batch("b", None, 0, 20)])), &[0.8; 20]);
}

/// GVTS section 2.4: 8 and 12 threads in equal groups on 16 CPUs.
#[test]
fn equal_groups_of_unequal_size_get_the_same() {
    let groups = vec![group("a", None, 100), group("b", None, 100)];
    let due = all_busy(&scenario(
        16,
        groups,
        vec![batch("a", Some(0), 0, 8), batch("b", Some(1), 0, 12)],
    ));
    assert_close(&due[..8], &[1.0; 8]);
    assert_close(&due[8..], &[8.0 / 12.0; 12]);
}

/// GVTS section 2.1: no thread can have more than one CPU; what it leaves is shared by the others.
#[test]
fn an_infeasible_weight_gets_one_cpu() {
    let due = all_busy(&scenario(
        4,
        vec![],
        vec![batch("heavy", None, -15, 1), batch("rest", None, 0, 6)],
    ));
    assert_close(&due, &[&[1.0][..], &[0.5; 6]].concat());
    let feasible = all_busy(&scenario(
        1,
        vec![],
        vec![batch("heavy", None, -1, 1), batch("rest", None, 0, 1)],
    ));
    assert_close(&feasible, &[1280.0 / 2304.0, 1024.0 / 2304.0]);
}

#[test]
fn a_thread_of_nice_0_weighs_as_much_as_a_group_of_100() {
    let groups =
        vec![group("g", None, 300), group("g/in", Some(0), 50), group("g/out", Some(0), 150)];
    let programs =
        vec![batch("alone", None, 0, 1), batch("in", Some(1), 0, 3), batch("out", Some(2), 0, 3)];
    let due = all_busy(&scenario(1, groups, programs));
    let (inner, outer) = (0.75 * 0.25 / 3.0, 0.75 * 0.75 / 3.0);
    assert_close(&due, &[&[0.25][..], &[inner; 3], &[outer; 3]].concat());
}

/// Exact fractions with small numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio(i128, i128);

impl Ratio {
    fn new(a: i128, b: i128) -> Ratio {
        let (mut x, mut y) = (a.abs(), b.abs());
        while y != 0 {
            (x, y) = (y, x % y);
        }
        Ratio(a / x.max(1), b / x.max(1))
    }
    fn less(self, other: Ratio) -> Ratio {
        Ratio::new(self.0 * other.1 - other.0 * self.1, self.1 * other.1)
    }
    fn is_at_most(self, other: Ratio) -> bool {
        self.0 * other.1 <= other.0 * self.1
    }
}

/// Water-filling round by round: offer each unsatisfied claim its weighted part of what is left. A claim that
/// wants no more than that is satisfied and leaves. When none leaves, the parts are final.
fn filled_in_rounds(capacity: Ratio, claims: &[(i128, Ratio)]) -> Vec<Ratio> {
    let mut parts = vec![None; claims.len()];
    let mut left = capacity;
    loop {
        let open: Vec<usize> = (0..claims.len()).filter(|i| parts[*i].is_none()).collect();
        let weights: i128 = open.iter().map(|i| claims[*i].0).sum();
        let offer = |i: usize| Ratio::new(left.0 * claims[i].0, left.1 * weights);
        let content: Vec<usize> =
            open.iter().copied().filter(|i| claims[*i].1.is_at_most(offer(*i))).collect();
        if content.is_empty() {
            open.iter().for_each(|i| parts[*i] = Some(offer(*i)));
            return parts.into_iter().flatten().collect();
        }
        for i in content {
            parts[i] = Some(claims[i].1);
            left = left.less(claims[i].1);
        }
    }
}

proptest! {
    #[test]
    fn due_shares_are_exact(
        cpus in 1u32..6,
        claims in prop::collection::vec((1u32..40, 0i128..9), 1..7),
    ) {
        // Each thread alone in a group, so that weights are the small whole numbers of the groups.
        let name = |i: usize| format!("g{i}");
        let groups = claims.iter().enumerate().map(|(i, c)| group(&name(i), None, c.0)).collect();
        let programs = (0..claims.len()).map(|i| batch(&format!("b{i}"), Some(i), 0, 1)).collect();
        let scenario = scenario(cpus, groups, programs);
        let demand: Vec<f64> = claims.iter().map(|claim| claim.1 as f64 / 8.0).collect();
        let due = Shares::new(&scenario, &threads(&scenario)).due(f64::from(cpus), 1.0, &demand);
        let exact_claims: Vec<_> =
            claims.iter().map(|c| (i128::from(c.0), Ratio::new(c.1, 8))).collect();
        let exact = filled_in_rounds(Ratio::new(i128::from(cpus), 1), &exact_claims);
        let exact: Vec<f64> = exact.iter().map(|part| part.0 as f64 / part.1 as f64).collect();
        assert_close(&due, &exact);
    }
}

/// A trace whose threads received these seconds in each second.
fn trace(scenario: &Scenario, threads: &[usize], seconds: &[Vec<f64>]) -> Trace {
    let mut total = vec![0.0; threads.len()];
    let usage = (0..=seconds.len()).map(|i| {
        if let Some(second) = i.checked_sub(1).map(|i| &seconds[i]) {
            total.iter_mut().zip(second).for_each(|(sum, s)| *sum += s);
        }
        let cpu_time = total.iter().map(|s| Nanos((s * 1e9).round() as u64)).collect();
        Usage { at: Nanos::from_secs(i as u64), cpu_time }
    });
    Trace {
        policy: "test".into(),
        seed: 1,
        window: Window { start: Nanos::ZERO, end: Nanos::from_secs(seconds.len() as u64) },
        programs: vec![ProgramTrace::default(); scenario.programs.len()],
        threads: threads.iter().map(|program| ThreadTrace { program: *program }).collect(),
        usage: usage.collect(),
        counters: Counters {
            pulls: Some(30),
            idle: Some(Nanos::from_secs(1)),
            ..Counters::default()
        },
        ..Trace::default()
    }
}

#[test]
fn lag_is_what_was_due_less_what_was_received() {
    let scenario = scenario(2, vec![], vec![batch("b", None, 0, 3)]);
    // Due 2/3 each; the first thread had a CPU to itself for two seconds, then shared.
    let seconds = [vec![1.0, 0.5, 0.5], vec![1.0, 0.5, 0.5], vec![0.0, 1.0, 1.0]];
    let summary = summarise(&scenario, &[&trace(&scenario, &[0, 0, 0], &seconds)]);
    let lags = &summary.courses[0].lags;
    assert_close(&lags[0].lag_s, &[0.0, -1.0 / 3.0, -2.0 / 3.0, 0.0]);
    assert_close(&lags[1].lag_s, &[0.0, 1.0 / 6.0, 1.0 / 3.0, 0.0]);
    let (least, greatest) = summary.threads_lag_s.unwrap();
    assert_close(&[least, greatest], &[-2.0 / 3.0, 1.0 / 3.0]);
    assert_close(&[lags[0].fairness.unwrap()], &[1.0]);
    assert_close(&[summary.pulls_per_s.unwrap(), summary.idle_share.unwrap()], &[10.0, 1.0 / 6.0]);
    assert_eq!(summary.switches, None);
    let band = summary.courses[0].lag_band();
    assert_close(&[band[2].1, band[2].2], &[-2.0 / 3.0, 1.0 / 3.0]);
}

#[test]
fn what_interrupts_took_is_due_to_no_group() {
    let scenario = scenario(2, vec![], vec![batch("b", None, 0, 2)]);
    let mut trace = trace(&scenario, &[0, 0], &[vec![0.9, 0.9]]);
    trace.counters.idle = Some(Nanos::ZERO);
    let summary = summarise(&scenario, &[&trace]);
    assert_close(&summary.courses[0].lags[0].lag_s, &[0.0, 0.0]);
    assert_close(&[due(&summary, 0), summary.groups[0].share], &[0.9, 0.9]);
    assert_close(&[summary.others_share.unwrap()], &[0.1]);
    // The control: where events do not tell whether it was idle, it may have been.
    trace.counters.idle = None;
    let summary = summarise(&scenario, &[&trace]);
    assert_close(&summary.courses[0].lags[0].lag_s, &[0.0, 0.1]);
    assert_close(&[due(&summary, 0)], &[1.0]);
    assert_eq!(summary.others_share, None);
}

#[test]
fn what_others_use_is_not_due_to_batch() {
    let daemon = Kind::Daemon { threads: 1, run: Nanos(1), sleep: Nanos(3) };
    let daemon = Program::new("d", daemon);
    let scenario = scenario(1, vec![], vec![batch("b", None, 0, 1), daemon]);
    let summary = summarise(&scenario, &[&trace(&scenario, &[0, 1], &[vec![0.75, 0.25]])]);
    assert_eq!(summary.fairness, Some((1.0, 1.0)));
    let found: Vec<_> =
        summary.groups.iter().map(|g| (&*g.name, g.weight, g.due_share, g.share)).collect();
    assert_eq!(found, [("b", 100, Some(0.75), 0.75), ("d", 100, Some(0.25), 0.25)]);
    let starved = summarise(&scenario, &[&trace(&scenario, &[0, 1], &[vec![0.25, 0.25]])]);
    assert_close(
        &[starved.fairness.unwrap().0, starved.threads_lag_s.unwrap().1],
        &[1.0 / 3.0, 0.5],
    );
}

#[test]
fn groups_hold_what_is_inside_them_and_runs_are_pooled() {
    let groups = vec![group("g", None, 100), group("g/in", Some(0), 100)];
    let programs =
        vec![batch("in", Some(1), 0, 1), batch("out", Some(0), 0, 1), batch("alone", None, 5, 2)];
    let scenario = scenario(2, groups, programs);
    let threads = [0, 1, 2, 2];
    let runs = [vec![0.25, 0.75, 0.5, 0.5], vec![0.75, 0.25, 0.5, 0.5]]
        .map(|s| trace(&scenario, &threads, &[s]));
    let summary = summarise(&scenario, &[&runs[0], &runs[1]]);
    let found: Vec<_> = summary.groups.iter().map(|g| (&*g.name, g.weight, g.share)).collect();
    assert_eq!(found, [("g", 100, 0.5), ("g/in", 100, 0.25), ("alone", 66, 0.5)]);
    assert_close(&summary.courses[1].group_shares[1], &[0.0, 0.375]);
    assert_eq!(summary.programs[2].utilisation, 0.5);
}

fn any_service() -> Service {
    Service {
        architecture: Architecture::ThreadPerConnection,
        connections: 1,
        request_bytes: 64,
        response_bytes: 64,
        service_law: Law::Fixed,
        service_time: Nanos::from_millis(1),
        arrival_law: Law::Exponential,
        arrivals: Arrivals::Utilisation(0.3),
    }
}

/// A service whose three requests ask for 90 ms each in 900 ms, beside a spinning thread.
#[test]
fn a_service_is_due_what_its_load_wants() {
    let service = Program::new("s", Kind::Service(any_service()));
    let scenario = scenario(1, vec![], vec![service, batch("b", None, 0, 1)]);
    let mut run = trace(&scenario, &[0, 1], &[vec![0.3, 0.7]]);
    run.window.start = Nanos::from_millis(100);
    let request = |ms: u64, lasts_ms: u64| {
        let at = Nanos::from_millis(ms);
        let done = Nanos::from_millis(ms + lasts_ms);
        Request {
            intended: at,
            sent: at,
            started: at,
            completed: done,
            received: done,
            service: Nanos::from_millis(90),
        }
    };
    let mut lost = request(900, 1);
    (lost.received, lost.completed) = (Nanos::NEVER, Nanos::NEVER);
    run.programs[0].requests = vec![request(50, 500), request(200, 20), request(201, 5), lost];
    let summary = summarise(&scenario, &[&run]);
    assert_close(&[due(&summary, 0), due(&summary, 1)], &[0.3, 0.7]);
    let program = &summary.programs[0];
    assert_eq!((program.requests, program.lost, program.kind), (3, 1, "service"));
    // The readings span a second, the window 900 ms.
    assert_close(&[program.rate_per_s, program.utilisation], &[3.0 / 0.9, 0.3]);
    let inversions = program.inversions.unwrap();
    assert_eq!((inversions.start, inversions.completion), (0.0, 1.0 / 3.0));
    let outlier = program.outlier.unwrap();
    assert_eq!(outlier.proportion.value, 2.0 / 3.0);
    assert_close(&[outlier.valid_throughput_per_s], &[1.0 / 0.9]);
    assert_eq!(program.latency.unwrap().p50.value, 20e6);
    assert!(summary.programs[1].latency.is_none() && summary.programs[1].inversions.is_none());
}

#[test]
fn a_service_that_waits_wants_more_than_it_received() {
    let service = |ms: u64| Request {
        intended: Nanos::ZERO,
        sent: Nanos::ZERO,
        started: Nanos::ZERO,
        completed: Nanos::from_millis(ms),
        received: Nanos::from_millis(ms),
        service: Nanos::from_secs(1),
    };
    let programs = vec![batch("s", None, 0, 1), batch("b", None, 0, 1)];
    let mut scenario = scenario(1, vec![], programs);
    scenario.programs[0].kind = Kind::Service(any_service());
    let mut run = trace(&scenario, &[0, 1], &[vec![0.25, 0.75]]);
    let lag_s = |run: &Trace| summarise(&scenario, &[run]).threads_lag_s.unwrap();
    // Requests were there all the time: half of the CPU was due to the service, and the batch is ahead.
    run.programs[0].requests = vec![service(1_000)];
    assert_close(&[lag_s(&run).0], &[-0.25]);
    // The control: what was answered before the end may have wanted no more.
    run.programs[0].requests = vec![service(999)];
    assert_close(&[lag_s(&run).0], &[0.0]);
}

/// A group has its quota at most, and the others have what it may not use.
#[test]
fn a_quota_bounds_what_is_due() {
    let mut one = scenario(
        4,
        vec![group("held", None, 300), group("held/in", Some(0), 100), group("b", None, 100)],
        vec![batch("held", Some(1), 0, 4), batch("b", Some(2), 0, 4)],
    );
    assert_close(&all_busy(&one), &[0.75, 0.75, 0.75, 0.75, 0.25, 0.25, 0.25, 0.25]);
    one.groups[0].max = Some(model::scenario::Quota::new(
        model::Nanos::from_millis(50),
        model::Nanos::from_millis(100),
    ));
    assert_close(&all_busy(&one), &[0.125, 0.125, 0.125, 0.125, 0.875, 0.875, 0.875, 0.875]);
    // Of four seconds, and half a second at a time, as of one.
    let received = vec![vec![0.125, 0.125, 0.125, 0.125, 0.875, 0.875, 0.875, 0.875]; 4];
    let mut run = trace(&one, &threads(&one), &received);
    run.counters.idle = Some(Nanos::ZERO);
    let summary = summarise(&one, &[&run]);
    assert_close(&[due(&summary, 0), due(&summary, 2)], &[0.125, 0.875]);
    let lags = summary.threads_lag_s.unwrap();
    assert_close(&[lags.0, lags.1], &[0.0, 0.0]);
    run.usage.iter_mut().for_each(|usage| usage.at.0 /= 2);
    run.usage.iter_mut().flat_map(|usage| &mut usage.cpu_time).for_each(|time| time.0 /= 2);
    let lags = summarise(&one, &[&run]).threads_lag_s.unwrap();
    assert_close(&[lags.0, lags.1], &[0.0, 0.0]);
    one.groups[0].max = None;
    one.groups[0].idle = true;
    let due = all_busy(&one);
    assert!(due[0] < 0.003 && due[4] > 0.997, "{due:?}");
}

/// Two groups of two batch threads each on two CPUs for four seconds, and words of a scenario's file.
fn changing(words: &str) -> Scenario {
    let groups = "[[group]]\nname = \"a\"\nweight = 100\n[[group]]\nname = \"b\"\nweight = 100\n";
    let program = |name: &str| {
        format!(
            "[[program]]\nname = \"{name}\"\nkind = \"batch\"\ngroup = \"{name}\"\nthreads = 2\n"
        )
    };
    let text = format!(
        "# Changes.\nduration = \"4s\"\nwarm_up = \"0s\"\n[machine]\ncpus = 2\n{groups}{}{}{words}",
        program("a"),
        program("b")
    );
    Scenario::read(&text, "changing").unwrap()
}

/// What is due to the two groups, if anything says so, and the greatest lag in seconds where `received` is
/// what each thread received in each second.
fn due_to_both(words: &str, received: [f64; 4]) -> (Vec<Option<f64>>, Option<f64>) {
    let scenario = changing(words);
    let run = trace(&scenario, &threads(&scenario), &vec![received.to_vec(); 4]);
    let summary = summarise(&scenario, &[&run]);
    let lag = summary.threads_lag_s.map(|(least, most)| most.max(-least));
    (summary.groups.iter().map(|group| group.due_share).collect(), lag)
}

#[test]
fn what_is_due_follows_changes_of_a_run() {
    let change = |at: &str, what: &str| format!("[[change]]\nat = \"{at}\"\n{what}\n");
    let even = [0.5; 4];
    let of = |words: &str, received| {
        let (due, lag) = due_to_both(words, received);
        (due.into_iter().map(Option::unwrap).collect::<Vec<f64>>(), lag.unwrap())
    };
    // The control: without a change.
    assert_eq!(of("", even), (vec![0.5, 0.5], 0.0));
    let (due, lag) = of(&change("0s", "group = \"a\"\nweight = 25"), [0.2, 0.2, 0.8, 0.8]);
    assert_close(&[due[0], due[1], lag], &[0.2, 0.8, 0.0]);
    // In the middle of a reading's span: two and a half seconds of a half, one and a half of a fifth.
    let (due, _) = of(&change("2500ms", "group = \"a\"\nweight = 25"), even);
    assert_close(&due, &[(2.5 * 0.5 + 1.5 * 0.2) / 4.0, (2.5 * 0.5 + 1.5 * 0.8) / 4.0]);
    let (due, _) = of(&change("2s", "group = \"a\"\nmax = \"50ms/100ms\""), even);
    assert_close(&due, &[(0.5 + 0.25) / 2.0, (0.5 + 0.75) / 2.0]);
    let (due, _) = of(&change("2s", "program = \"a\"\nthreads = 0"), even);
    assert_close(&due, &[0.25, 0.75]);
}

#[test]
fn a_group_is_due_no_more_cpus_than_it_has() {
    let cpus = |group: &str, cpus: &str| {
        format!("[[change]]\nat = \"0s\"\ngroup = \"{group}\"\ncpus = {cpus}\n")
    };
    let heavy = "[[change]]\nat = \"0s\"\ngroup = \"a\"\nweight = 300\n";
    let of = |words: String| due_to_both(&words, [0.5; 4]);
    // The control: by weight alone.
    assert_eq!(of(heavy.into()).0, [Some(0.75), Some(0.25)]);
    assert_eq!(of(heavy.to_string() + &cpus("a", "[0]")).0, [Some(0.5), Some(0.5)]);
    assert_eq!(of(cpus("a", "[0]") + &cpus("b", "[1]")).0, [Some(0.5), Some(0.5)]);
    // Sets that overlap, and programs that are bound by themselves: weights do not say.
    let bound = "[[change]]\nat = \"0s\"\nprogram = \"a\"\ncpus = [0]\n";
    for words in [cpus("a", "[0]") + &cpus("b", "[0]"), bound.into()] {
        assert_eq!(of(words), (vec![None, None], None));
    }
}
