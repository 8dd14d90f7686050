//! Closed forms against tabulated values and against slow ways to the same numbers.

use model::Nanos;
use model::law::Law;
use model::scenario::Arrivals;
use queue::exact::{self, MDc, MMc, erlang_c, pollaczek_khinchine};
use queue::{Discipline, Ideal};

const PROPORTIONS: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// workers, utilisation, probability of waiting, p50, p90, p99, p99.9, p99.99; service time 1.
type Row = (u32, f64, f64, [f64; 5]);

const MMC: [Row; 9] = [
    (1, 0.5, 0.500000, [1.3863, 4.6052, 9.2103, 13.8155, 18.4207]),
    (1, 0.8, 0.800000, [3.4657, 11.5129, 23.0259, 34.5388, 46.0517]),
    (1, 0.9, 0.900000, [6.9315, 23.0259, 46.0517, 69.0776, 92.1034]),
    (2, 0.8, 0.711111, [2.0400, 6.1716, 11.9374, 17.6941, 23.4506]),
    (4, 0.5, 0.173913, [0.7834, 2.4501, 4.7642, 7.0680, 9.3707]),
    (4, 0.8, 0.596432, [1.3462, 3.7760, 6.8932, 9.8797, 12.8130]),
    (4, 0.9, 0.787753, [2.2545, 6.4244, 12.1932, 17.9500, 23.7065]),
    (8, 0.8, 0.457645, [0.9863, 2.7846, 5.1522, 7.4697, 9.7760]),
    (16, 0.9, 0.591343, [1.0780, 2.8972, 5.2698, 7.5884, 9.8949]),
];

const MDC: [Row; 9] = [
    (1, 0.5, 0.500000, [1.0000, 2.5157, 4.3363, 6.1684, 8.0010]),
    (1, 0.8, 0.800000, [2.2759, 6.0115, 11.3559, 16.7003, 22.0446]),
    (1, 0.9, 0.900000, [4.0130, 11.7825, 22.8982, 34.0140, 45.1297]),
    (2, 0.8, 0.701898, [1.5439, 3.3973, 6.0696, 8.7417, 11.4139]),
    (4, 0.5, 0.163294, [1.0000, 1.1888, 1.7108, 2.1690, 2.6220]),
    (4, 0.8, 0.578282, [1.1372, 2.1193, 3.4546, 4.7907, 6.1268]),
    (4, 0.9, 0.775437, [1.6211, 3.5604, 6.3394, 9.1183, 11.8972]),
    (8, 0.8, 0.433795, [1.0000, 1.5044, 2.1696, 2.8377, 3.5057]),
    (16, 0.9, 0.565341, [1.0553, 1.5688, 2.2639, 2.9586, 3.6533]),
];

/// Half a unit of the table's last digit, and a little.
fn same(value: f64, tabulated: f64, unit: f64) -> bool {
    (value - tabulated).abs() <= 0.5001 * unit
}

#[test]
fn mmc_is_the_table_to_every_digit() {
    for (workers, utilisation, wait, quantiles) in MMC {
        let queue = MMc::new(workers, utilisation).unwrap();
        assert!(same(erlang_c(workers, utilisation), wait, 1e-6), "{workers} {utilisation}");
        for (p, tabulated) in PROPORTIONS.into_iter().zip(quantiles) {
            let value = queue.quantile(p);
            assert!(same(value, tabulated, 1e-4), "M/M/{workers} {utilisation} {p}: {value}");
        }
    }
}

#[test]
fn mdc_is_the_table_to_every_digit() {
    for (workers, utilisation, wait, quantiles) in MDC {
        let queue = MDc::new(workers, utilisation).unwrap();
        let computed = queue.wait_probability();
        assert!(same(computed, wait, 1e-6), "{workers} {utilisation}: {computed}");
        for (p, tabulated) in PROPORTIONS.into_iter().zip(quantiles) {
            let value = queue.quantile(p);
            assert!(same(value, tabulated, 1e-4), "M/D/{workers} {utilisation} {p}: {value}");
        }
    }
}

/// The control of both: a load 0.1% higher is another table.
#[test]
fn the_table_tells_loads_apart() {
    assert!(!same(MDc::new(4, 0.8008).unwrap().quantile(0.99), 3.4546, 1e-4));
    assert!(!same(MMc::new(4, 0.8008).unwrap().quantile(0.99), 6.8932, 1e-4));
}

