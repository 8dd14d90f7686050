//! Commands as points: each leaves a file results/SEED.json for each of its seeds.

use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use fileio::LONGEST_LIST;
use model::{Failure, Watch};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// What a command has to end by itself once it is told to: less than this process has.
const GRACE: Duration = Duration::from_millis(400);
/// Bytes of what a command complains about.
const LONGEST_COMPLAINT: u64 = 64 << 10;

/// Runs a command for some seeds: what it found by seed, and why it did not find the rest.
pub fn run(words: &[String], seeds: &[u64], watch: &dyn Watch) -> (Vec<Option<String>>, Failure) {
    let failed = |error: io::Error| Failure::Machine(format!("{}: {error}", words[0]));
    let folder = match fileio::Folder::new() {
        Ok(folder) => folder,
        Err(error) => return (vec![None; seeds.len()], failed(error)),
    };
    let why = match complaint(words, seeds, folder.path(), watch) {
        _ if watch.cancelled() => Failure::Interrupted,
        Ok(complaint) => Failure::Run(complaint),
        Err(error) => failed(error),
    };
    let found = |seed: &u64| result(&folder.path().join(format!("results/{seed}.json")));
    (seeds.iter().map(found).collect(), why)
}

/// A result as JSON on a line.
fn result(path: &Path) -> Option<String> {
    let value: serde_json::Value =
        serde_json::from_slice(&fileio::whole(path, LONGEST_LIST).ok()?).ok()?;
    Some(value.to_string())
}

/// What a command said, which is no more than a reason for results that are not there.
fn complaint(
    words: &[String],
    seeds: &[u64],
    folder: &Path,
    watch: &dyn Watch,
) -> io::Result<String> {
    let listed: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let filled = words.iter().map(|word| {
        word.replace("{seeds}", &listed.join(" ")).replace("{folder}", &folder.to_string_lossy())
    });
    // The program's own name is this very program.
    let program =
        if words[0] == "rearguard" { env::current_exe()? } else { PathBuf::from(&words[0]) };
    let mut said = tempfile::tempfile()?;
    let mut command = Command::new(program);
    command.args(filled.skip(1)).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(said.try_clone()?).process_group(0).spawn()?;
    let status = ended(&mut child, watch)?;
    let mut text = Vec::new();
    said.rewind()?;
    said.take(LONGEST_COMPLAINT).read_to_end(&mut text)?;
    Ok(format!("{status}: {}", String::from_utf8_lossy(&text).trim()))
}

/// Waits for a command that leads a process group, and ends the group once the user stops.
pub fn ended(child: &mut Child, watch: &dyn Watch) -> io::Result<ExitStatus> {
    let group = Pid::from_raw(child.id() as i32);
    let mut told = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        // A group that has gone needs no signal.
        match told {
            None if watch.cancelled() => {
                let _ = killpg(group, Signal::SIGTERM);
                told = Some(Instant::now());
            }
            Some(since) if Instant::elapsed(&since) > GRACE => {
                let _ = killpg(group, Signal::SIGKILL);
            }
            _ => {}
        }
        thread::sleep(LOOK);
    }
}
