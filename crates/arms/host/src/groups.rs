//! The scenario's groups as cgroups (version 2) with `cpu.weight`, and their undoing.
//!
//! A guard undoes them: this executable in another role, which waits for the end of its stdin. So they are
//! gone after the run, after a signal and after `kill -9` of the run alike.

mod guard;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use model::scenario::{AlterationKind, Quota, Scenario};
use model::{Failure, Nanos, scenario};

use guard::{Guard, Orders};
pub use guard::{ROLE, main as guard_main};

const ROOT: &str = "/sys/fs/cgroup";
const CONTROL: &str = "cgroup.subtree_control";

/// The cgroups of a run. Dropping them removes them, with whatever still runs in them.
pub struct Groups {
    folders: Vec<PathBuf>,
    _guard: Option<Guard>,
}

/// Says whether cgroups can be what the scenario's groups are, on any machine.
pub fn check_shape(scenario: &Scenario) -> Result<(), Failure> {
    let inner = |index: usize| scenario.groups.iter().any(|group| group.parent == Some(index));
    let begin = scenario.programs.iter().enumerate().map(|(index, own)| (index, own.group));
    let moves = scenario.alterations.iter().filter_map(|alteration| match alteration.kind {
        AlterationKind::Move { program, group } => Some((program, Some(group))),
        _ => None,
    });
    let astray = begin.chain(moves).find(|(_, group)| group.is_some_and(inner));
    astray.map_or(Ok(()), |(program, _)| {
        Err(Failure::Machine(format!(
            "`{}` is in a group that has groups itself, which cgroups of version 2 do not allow: give it a group of its own, or use --on sim",
            scenario.programs[program].name
        )))
    })
}

/// Says whether this machine can have the scenario's groups, and changes nothing.
pub fn check_machine(scenario: &Scenario) -> Result<(), Failure> {
    if scenario.groups.is_empty() {
        return Ok(());
    }
    let controllers = fs::read_to_string(Path::new(ROOT).join("cgroup.controllers"));
    let opened = OpenOptions::new().write(true).open(Path::new(ROOT).join(CONTROL)).map(drop);
    lack(&controllers.unwrap_or_default(), opened).map_or(Ok(()), |lack| {
        Err(Failure::Machine(format!("groups with weights: {lack}, or use --on vm or --on sim")))
    })
}

/// What keeps groups with weights from being made, and its remedy.
fn lack(controllers: &str, opened: io::Result<()>) -> Option<String> {
    if !controllers.split_whitespace().any(|name| name == "cpu") {
        return Some(format!(
            "no cgroup2 with the `cpu` controller in {ROOT}: boot with systemd.unified_cgroup_hierarchy=1"
        ));
    }
    let error = opened.err()?;
    let is_right = error.kind() == io::ErrorKind::PermissionDenied;
    let remedy = if is_right { "run it with sudo" } else { "mount it to be written" };
    Some(format!("{ROOT}/{CONTROL}: {error}: {remedy}"))
}

impl Groups {
    /// Makes the scenario's groups.
    pub fn make(scenario: &Scenario) -> io::Result<Groups> {
        if scenario.groups.is_empty() {
            return Ok(Groups { folders: Vec::new(), _guard: None });
        }
        let folders: Vec<PathBuf> = scenario.groups.iter().map(folder).collect();
        let control = Path::new(ROOT).join(CONTROL);
        let enabled = fs::read_to_string(&control)?.split_whitespace().any(|name| name == "cpu");
        let orders = Orders {
            folders: folders.iter().rev().cloned().collect(),
            disable: (!enabled).then(|| control.clone()),
        };
        let guard = Guard::post(&orders)?;
        write(&control, "+cpu")?;
        for (group, folder) in scenario.groups.iter().zip(&folders) {
            // Before the group is made, or it has no weight.
            group.parent.map_or(Ok(()), |parent| write(&folders[parent].join(CONTROL), "+cpu"))?;
            fs::create_dir(folder)?;
        }
        let groups = Groups { folders, _guard: Some(guard) };
        for (index, group) in scenario.groups.iter().enumerate() {
            groups.set_weight(index, group.weight)?;
            if group.max.is_some() {
                groups.set_max(index, group.max)?;
            }
            if group.idle {
                groups.set_idle(index, true)?;
            }
        }
        Ok(groups)
    }

    /// Gives a group a weight, 1 to 10,000.
    pub fn set_weight(&self, group: usize, weight: u32) -> io::Result<()> {
        write(&self.folders[group].join("cpu.weight"), &weight.to_string())
    }

    /// Limits the CPU time of a group, or frees it. A burst is never above the quota: it goes first and comes
    /// last.
    pub fn set_max(&self, group: usize, max: Option<Quota>) -> io::Result<()> {
        let file = |name: &str| self.folders[group].join(name);
        write(&file("cpu.max.burst"), "0")?;
        let text = max.map_or("max".to_string(), |max| {
            format!("{} {}", max.quota.0 / 1_000, max.period.0 / 1_000)
        });
        write(&file("cpu.max"), &text)?;
        let burst = max.map_or(Nanos::ZERO, |max| max.burst);
        write(&file("cpu.max.burst"), &(burst.0 / 1_000).to_string())
    }

    /// Takes its weight from a group, or gives it back.
    pub fn set_idle(&self, group: usize, idle: bool) -> io::Result<()> {
        write(&self.folders[group].join("cpu.idle"), if idle { "1" } else { "0" })
    }

    /// Moves the process of a thread into a group.
    pub fn move_process(&self, thread: i32, group: usize) -> io::Result<()> {
        write(&self.door(group), &thread.to_string())
    }

    /// The file by which a process joins a group.
    pub fn door(&self, group: usize) -> PathBuf {
        self.folders[group].join("cgroup.procs")
    }
}

/// Moves the calling process into a group.
pub fn enter(door: &Path) -> io::Result<()> {
    write(door, "0")
}

/// Groups stand directly below the root, as in the scenario: one folder more would be a group more.
fn folder(group: &scenario::Group) -> PathBuf {
    Path::new(ROOT).join(format!("rearguard-{}-{}", std::process::id(), group.name))
}

/// One write, as the kernel's files want it; the error names the file.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let written = OpenOptions::new().write(true).open(path).and_then(|mut file| {
        let length = file.write(text.as_bytes())?;
        if length == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    });
    written.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sudo_is_advised_where_it_helps() {
        let denied = || Err(io::ErrorKind::PermissionDenied.into());
        let absent = lack("cpuset memory\n", denied()).expect("a lack");
        assert!(absent.contains("no cgroup2") && !absent.contains("sudo"), "{absent}");
        let read_only = Err(io::ErrorKind::ReadOnlyFilesystem.into());
        let read_only = lack("cpuset cpu\n", read_only).expect("a lack");
        assert!(read_only.contains("mount") && !read_only.contains("sudo"), "{read_only}");
        assert!(lack("cpuset cpu\n", denied()).is_some_and(|lack| lack.contains("sudo")));
        assert_eq!(lack("cpuset cpu\n", Ok(())), None, "the control");
    }
}
