//! Simulated queues against closed forms, known invariants and published values.

use model::arrivals::ArrivalTimes;
use model::law::{Law, Sampler};
use model::scenario::Arrivals;
use model::{Failure, Nanos, Silent, Watch};
use queue::exact::{MDc, MMc};
use queue::{Discipline, Ideal, IdealResult, ideal as replay, tales};
use stats::Estimate;

fn queue(services: Law, workers: u32, utilisation: f64, discipline: Discipline) -> Ideal {
    Ideal {
        arrivals: Law::Exponential,
        load: Arrivals::Utilisation(utilisation),
        services,
        service_time: Nanos::from_micros(50),
        workers,
        discipline,
        requests: 4_000_000,
        seed: 1,
    }
}

fn run(ideal: &Ideal) -> IdealResult {
    ideal.run(&Silent).expect("nothing stops it")
}

/// The interval widened by half: with 95% intervals, one in twenty of many figures would fail by chance.
fn holds(estimate: Estimate, exact: f64) -> bool {
    let widened = Estimate {
        low: estimate.value - 1.5 * (estimate.value - estimate.low) - 1.0,
        high: estimate.value + 1.5 * (estimate.high - estimate.value) + 1.0,
        ..estimate
    };
    widened.covers(exact)
}

/// Figures of a result with their exact values.
fn pairs(result: &IdealResult) -> Vec<(&'static str, Estimate, f64)> {
    let (simulated, exact) = (&result.latency, result.exact.expect("in closed form"));
    let figures = [
        ("mean", simulated.mean, exact.mean),
        ("p50", simulated.p50, exact.p50),
        ("p90", simulated.p90, exact.p90),
        ("p99", simulated.p99, exact.p99),
        ("p99.9", simulated.p99_9, exact.p99_9),
    ];
    figures
        .into_iter()
        .filter_map(|(name, estimate, exact)| Some((name, estimate, exact?)))
        .collect()
}

const TABLE: [(u32, f64); 9] =
    [(1, 0.5), (1, 0.8), (1, 0.9), (2, 0.8), (4, 0.5), (4, 0.8), (4, 0.9), (8, 0.8), (16, 0.9)];

#[test]
fn every_exact_value_lies_in_its_interval() {
    for services in [Law::Fixed, Law::Exponential] {
        for (workers, utilisation) in TABLE {
            let result = run(&queue(services.clone(), workers, utilisation, Discipline::Fifo));
            for (figure, estimate, exact) in pairs(&result) {
                assert!(
                    holds(estimate, exact),
                    "{services}/{workers} {utilisation} {figure}: {estimate:?} {exact}"
                );
                assert!(estimate.low <= estimate.value && estimate.value <= estimate.high);
            }
        }
    }
}

/// The control: intervals are narrow enough to refuse the neighbouring load.
#[test]
fn intervals_refuse_another_load() {
    let result = run(&queue(Law::Fixed, 4, 0.8, Discipline::Fifo));
    let other = MDc::new(4, 0.82).unwrap();
    assert!(!holds(result.latency.p99, 50_000.0 * other.quantile(0.99)));
    assert!(!holds(result.latency.mean, 50_000.0 * other.mean()));
}

#[test]
fn other_closed_forms_hold_too() {
    let law = |text: &str| text.parse::<Law>().unwrap();
    for (services, workers, discipline) in [
        (Law::Fixed, 4, Discipline::RandomWorker),
        (Law::Exponential, 4, Discipline::RandomWorker),
        (law("hyperexponential:cv=2"), 1, Discipline::Fifo),
        (law("weibull:shape=2"), 1, Discipline::Fifo),
        (law("lognormal:cv=0.5"), 2, Discipline::RandomWorker),
        (Law::Fixed, 4, Discipline::Lifo),
        (Law::Exponential, 4, Discipline::RandomRequest),
        (Law::Fixed, 1, Discipline::ProcessorSharing),
        (Law::Fixed, 4, Discipline::ProcessorSharing),
        (law("hyperexponential:cv=2"), 2, Discipline::ProcessorSharing),
    ] {
        let result = run(&queue(services.clone(), workers, 0.7, discipline));
        for (figure, estimate, exact) in pairs(&result) {
            assert!(
                holds(estimate, exact),
                "{services}/{workers} {discipline} {figure}: {estimate:?} {exact}"
            );
        }
    }
}

