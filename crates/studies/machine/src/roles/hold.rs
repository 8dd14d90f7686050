//! The process that holds a bound of the wake-up latency: the kernel keeps it for as long as the file is open
//! (PM QoS).

use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

use model::Failure;

/// The argument that makes an executable the holder.
pub const ROLE: &str = "__host_hold";
/// The kernel's file.
pub const FILE: &str = "/dev/cpu_dma_latency";

/// Holds the bound until it is ended.
pub fn play(args: &[String]) -> Result<(), Failure> {
    let latency_us: i32 = args
        .first()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Failure::Input(format!("{ROLE}: expected microseconds")))?;
    let failed = |error| Failure::Machine(format!("{FILE}: {error}"));
    let mut file = OpenOptions::new().write(true).open(FILE).map_err(failed)?;
    file.write_all(&latency_us.to_ne_bytes()).map_err(failed)?;
    println!("held");
    loop {
        thread::park();
    }
}
