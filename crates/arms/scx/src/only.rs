//! Partial mode: chosen threads alone are the policy's, by the scheduling policy SCHED_EXT. Their children
//! inherit it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use model::Failure;
use nix::libc;

use crate::groups::MOUNT;

/// `SCHED_EXT` of linux/sched.h, which libc does not have yet.
const SCHED_EXT: i32 = 7;
/// Policies whose threads follow the choice. The others are above the default class, or asked to be below it.
const FOLLOWS: [i32; 2] = [libc::SCHED_OTHER, libc::SCHED_BATCH];
/// Walks over the machine's threads until none is left to give back: each may find new children.
const WALKS: u32 = 10;

/// A choice of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    /// Of a process.
    Process(u32),
    /// Of a cgroup and all below it.
    Group(PathBuf),
}

/// Threads by choice. Dropped, they are scheduled as they were before, and so are their children.
pub struct Only {
    choices: Vec<Choice>,
    words: Vec<String>,
    /// What each of them was before.
    taken: BTreeMap<u32, i32>,
    /// Threads that had SCHED_EXT by themselves.
    foreign: BTreeSet<u32>,
}

impl Only {
    /// The threads of cgroups (`/a/b`), units (`web.service`) and processes (their ids). Changes nothing yet.
    ///
    /// [`Failure::Input`] for what is none of these, or is not there.
    pub fn of(words: &[String]) -> Result<Only, Failure> {
        let choices = words.iter().map(|word| choice(word, Path::new(MOUNT)));
        Ok(Only {
            choices: choices.collect::<Result<_, _>>()?,
            words: words.to_vec(),
            taken: BTreeMap::new(),
            foreign: all_threads()
                .into_iter()
                .filter(|id| policy(*id) == Some(SCHED_EXT))
                .collect(),
        })
    }

    /// Takes members that are new, and gives those back that have left.
    ///
    /// A thread that may not be changed has ended, or this process has lost its privileges: nothing is to do.
    pub fn follow(&mut self) {
        let members: BTreeSet<u32> = self.choices.iter().flat_map(threads).collect();
        let left: Vec<u32> =
            self.taken.keys().filter(|id| !members.contains(*id)).copied().collect();
        left.into_iter().for_each(|id| self.give_back(id));
        for id in members.difference(&self.foreign) {
            match policy(*id) {
                Some(before) if FOLLOWS.contains(&before) && set(*id, SCHED_EXT) => {
                    self.taken.insert(*id, before);
                }
                // A child of one that was taken.
                Some(SCHED_EXT) => drop(self.taken.entry(*id).or_insert(libc::SCHED_OTHER)),
                _ => {}
            }
        }
    }

    /// Threads that had SCHED_EXT before any were chosen: the kernel gives them to the policy, too.
    pub fn foreign(&self) -> usize {
        self.foreign.len()
    }

    fn give_back(&mut self, id: u32) {
        let before = self.taken.remove(&id).unwrap_or(libc::SCHED_OTHER);
        if policy(id) == Some(SCHED_EXT) {
            set(id, before);
        }
    }
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "the threads of {}", self.words.join(", "))
    }
}

impl Drop for Only {
    /// All threads of the machine are looked at: a child may have moved anywhere.
    fn drop(&mut self) {
        for _ in 0..WALKS {
            let ours = |id: &u32| policy(*id) == Some(SCHED_EXT) && !self.foreign.contains(id);
            let ours: Vec<u32> = all_threads().into_iter().filter(ours).collect();
            if ours.is_empty() {
                break;
            }
            ours.into_iter().for_each(|id| self.give_back(id));
        }
    }
}

fn choice(word: &str, mount: &Path) -> Result<Choice, Failure> {
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        let id = word.parse().ok().filter(|id| Path::new(&format!("/proc/{id}/task")).is_dir());
        let absent = || Failure::Input(format!("--only {word}: there is no such process"));
        return id.map(Choice::Process).ok_or_else(absent);
    }
    if !is_name(word) {
        return Err(Failure::Input(format!(
            "--only {word}: expected a cgroup (/system.slice/web), a unit (web.service) or a process's id (policy and \
             other options stand before --only)"
        )));
    }
    group("--only", word, mount).map(Choice::Group)
}