#[test]
fn where_no_closed_form_is_known_none_is_given() {
    let exact = |arrivals, services, workers, discipline| {
        run(&Ideal { arrivals, requests: 1_000, ..queue(services, workers, 0.5, discipline) }).exact
    };
    let lognormal = Law::lognormal(1.0).unwrap();
    assert_eq!(exact(lognormal.clone(), Law::Fixed, 1, Discipline::Fifo), None);
    assert_eq!(exact(Law::Exponential, lognormal, 2, Discipline::Fifo), None);
    assert_eq!(exact(Law::Exponential, Law::Fixed, 2, Discipline::RoundRobin), None);
    assert_eq!(exact(Law::Fixed, Law::Fixed, 2, Discipline::RandomWorker), None);
    let lifo = exact(Law::Exponential, Law::Fixed, 2, Discipline::Lifo).unwrap();
    assert!(lifo.mean.is_some() && lifo.p50.is_none());
    let even = exact(Law::Fixed, Law::Fixed, 3, Discipline::Fifo).unwrap();
    assert_eq!((even.mean, even.p99_9), (Some(50_000.0), Some(50_000.0)));
}

/// M/D/4 at 80%: values of a simulation of 4e8 requests, with its own uncertainty.
#[test]
fn disciplines_have_their_known_quantiles() {
    let known = [
        (Discipline::Lifo, [51_805.0, 350_000.0, 968_000.0], [4.0, 500.0, 2_400.0]),
        (Discipline::RandomRequest, [53_747.0, 235_320.0, 426_200.0], [10.0, 270.0, 800.0]),
    ];
    for (discipline, values, errors) in known {
        let latency = run(&queue(Law::Fixed, 4, 0.8, discipline)).latency;
        let figures = [latency.p50, latency.p99, latency.p99_9];
        for ((estimate, value), error) in figures.into_iter().zip(values).zip(errors) {
            let near =
                Estimate { low: estimate.low - error, high: estimate.high + error, ..estimate };
            assert!(holds(near, value), "{discipline}: {estimate:?} {value}");
        }
    }
}

/// A drained run, empty at both ends: requests of `queue(...)` through the replay.
fn drained(discipline: Discipline, workers: u32, utilisation: f64) -> Vec<Nanos> {
    let rate = utilisation * f64::from(workers) / 50e-6;
    let arrivals = ArrivalTimes::new(&Law::Exponential, rate, 7);
    let requests: Vec<_> = arrivals.take(1_000_000).map(|at| (at, Nanos(50_000))).collect();
    replay(&requests, workers, discipline, 3)
}

fn total(latencies: &[Nanos]) -> u64 {
    latencies.iter().map(|latency| latency.0).sum()
}

fn unhindered(latencies: &[Nanos]) -> usize {
    latencies.iter().filter(|latency| latency.0 == 50_000).count()
}

#[test]
fn the_order_of_one_queue_changes_neither_the_mean_nor_the_share_that_waits() {
    let fifo = drained(Discipline::Fifo, 4, 0.8);
    for discipline in [Discipline::Lifo, Discipline::RandomRequest] {
        let other = drained(discipline, 4, 0.8);
        assert_eq!(total(&fifo), total(&other), "{discipline}");
        assert_eq!(unhindered(&fifo), unhindered(&other), "{discipline}");
        assert_ne!(fifo.iter().max(), other.iter().max(), "control: but the tail");
    }
    let split = drained(Discipline::RandomWorker, 4, 0.8);
    assert!(total(&split) > total(&fifo) && unhindered(&split) < unhindered(&fifo), "control");
    let share = unhindered(&fifo) as f64 / fifo.len() as f64;
    assert!((share - 0.421_718).abs() < 0.005, "{share}");
}

