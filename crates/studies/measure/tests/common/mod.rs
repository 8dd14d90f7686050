//! How servers of the tests are measured.

use generator::Limits;
use measure::{Load, Setup};
use model::Nanos;
use model::law::Law;

/// So many requests, due within 250 ms.
pub fn load(requests: usize) -> Load {
    Load {
        rate_per_s: requests as f64 * 4.0,
        law: Law::Fixed,
        stamps: None,
        warm_up: Nanos::ZERO,
        duration: Nanos::from_millis(250),
        seed: 1,
        outlier_threshold: Nanos::from_millis(10),
    }
}

/// Over so many connections, by one CPU.
pub fn setup(connections: u32, limits: Limits) -> Setup {
    let cpus = vec![host::cpus().first().map_or(0, |cpu| cpu.id)];
    Setup { connections, cpus, limits, socket_timestamps: false }
}
