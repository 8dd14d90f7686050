//! How many jumps the verifier kept for later at once: it refuses above 8,192 and does not say so. A probe on
//! its own function does.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const EVENTS: &str = "/sys/kernel/tracing/kprobe_events";
const EVENT: &str = "/sys/kernel/tracing/events/rearguard/jumps";
const PROBE: &str = "p:rearguard/jumps push_stack depth=env->stack_size:s32";
const HISTOGRAM: &str = "hist:keys=depth:size=16384";

/// The probe, set.
pub struct Jumps {
    event: PathBuf,
}

impl Jumps {
    /// `None` where this kernel's verifier has no such function.
    pub fn watch() -> Option<Jumps> {
        fs::write(EVENTS, PROBE).ok()?;
        let event = Path::new(EVENT).to_path_buf();
        fs::write(event.join("trigger"), HISTOGRAM).ok()?;
        fs::write(event.join("enable"), "1").ok()?;
        Some(Jumps { event })
    }

    /// The most since the last question.
    pub fn most(&self) -> io::Result<u32> {
        let text = fs::read_to_string(self.event.join("hist"))?;
        // A file opened anew would lose its triggers.
        let mut trigger = OpenOptions::new().append(true).open(self.event.join("trigger"))?;
        trigger.write_all(format!("{HISTOGRAM}:clear").as_bytes())?;
        Ok(most(&text))
    }
}

/// The greatest key of a histogram of the kernel's: `{ depth:        12 } hitcount:          3`.
fn most(histogram: &str) -> u32 {
    let depth =
        |line: &str| line.strip_prefix("{ depth:")?.split('}').next()?.trim().parse::<u32>().ok();
    histogram.lines().filter_map(depth).max().unwrap_or(0)
}
