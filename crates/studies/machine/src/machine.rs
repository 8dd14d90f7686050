//! A machine to change: its platform, its journal, and the right to change it.

use std::fs::File;
use std::path::PathBuf;

use model::Failure;

use crate::journal::{Journal, Unwritten};
use crate::platform::{Live, Platform};

/// The variable that names the folder of the journal.
const FOLDER: &str = "RG_STATE_DIR";

/// Where root's journal lies, and others' in their homes, unless a variable says otherwise.
pub(crate) const OF_ROOT: &str = "/var/lib/rearguard";
pub(crate) const OF_USERS: &str = ".local/state/rearguard";

/// A machine.
pub struct Machine {
    platform: Box<dyn Platform>,
    state: String,
    unwritten: Unwritten,
    /// Whether a process stands by that undoes what a command leaves when it is killed.
    pub guarded: bool,
}

impl Machine {
    /// This machine.
    pub fn live() -> Result<Machine, Failure> {
        let state = state_folder()?;
        Ok(Machine::new(Box::new(Live::new(&format!("{state}/said"))), &state, true))
    }

    /// Another platform, with its journal in this folder of it.
    pub fn new(platform: Box<dyn Platform>, state: &str, guarded: bool) -> Machine {
        Machine { platform, state: state.to_string(), unwritten: Unwritten::default(), guarded }
    }

    /// The platform.
    pub fn on(&self) -> &dyn Platform {
        self.platform.as_ref()
    }

    /// The journal.
    pub fn journal(&self) -> Journal<'_> {
        Journal::new(self.on(), &self.state, &self.unwritten)
    }

    /// The folder of the journal.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// The right to change the machine: others wait until it is dropped.
    pub fn lock(&self) -> Result<File, Failure> {
        let path = self.lock_path();
        self.on().lock(&path).map_err(|error| {
            Failure::Machine(format!(
                "{path}: {error}: run it with sudo, or name a folder of yours in {FOLDER}"
            ))
        })
    }

    /// The process that has that right, or had it last.
    pub fn holder(&self) -> Option<i32> {
        self.on().read(&self.lock_path()).ok()?.trim().parse().ok()
    }

    fn lock_path(&self) -> String {
        format!("{}/lock", self.state)
    }
}

/// Where the journal outlives a reboot.
fn state_folder() -> Result<String, Failure> {
    state_of(nix::unistd::geteuid().is_root(), |name| std::env::var_os(name).map(PathBuf::from))
}

fn state_of(is_root: bool, named: impl Fn(&str) -> Option<PathBuf>) -> Result<String, Failure> {
    let of_root = || is_root.then(|| PathBuf::from(OF_ROOT));
    let xdg = || Some(named("XDG_STATE_HOME")?.join("rearguard"));
    let home = || Some(named("HOME")?.join(OF_USERS));
    let folder = named(FOLDER).or_else(of_root).or_else(xdg).or_else(home);
    let folder = folder.ok_or_else(|| {
        Failure::Machine(format!("no folder for the journal: set HOME, or name one in {FOLDER}"))
    })?;
    if !folder.is_absolute() {
        let folder = folder.display();
        return Err(Failure::Input(format!(
            "the journal's folder `{folder}`: name an absolute one in {FOLDER}"
        )));
    }
    Ok(folder.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_home_cannot_and_a_relative_folder_is_bad_input() {
        let of = |is_root, set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|(known, _)| *known == name);
            state_of(is_root, |name| Some(PathBuf::from(value(name)?.1)))
                .map_err(|failure| failure.exit_code())
        };
        assert_eq!(of(false, &[]), Err(3));
        assert_eq!(of(false, &[("HOME", "/h"), (FOLDER, "here")]), Err(2));
        assert_eq!(of(false, &[("HOME", "/h")]), Ok(format!("/h/{OF_USERS}")), "the control");
        assert_eq!(of(true, &[]), Ok(OF_ROOT.to_string()));
    }
}
