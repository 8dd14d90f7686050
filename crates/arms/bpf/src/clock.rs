//! The clock of BPF programs (`bpf_ktime_get_ns`).

use std::time::Duration;

use model::{Failure, Nanos};
use nix::time::ClockId;

/// The moment by the clock of BPF programs.
pub fn now() -> Result<Nanos, Failure> {
    let now = ClockId::CLOCK_MONOTONIC.now();
    let now = now.map_err(|error| Failure::Machine(format!("CLOCK_MONOTONIC: {error}")))?;
    Ok(Nanos(Duration::from(now).as_nanos() as u64))
}