/// Whether a word is that of a cgroup or of a unit.
fn is_name(word: &str) -> bool {
    word.starts_with('/') || [".service", ".scope", ".slice"].iter().any(|end| word.ends_with(end))
}

/// The folder of a cgroup (`/a/b`) or of a unit at work (`web.service`), for an option of the command line.
pub fn group(option: &str, word: &str, mount: &Path) -> Result<PathBuf, Failure> {
    let wrong = |text: &str| Failure::Input(format!("{option} {word}: {text}"));
    if !is_name(word) {
        return Err(wrong("expected a cgroup (/system.slice/web) or a unit (web.service)"));
    }
    let Some(path) = word.strip_prefix('/') else {
        return unit(mount, word).ok_or_else(|| wrong("there is no such unit at work"));
    };
    let below = Path::new("/").join(path);
    let path = below.strip_prefix(mount).unwrap_or(Path::new(path)).to_path_buf();
    if path.as_os_str().is_empty() {
        return Err(wrong("that is every thread of the machine: leave it out"));
    }
    let folder = Some(mount.join(path)).filter(|folder| is_group(folder));
    folder.ok_or_else(|| wrong("there is no such cgroup"))
}

fn is_group(folder: &Path) -> bool {
    folder.join("cgroup.threads").is_file()
}

/// The cgroup of a unit: systemd gives it the unit's name.
fn unit(folder: &Path, name: &str) -> Option<PathBuf> {
    let own = folder.join(name);
    if is_group(&own) {
        return Some(own);
    }
    below(folder).into_iter().find_map(|child| unit(&child, name))
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

fn threads(choice: &Choice) -> Vec<u32> {
    match choice {
        Choice::Process(id) => numbers_in(&format!("/proc/{id}/task")),
        Choice::Group(folder) => {
            // Of a threaded cgroup cgroup.procs cannot be read, and cgroup.threads always can.
            let own = fs::read_to_string(folder.join("cgroup.threads")).unwrap_or_default();
            let mut all: Vec<u32> = own.lines().filter_map(|line| line.parse().ok()).collect();
            all.extend(below(folder).into_iter().flat_map(|child| threads(&Choice::Group(child))));
            all
        }
    }
}

fn all_threads() -> Vec<u32> {
    numbers_in("/proc").into_iter().flat_map(|id| numbers_in(&format!("/proc/{id}/task"))).collect()
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A thread's scheduling policy; `None`: it has ended.
fn policy(id: u32) -> Option<i32> {
    // SAFETY: no memory is passed.
    let policy = unsafe { libc::sched_getscheduler(id as i32) };
    (policy >= 0).then_some(policy & !libc::SCHED_RESET_ON_FORK)
}

/// Gives a thread another policy, at its nice value, for its children as before.
fn set(id: u32, policy: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads the structure, which outlives it; the first call passes no memory.
    unsafe {
        let now = libc::sched_getscheduler(id as i32);
        let reset = if now >= 0 { now & libc::SCHED_RESET_ON_FORK } else { 0 };
        libc::sched_setscheduler(id as i32, policy | reset, &raw const parameters) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_units_and_processes_are_told_apart_and_what_is_none_is_refused() {
        let mount = tempfile::tempdir().expect("a folder");
        let group = mount.path().join("system.slice/web.service/inner");
        fs::create_dir_all(&group).expect("a group");
        fs::write(group.join("cgroup.threads"), "7\n").expect("a file");
        fs::write(group.with_file_name("cgroup.threads"), "5\n6\n").expect("a file");
        let of = |word: &str| choice(word, mount.path());
        let web = of("web.service").expect("a unit");
        assert_eq!(threads(&web), [5, 6, 7]);
        assert_eq!(of("/system.slice/web.service"), Ok(web.clone()));
        assert_eq!(of(&group.with_file_name("").display().to_string()), Ok(web));
        let own = std::process::id();
        assert_eq!(of(&own.to_string()), Ok(Choice::Process(own)));
        for bad in ["db.service", "/system.slice/db", "/", "4194305", "cts", ""] {
            assert_eq!(of(bad).map_err(|failure| failure.exit_code()), Err(2), "{bad}");
        }
    }
}