#[test]
fn fifty_microseconds_at_80_percent() {
    let (four, one) = (MDc::new(4, 0.8).unwrap(), MDc::new(1, 0.8).unwrap());
    let us = |queue: &MDc, p: f64| 50.0 * queue.quantile(p);
    assert!(same(us(&four, 0.5), 56.862, 1e-3) && same(us(&four, 0.99), 172.729, 1e-3));
    assert!(same(us(&four, 0.999), 239.534, 1e-3) && same(50.0 * four.mean(), 69.30475, 1e-5));
    assert!(same(1.0 - four.wait_probability(), 0.421718, 1e-6));
    assert!(same(us(&one, 0.5), 113.797, 1e-3) && same(us(&one, 0.99), 567.794, 1e-3));
    assert!(same(us(&one, 0.999), 835.013, 1e-3));
    let p99 = |workers, utilisation| us(&MDc::new(workers, utilisation).unwrap(), 0.99);
    assert!(same(p99(1, 0.5), 216.813, 1e-3) && same(p99(1, 0.7), 374.275, 1e-3));
    assert!(same(p99(1, 0.95), 2296.9, 0.1) && same(p99(8, 0.7), 84.281, 1e-3));
}

/// M/M/1: latencies are exponential, of rate (1 - rho) / service. From 99.07% on p99.9 is above 745 service
/// times, where e^-t is no number any more.
#[test]
fn mm1_is_exponential_up_to_full_load() {
    for utilisation in [0.9, 0.99, 0.999, 0.9999] {
        let queue = MMc::new(1, utilisation).unwrap();
        for p in PROPORTIONS {
            let (found, exact) = (queue.quantile(p), -(1.0 - p).ln() / (1.0 - utilisation));
            assert!((found / exact - 1.0).abs() < 1e-9, "{utilisation} {p}: {found} {exact}");
        }
    }
}

/// Far out only the slower exponential is left, so each nine more takes ln 10 / (c (1 - rho)) longer.
#[test]
fn tails_of_several_workers_fall_evenly_up_to_full_load() {
    for workers in [2, 4] {
        let queue = MMc::new(workers, 0.999).unwrap();
        let [p90, p99, p999] = [0.9, 0.99, 0.999].map(|p| queue.quantile(p));
        let nine = 10f64.ln() / (f64::from(workers) * (1.0 - 0.999));
        for longer in [p99 - p90, p999 - p99] {
            assert!((longer / nine - 1.0).abs() < 1e-9, "M/M/{workers}: {longer} {nine}");
        }
        let tail = (1..2_000).map(|t| queue.beyond(f64::from(t)));
        assert!(tail.is_sorted_by(|a, b| a > b && b / a > 0.5), "M/M/{workers}");
    }
}

/// Where both exponentials are the same one, c (1 - rho) = 1, the tail has no step.
#[test]
fn tails_have_no_step_where_the_exponentials_meet() {
    let p99 = |utilisation| MMc::new(2, utilisation).unwrap().quantile(0.99);
    for beside in [0.5 - 1e-9, 0.5 + 1e-9] {
        assert!((p99(beside) / p99(0.5) - 1.0).abs() < 1e-8, "{beside}");
    }
}

#[test]
fn means_agree_with_pollaczek_khinchine_and_with_the_area_of_the_tail() {
    for utilisation in [0.3, 0.8, 0.95] {
        let law = |text: &str| text.parse().unwrap();
        let fixed = pollaczek_khinchine(&law("fixed"), utilisation).unwrap();
        let exponential = pollaczek_khinchine(&law("exponential"), utilisation).unwrap();
        assert!((MDc::new(1, utilisation).unwrap().mean() - fixed).abs() < 1e-12 * fixed);
        assert!(
            (MMc::new(1, utilisation).unwrap().mean() - exponential).abs() < 1e-12 * exponential
        );
        assert_eq!(pollaczek_khinchine(&law("pareto:shape=2"), utilisation), None);
    }
    for (workers, utilisation) in [(2, 0.8), (4, 0.9), (16, 0.9)] {
        let (fixed, exponential) =
            (MDc::new(workers, utilisation).unwrap(), MMc::new(workers, utilisation).unwrap());
        assert!((area(|t| fixed.beyond(t)) - fixed.mean()).abs() < 2e-4);
        assert!((area(|t| exponential.beyond(t)) - exponential.mean()).abs() < 2e-4);
    }
}

