//! Commands as points: each leaves a file results/SEED.json for each of its seeds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use model::{Failure, Watch};

/// Runs a command for some seeds: what it found by seed, and why it did not find the rest.
pub fn run(words: &[String], seeds: &[u64], watch: &dyn Watch) -> (Vec<Option<String>>, Failure) {
    let failed = |error: io::Error| Failure::Machine(format!("{}: {error}", words[0]));
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return (vec![None; seeds.len()], failed(error)),
    };
    let why = match complaint(words, seeds, folder.path()) {
        _ if watch.cancelled() => Failure::Interrupted,
        Ok(complaint) => Failure::Run(complaint),
        Err(error) => failed(error),
    };
    let found = |seed: &u64| result(&folder.path().join(format!("results/{seed}.json")));
    (seeds.iter().map(found).collect(), why)
}

/// A result as JSON on a line.
fn result(path: &Path) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    Some(value.to_string())
}

/// What a command said, which is no more than a reason for results that are not there.
fn complaint(words: &[String], seeds: &[u64], folder: &Path) -> io::Result<String> {
    let listed: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let filled = words.iter().map(|word| {
        word.replace("{seeds}", &listed.join(" ")).replace("{folder}", &folder.to_string_lossy())
    });
    // The program's own name is this very program.
    let program =
        if words[0] == "rearguard" { env::current_exe()? } else { PathBuf::from(&words[0]) };
    let ended = Command::new(program).args(filled.skip(1)).output()?;
    Ok(format!("{}: {}", ended.status, String::from_utf8_lossy(&ended.stderr).trim()))
}
