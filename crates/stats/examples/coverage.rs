#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use stats::latency_estimates;
use std::sync::atomic::{AtomicUsize, Ordering};

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let reps: usize = a.get(1).map_or(200, |s| s.parse().unwrap());
    let scale: f64 = a.get(2).map_or(1.0, |s| s.parse().unwrap());
    let runs: usize = a.get(3).map_or(1, |s| s.parse().unwrap());
    for q in QUEUES {
        let n = (scale
            * if q.load < 0.6 {
                200e3
            } else if q.load < 0.85 {
                1e6
            } else {
                4e6
            }) as usize
            / runs;
        let hits: Vec<AtomicUsize> = (0..8).map(|_| AtomicUsize::new(0)).collect();
        let next = AtomicUsize::new(0);
        let width: std::sync::Mutex<[f64; 4]> = Default::default();
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= reps {
                            break;
                        }
                        let data: Vec<_> =
                            (0..runs).map(|r| q.latencies((i * runs + r) as u64 + 1, n)).collect();
                        let l = latency_estimates(&data).unwrap();
                        for (k, e) in [l.p50, l.p90, l.p99, l.p99_9].iter().enumerate() {
                            let t = q.exact[k] * UNIT;
                            if e.low > t + 50.0 {
                                hits[2 * k].fetch_add(1, Ordering::Relaxed);
                            }
                            if e.high < t - 50.0 {
                                hits[2 * k + 1].fetch_add(1, Ordering::Relaxed);
                            }
                            width.lock().unwrap()[k] +=
                                (e.high - e.low) / e.value / 2.0 / reps as f64;
                        }
                    }
                });
            }
        });
        print!("{:10} n={n}x{runs}", q.name());
        let w = width.lock().unwrap();
        for k in 0..4 {
            let lo = hits[2 * k].load(Ordering::Relaxed);
            let hi = hits[2 * k + 1].load(Ordering::Relaxed);
            print!(
                "  {:5.1}% (-{} +{}) ±{:.1}%",
                100.0 * (reps - lo - hi) as f64 / reps as f64,
                lo,
                hi,
                w[k] * 100.0
            );
        }
        println!();
    }
}