/// M/D/1: E W^2 under LIFO = under FIFO / (1 - rho), in random order / (1 - rho / 2).
#[test]
fn second_moments_of_the_wait_stand_in_their_known_ratio() {
    for utilisation in [0.3, 0.5] {
        let second = |discipline| -> f64 {
            let latencies = drained(discipline, 1, utilisation);
            latencies.iter().map(|latency| ((latency.0 - 50_000) as f64).powi(2)).sum()
        };
        let fifo = second(Discipline::Fifo);
        let lifo = second(Discipline::Lifo) / fifo * (1.0 - utilisation);
        let random = second(Discipline::RandomRequest) / fifo * (1.0 - utilisation / 2.0);
        assert!((lifo - 1.0).abs() < 0.04, "{utilisation}: {lifo}");
        assert!((random - 1.0).abs() < 0.02, "{utilisation}: {random}");
    }
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_does_not() {
    for discipline in Discipline::ALL {
        let one = Ideal { requests: 50_000, ..queue(Law::Exponential, 3, 0.6, discipline) };
        assert_eq!(format!("{:?}", run(&one)), format!("{:?}", run(&one)));
        let other = Ideal { seed: 2, ..one.clone() };
        assert_ne!(run(&one).latency, run(&other).latency, "{discipline}");
    }
}

/// The slow way: every request kept, replayed, sorted and estimated as if it came from a trace.
fn kept(ideal: &Ideal, warm_up: usize) -> stats::Latency {
    let seed = |stream| model::seed::derive(ideal.seed, &[stream]);
    let mut services = Sampler::new(&ideal.services, seed(2));
    let mut service = || Nanos(((services.next() * 50_000.0).round() as u64).max(1));
    let requests: Vec<_> = ArrivalTimes::new(&ideal.arrivals, ideal.rate_per_s(), seed(1))
        .take(warm_up + ideal.requests as usize)
        .map(|arrival| (arrival, service()))
        .collect();
    let latencies = replay(&requests, ideal.workers, ideal.discipline, seed(3));
    stats::latency_estimates(&[&latencies[warm_up..]]).expect("there are requests")
}

/// Streams, rings and histograms give what keeping every request gives, but for interpolation within buckets.
#[test]
fn a_streamed_run_is_the_run_with_every_request_kept() {
    for (services, discipline) in [
        (Law::Fixed, Discipline::Fifo),
        (Law::Exponential, Discipline::Fifo),
        (Law::lognormal(2.0).unwrap(), Discipline::RandomWorker),
        (Law::Fixed, Discipline::RoundRobin),
    ] {
        let ideal = Ideal { requests: 300_000, ..queue(services, 4, 0.8, discipline) };
        let result = run(&ideal);
        let warm_up = (result.simulated - result.requests) as usize;
        let (streamed, slow) = (result.latency, kept(&ideal, warm_up));
        assert_eq!((streamed.mean, streamed.max), (slow.mean, slow.max), "{ideal:?}");
        let quantiles = |l: stats::Latency| [l.p50, l.p90, l.p99, l.p99_9];
        for (fast, slow) in quantiles(streamed).into_iter().zip(quantiles(slow)) {
            let near = |a: f64, b: f64| a == b || (a / b - 1.0).abs() < 2e-3;
            let same = near(fast.value, slow.value) && near(fast.low, slow.low);
            assert!(same && near(fast.high, slow.high), "{discipline}: {fast:?} {slow:?}");
        }
    }
}

/// The control of the test above: another seed is further away than the buckets are wide.
#[test]
fn another_seed_is_another_run() {
    let ideal = Ideal { requests: 300_000, ..queue(Law::Exponential, 4, 0.8, Discipline::Fifo) };
    let other = kept(&Ideal { seed: 2, ..ideal.clone() }, 100_000);
    assert!((run(&ideal).latency.p99.value / other.p99.value - 1.0).abs() > 2e-3);
}

#[test]
fn the_curve_falls_and_agrees_with_the_figures() {
    let result = run(&queue(Law::Exponential, 4, 0.8, Discipline::Fifo));
    let exact = MMc::new(4, 0.8).unwrap();
    assert!(result.ccdf.len() > 80);
    for pair in result.ccdf.windows(2) {
        assert!(pair[0].latency < pair[1].latency && pair[0].proportion >= pair[1].proportion);
    }
    for point in result.ccdf.iter().filter(|point| point.proportion > 1e-4) {
        let known = exact.beyond(point.latency.0 as f64 / 50_000.0);
        let wide = 1.5 * (point.high - point.low) + 1e-4 * known;
        assert!((point.proportion - known).abs() <= wide, "{point:?} {known}");
        assert!(point.low <= point.proportion && point.proportion <= point.high);
    }
    let p99 = result.ccdf.iter().find(|point| point.proportion <= 0.01).unwrap();
    assert!((p99.latency.0 as f64 / result.latency.p99.value - 1.0).abs() < 0.05);
    assert!(result.latency.max >= result.ccdf.last().unwrap().latency);
}

#[test]
fn tiny_runs_leave_unknown_figures_unknown() {
    let one = run(&Ideal { requests: 1, ..queue(Law::Fixed, 1, 0.5, Discipline::Fifo) });
    assert_eq!((one.latency.p50.low, one.latency.p50.high), (0.0, f64::INFINITY));
    assert_eq!(one.latency.p50.value, one.latency.p99_9.value);
    let even = Ideal {
        arrivals: Law::Fixed,
        requests: 1_000,
        ..queue(Law::Fixed, 1, 0.5, Discipline::Fifo)
    };
    let exactly = Estimate { value: 50_000.0, low: 50_000.0, high: 50_000.0 };
    assert_eq!((run(&even).latency.mean, run(&even).latency.p99), (exactly, exactly));
}

#[test]
fn bad_queues_are_bad_input_with_a_remedy() {
    let good = queue(Law::Fixed, 4, 0.8, Discipline::Fifo);
    let load = |utilisation| Arrivals::Utilisation(utilisation);
    for (bad, word) in [
        (Ideal { workers: 0, ..good.clone() }, "1 to 4096"),
        (Ideal { workers: 5_000, ..good.clone() }, "1 to 4096"),
        (Ideal { load: load(1.0), ..good.clone() }, "below 1"),
        (Ideal { load: load(f64::NAN), ..good.clone() }, "below 1"),
        (Ideal { load: Arrivals::Rate(-1.0), ..good.clone() }, "above 0"),
        (Ideal { load: load(0.99999), ..good.clone() }, "requests of warm-up before the"),
        (Ideal { service_time: Nanos(0), ..good.clone() }, "at least 100 ns"),
        (Ideal { requests: 0, ..good.clone() }, "at least 1"),
        (Ideal { requests: u64::MAX, ..good.clone() }, "fewer requests"),
        (Ideal { services: Law::Lognormal { cv: -1.0 }, ..good.clone() }, "`cv`"),
    ] {
        match bad.run(&Silent) {
            Err(Failure::Input(message)) => assert!(message.contains(word), "{message}"),
            other => panic!("{bad:?}: {other:?}"),
        }
    }
    assert!(Ideal { load: load(0.9999), ..good }.validate().is_ok(), "the control");
    assert!(
        "lilo".parse::<Discipline>().is_err_and(|failure| failure.to_string().contains("lifo"))
    );
}

/// A user who presses Ctrl-C at once.
struct Stop;

impl Watch for Stop {
    fn progress(&self, _done: f64) {}
    fn cancelled(&self) -> bool {
        true
    }
}

#[test]
fn a_run_stops_when_it_is_told_to() {
    let long = Ideal { requests: 1 << 40, ..queue(Law::Fixed, 4, 0.8, Discipline::Fifo) };
    assert_eq!(long.run(&Stop), Err(Failure::Interrupted));
}

#[test]
fn claims_of_tales_are_judged() {
    let p99 = |workers, utilisation| MDc::new(workers, utilisation).unwrap().quantile(0.99);
    let growth = p99(1, 0.95) / p99(1, 0.5);
    assert!((growth - 10.594).abs() < 0.001, "10x from 50% to 95%: {growth}");
    let drop = p99(1, 0.7) / p99(8, 0.7);
    assert!((drop - 4.4408).abs() < 0.001, "4x with 8 workers instead of 1: {drop}");
    // "50 vs. 64 us" (section 2.4) does not follow from four workers at 80%, but nearly from three.
    let fifo_p50 = |workers| 50.0 * MDc::new(workers, 0.8).unwrap().quantile(0.5);
    assert!((fifo_p50(4) - 56.86).abs() < 0.01 && (fifo_p50(3) - 63.88).abs() < 0.01);
}

#[test]
fn the_figures_of_tales_have_their_order() {
    let p99 = |number| -> Vec<f64> {
        let figure = tales::figure(number, 300_000, 1).unwrap();
        let results = figure.run(&Silent).unwrap();
        assert_eq!(results.len(), figure.queues.len());
        results.iter().map(|result| result.latency.p99.value).collect()
    };
    let laws = p99(1);
    assert_eq!(laws[0], 50_000.0, "evenly spaced requests never wait");
    assert!(laws[1..].iter().all(|tail| *tail > 100_000.0), "{laws:?}");
    assert!(p99(2).is_sorted() && p99(3).iter().rev().is_sorted());
    let [fifo, lifo, random_request, random_worker] = p99(4)[..] else { panic!("four curves") };
    assert!(fifo < random_request && random_request < lifo && lifo < random_worker);
    assert!(tales::figure(5, 1, 1).is_err());
}