/// The integral of a tail from 0 to 100 in steps of 1/2,000.
fn area(beyond: impl Fn(f64) -> f64) -> f64 {
    (0..200_000).map(|i| beyond((f64::from(i) + 0.5) / 2_000.0) / 2_000.0).sum()
}

/// The number of waiting requests at the ends of service times, q' = max(0, q + arrivals - c), step by step
/// from an empty queue until it changes no more.
fn waiting_by_iteration(workers: usize, load: f64) -> Vec<f64> {
    let arrivals: Vec<f64> = (0..60)
        .scan((-load).exp(), |weight, k| {
            let now = *weight;
            *weight *= load / f64::from(k + 1);
            Some(now)
        })
        .collect();
    let mut waiting = vec![0.0; 400];
    waiting[0] = 1.0;
    loop {
        let mut next = vec![0.0; waiting.len()];
        for (q, probability) in waiting.iter().enumerate() {
            for (k, weight) in arrivals.iter().enumerate() {
                let place = (q + k).saturating_sub(workers).min(waiting.len() - 1);
                next[place] += probability * weight;
            }
        }
        let moved: f64 = next.iter().zip(&waiting).map(|(a, b)| (a - b).abs()).sum();
        waiting = next;
        if moved < 1e-14 {
            return waiting;
        }
    }
}

/// A request that arrives to find n present waits for the next n - c + 1 completions; those that find fewer
/// than c present do not wait. Arrivals see what time sees, and n = waiting then + arrivals of one service
/// time.
#[test]
fn the_mean_of_mdc_is_that_of_the_chain_step_by_step() {
    for (workers, utilisation) in [(1, 0.5), (3, 0.7), (4, 0.8)] {
        let load = f64::from(workers) * utilisation;
        let waiting = waiting_by_iteration(workers as usize, load);
        let mean_waiting: f64 = waiting.iter().enumerate().map(|(n, p)| n as f64 * p).sum();
        let mean = 1.0 + mean_waiting / load;
        let computed = MDc::new(workers, utilisation).unwrap().mean();
        assert!((computed - mean).abs() < 1e-10, "M/D/{workers} {utilisation}: {computed} {mean}");
    }
}

#[test]
fn extremes_are_known_or_none() {
    for workers in [1, 7, 64, 200, 512] {
        for utilisation in [0.01, 0.5, 0.99, 0.999] {
            let queue = MDc::new(workers, utilisation).unwrap();
            let (p50, p999) = (queue.quantile(0.5), queue.quantile(0.999));
            assert!(1.0 <= p50 && p50 <= p999 && p999.is_finite(), "{workers} {utilisation}");
            // Fixed services never wait longer than exponential ones.
            let exponential = MMc::new(workers, utilisation).unwrap();
            assert!(
                queue.mean() <= exponential.mean() + 1e-12 && queue.mean() >= 1.0,
                "{workers} {utilisation}"
            );
            assert!(queue.beyond(p999) <= 0.001 + 1e-15);
            assert!(p999 == 1.0 || queue.beyond(p999 - 1e-6) > 0.001, "{workers} {utilisation}");
        }
    }
    for (workers, utilisation) in
        [(0, 0.5), (1, 0.0), (1, 1.0), (513, 0.5), (1, 0.999_999_9), (1, f64::NAN)]
    {
        assert_eq!(MDc::new(workers, utilisation), None, "{workers} {utilisation}");
    }
    for (workers, utilisation) in [(0, 0.5), (1, 1.0), (1, -0.1), (1, f64::NAN)] {
        assert_eq!(MMc::new(workers, utilisation), None);
    }
    assert_eq!(MMc::new(1, 0.0).unwrap().mean(), 1.0);
}

/// Services that come in bursts depend on each other, which no closed form knows.
#[test]
fn services_in_bursts_have_no_closed_form() {
    let bursts = Law::Mmpp { ratio: 4.0, share: 0.2, length: 20.0 };
    let ideal = |services: &Law| Ideal {
        arrivals: Law::Exponential,
        load: Arrivals::Utilisation(0.8),
        services: services.clone(),
        service_time: Nanos(50_000),
        workers: 1,
        discipline: Discipline::Fifo,
        requests: 1,
        seed: 1,
    };
    assert_eq!(exact::of(&ideal(&bursts)), None);
    // The control: independent services that vary as much have a mean.
    let cv = bursts.squared_cv().unwrap().sqrt();
    assert!(
        exact::of(&ideal(&Law::Hyperexponential { cv })).is_some_and(|exact| exact.mean.is_some())
    );
}
