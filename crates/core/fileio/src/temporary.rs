//! What a signal that ends this process does not leave behind: temporary files and folders, and programs that
//! it waits for.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tempfile::TempDir;

/// How names of folders begin; the process's number follows.
const PREFIX: &str = "rearguard-";

static THERE: Mutex<There> = Mutex::new(There { paths: BTreeSet::new(), groups: BTreeSet::new() });

/// What this process has to remove, and groups of processes that it has to end.
struct There {
    paths: BTreeSet<PathBuf>,
    groups: BTreeSet<u32>,
}

fn there() -> MutexGuard<'static, There> {
    // A panic elsewhere must not keep anything from being removed.
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process at once, as a signal asks: what is temporary is removed, and nothing begun meanwhile.
pub fn leave(code: i32) -> ! {
    let there = there();
    for group in &there.groups {
        // One that has ended needs no signal.
        let _ = killpg(Pid::from_raw(*group as i32), Signal::SIGKILL);
    }
    for path in &there.paths {
        // Another thread may be removing it, too. What cannot be removed keeps no process from ending.
        let _ = (0..3).any(|_| remove(path).is_ok());
    }
    // With the lock held: no other thread makes one more.
    std::process::exit(code)
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// Something that [`leave`] removes as long as this is there.
pub(crate) struct Listed(PathBuf);

/// Makes something with a path, and lists it before a signal can come between.
pub(crate) fn listed<T>(
    make: impl FnOnce() -> io::Result<T>,
    path: impl FnOnce(&T) -> &Path,
) -> io::Result<(T, Listed)> {
    let mut there = there();
    let made = make()?;
    let path = path(&made).to_path_buf();
    there.paths.insert(path.clone());
    Ok((made, Listed(path)))
}

impl Drop for Listed {
    fn drop(&mut self) {
        there().paths.remove(&self.0);
    }
}

/// Runs a program to its end, with this as its input. [`leave`] ends it, and what it has started.
pub fn output(command: &mut Command, input: &[u8]) -> io::Result<Output> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = {
        let mut there = there();
        let child = piped.process_group(0).spawn()?;
        there.groups.insert(child.id());
        child
    };
    let group = child.id();
    // A program that ends early says why itself.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(input));
    let output = child.wait_with_output();
    there().groups.remove(&group);
    output
}

/// A folder that goes with this.
pub struct Folder {
    folder: TempDir,
    _listed: Listed,
}

impl Folder {
    /// In the user's place for such folders (TMPDIR). Those that killed processes left there are removed.
    pub fn new() -> io::Result<Folder> {
        let place = std::env::temp_dir();
        sweep(&place);
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let make = || tempfile::Builder::new().prefix(&prefix).tempdir_in(&place);
        let (folder, listed) = listed(make, TempDir::path)?;
        Ok(Folder { folder, _listed: listed })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Only our own: another user may give a folder any name.
fn sweep(place: &Path) {
    let own = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let ours = entry.metadata().is_ok_and(|about| about.is_dir() && about.uid() == own);
        if ours && is_of_the_dead(&entry.file_name().to_string_lossy(), PREFIX) {
            // One that cannot be removed is in no one's way.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a name says a process after its beginning, and that one has gone.
pub(crate) fn is_of_the_dead(name: &str, beginning: &str) -> bool {
    let process = name.strip_prefix(beginning).and_then(|rest| rest.split_once('-'));
    let process = process.and_then(|(number, _)| number.parse::<u32>().ok());
    process.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_neither_there_nor_listed() {
        let folder = Folder::new().expect("room");
        let path = folder.path().to_path_buf();
        assert!(path.is_dir() && there().paths.contains(&path));
        drop(folder);
        assert!(!path.exists() && !there().paths.contains(&path));
    }

    #[test]
    fn a_program_is_listed_until_it_has_ended() {
        // Its own group, so that what it starts ends with it.
        let asked = "cat; test $(ps -o pgid= $$) = $$ && ps -o pid= $$";
        let said = output(Command::new("sh").args(["-c", asked]), b"given ").expect("a shell");
        let said = String::from_utf8(said.stdout).expect("UTF-8");
        let group = said.strip_prefix("given ").and_then(|pid| pid.trim().parse().ok());
        assert!(group.is_some_and(|group: u32| !there().groups.contains(&group)), "{said}");
    }

    #[test]
    fn folders_of_killed_processes_are_swept_up_and_no_others() {
        let place = tempfile::tempdir().expect("room");
        // No process has that number: they end at 2^22.
        let gone = "rearguard-4999999-abc";
        let alive = format!("rearguard-{}-abc", std::process::id());
        let others = [alive.as_str(), "rearguard-server-abc", "rearguard-4999999", "mine"];
        for name in others.iter().chain([&gone]) {
            fs::create_dir(place.path().join(name)).expect("room");
        }
        sweep(place.path());
        assert!(!place.path().join(gone).exists());
        others.iter().for_each(|name| assert!(place.path().join(name).exists(), "{name}"));
    }
}
