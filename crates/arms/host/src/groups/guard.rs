//! The process that removes the groups of a run, however the run ends.

use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::write;

/// The argument that makes an executable the guard.
pub const ROLE: &str = "__groups";

/// How often to try to remove a group whose last process is about to go, and how long to wait in between: 5 s
/// in all.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// What to undo.
#[derive(Serialize, Deserialize)]
pub struct Orders {
    /// The groups' folders, the innermost first; some may not be there yet.
    pub folders: Vec<PathBuf>,
    /// Where the `cpu` controller was not on before.
    pub disable: Option<PathBuf>,
}

/// The guard of a run; dropping it sends it to its work and waits for the end of it.
pub struct Guard {
    child: Child,
    orders: Option<ChildStdin>,
}

impl Guard {
    /// Posts a guard, before the first change.
    pub fn post(orders: &Orders) -> io::Result<Guard> {
        let mut child = Command::new("/proc/self/exe")
            .arg(ROLE)
            // Signals to the run's group are not for the guard.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let mut pipe = child.stdin.take().expect("piped");
        let line = serde_json::to_string(orders).expect("paths are text");
        let told = writeln!(pipe, "{line}");
        let guard = Guard { child, orders: Some(pipe) };
        told.map(|()| guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.orders.take());
        // It fails only when the guard is gone and reaped already.
        let _ = self.child.wait();
    }
}

/// Waits for the end of the run and removes its groups.
pub fn main() -> ExitCode {
    match stand() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rearguard: groups of a run could not be removed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn stand() -> io::Result<()> {
    let mut stdin = io::stdin().lock();
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let orders: Orders = serde_json::from_str(&line)?;
    // Nothing more comes: the end is the run's.
    stdin.read_to_end(&mut Vec::new())?;
    orders.folders.iter().try_for_each(|folder| remove(folder))?;
    orders.disable.map_or(Ok(()), |control| write(&control, "-cpu"))
}

fn remove(folder: &Path) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    // Kernels before 5.14 do not have it; then the run's processes have gone with the run.
    let _ = write(&folder.join("cgroup.kill"), "1");
    for _ in 0..TRIES {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => sleep(PAUSE),
            removed => return removed,
        }
    }
    fs::remove_dir(folder)
}
