//! Kernel threads bound to their CPU, among spinners.

use std::fs;
use std::time::{Duration, Instant};

use super::Stage;
use crate::worker::Kind;
use crate::workers::{finish, spawn_workers};

/// A write puts work on every CPU's queue and returns when all of it is done.
const EVERY_CPU: &str = "/proc/sys/vm/stat_refresh";
/// Spinners must not make the kernel's own threads wait for longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Gives them work again and again; none may wait for longer than a slice or two of each spinner.
pub fn work(stage: &mut Stage) -> Result<String, String> {
    let (few, many) = (stage.threads(1), stage.threads(4));
    let workers = spawn_workers(&[(Kind::Spin, many), (Kind::Nap, few)], &mut stage.chance)?;
    let (mut rounds, mut longest) = (0, Duration::ZERO);
    while stage.lasts() {
        let begin = Instant::now();
        fs::write(EVERY_CPU, "1").map_err(|error| format!("{EVERY_CPU}: {error}"))?;
        longest = longest.max(begin.elapsed());
        rounds += 1;
        stage.chance.pause(Duration::from_millis(50));
    }
    let least = finish(workers)?;
    if longest > PATIENCE {
        return Err(format!("work of kernel threads took {longest:?}, more than {PATIENCE:?}"));
    }
    Ok(format!(
        "{rounds} rounds of work, the longest {longest:?}; each thread went round {least} times or more"
    ))
}
