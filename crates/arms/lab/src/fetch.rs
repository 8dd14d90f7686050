//! Bringing stock Debian kernels.

mod apt;
mod packages;
mod suites;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::Failure;

use crate::store::{BUILDER, Kernel, Lab, NEWEST, broken, is_built, is_meant};
use crate::tools;
use apt::{Apt, Archive};
pub use packages::numbers;
use suites::Suites;

/// The suite of CFS's last kernel.
const OLD: [&str; 1] = ["bookworm"];

/// The suite with the newest kernel that Debian has settled on.
const MOVING: [&str; 1] = ["forky"];

/// Suites that together hold a build of every version since 6.12.
const SINCE: [&str; 4] = ["trixie", "trixie-backports", "forky", "sid"];

/// What `lab fetch` brings when nothing is named: CFS, and the newest with sched_ext.
const DEFAULT: [&str; 2] = ["6.1", NEWEST];

/// A kernel that was asked for.
pub struct Fetched {
    /// Where it is.
    pub kernel: Kernel,
    /// Whether it was there already.
    pub was_there: bool,
    /// Suites whose list could not be had, each with the reason: a newer build may be there.
    pub passed_over: Vec<String>,
}

/// The suites to look in.
fn suites(wanted: &str) -> &'static [&'static str] {
    if is_meant("6.1", wanted) {
        return &OLD;
    }
    if wanted == NEWEST { &MOVING } else { &SINCE }
}

impl Lab {
    /// Brings the newest build of a kernel (a version such as `6.18`, or `newest`) if it is not there.
    pub fn fetch(&self, wanted: &str) -> Result<Fetched, Failure> {
        if is_built(wanted) {
            return Err(Failure::Input(format!("kernel {wanted} is not Debian's: {BUILDER}")));
        }
        self.fetch_from(&Archive::of_machine()?, wanted)
    }

    fn fetch_from(&self, archive: &Archive, wanted: &str) -> Result<Fetched, Failure> {
        let suites = Suites::update(self, archive, suites(wanted))?;
        let Some((apt, found)) = suites.newest(|release| is_meant(wanted, release)) else {
            return self.kept(wanted, &suites);
        };
        let kernel = self.kernel(&found.release);
        let was_there = kernel.image().is_file();
        if !was_there {
            self.bring(apt, &found.names, &kernel)?;
        }
        Ok(Fetched { kernel, was_there, passed_over: suites.passed_over })
    }

    /// A kernel that the suites do not have. Debian moves on; what was brought before is as good as ever.
    fn kept(&self, wanted: &str, suites: &Suites) -> Result<Fetched, Failure> {
        let refusal = suites.refusal(wanted);
        let kernel = if suites.passed_over.is_empty() { self.find(wanted).ok() } else { None };
        let kernel = kernel.ok_or(refusal)?;
        Ok(Fetched { kernel, was_there: true, passed_over: Vec::new() })
    }

    /// The kernels to bring when none is named.
    pub fn usual() -> [&'static str; 2] {
        DEFAULT
    }

    /// Every version that the archive has: 6.1, and all since 6.12. Of a suite that is passed over here,
    /// [`Lab::fetch`] tells.
    pub fn every(&self) -> Result<Vec<String>, Failure> {
        let suites = Suites::update(self, &Archive::of_machine()?, &SINCE)?;
        let mut versions = vec!["6.1".to_string()];
        versions.extend(suites.versions());
        Ok(versions)
    }

    /// Brings packages of a suite into a folder, which is made anew, and unpacks them there. The answer is
    /// the folder with their files.
    pub fn unpack(&self, suite: &str, names: &[String], new: &Path) -> Result<PathBuf, Failure> {
        let apt = Apt::new(self, &Archive::of_machine()?, suite)?;
        apt.update()?;
        unpack(&apt, names, new)
    }

    /// Downloads and unpacks beside the kernel's place and moves it there last, so that a kernel is whole or
    /// absent.
    fn bring(&self, apt: &Apt, names: &[String], kernel: &Kernel) -> Result<(), Failure> {
        let kernels = self.make("kernels")?;
        let new = apt.folder.join("new");
        let tree = unpack(apt, names, &new)?;
        let place = new.join("kernel");
        gather(&tree, &kernel.release, &place).map_err(|error| broken(&tree, &error))?;
        let target = kernels.join(&kernel.release);
        fs::rename(&place, &target).map_err(|error| broken(&target, &error))?;
        fs::remove_dir_all(&new).map_err(|error| broken(&new, &error))
    }
}

fn unpack(apt: &Apt, names: &[String], new: &Path) -> Result<PathBuf, Failure> {
    afresh(new).map_err(|error| broken(new, &error))?;
    apt.download(names, new)?;
    let tree = new.join("tree");
    for package in packages_in(new) {
        let mut unpack = Command::new("dpkg");
        tools::text(unpack.arg("-x").args([&package, &tree]), "is the disk full?")?;
    }
    Ok(tree)
}

/// Makes an empty folder; an interrupted fetch may have left one.
fn afresh(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir(folder),
    }
}

fn packages_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "deb")).collect()
}

/// Takes image, configuration and modules out of the unpacked packages. Up to 6.x image and configuration are
/// in `/boot`, in newer packages with the modules below `/usr`. Of past versions the archive may hold the
/// image alone, which boots.
fn gather(tree: &Path, release: &str, place: &Path) -> std::io::Result<()> {
    let modules = ["usr/lib/modules", "lib/modules"].map(|root| tree.join(root).join(release));
    let modules = modules.iter().find(|folder| folder.is_dir()).unwrap_or(&modules[0]);
    let file = |name: &str| {
        let old = tree.join(format!("boot/{name}-{release}"));
        if old.is_file() { old } else { modules.join(name) }
    };
    fs::create_dir_all(place)?;
    fs::rename(file("vmlinuz"), place.join("vmlinuz")).map_err(|error| {
        std::io::Error::new(error.kind(), format!("no vmlinuz of {release}: {error}"))
    })?;
    if file("config").is_file() {
        fs::rename(file("config"), place.join("config"))?;
    }
    let target = place.join("modules");
    if modules.is_dir() { fs::rename(modules, target) } else { fs::create_dir(target) }
}

#[cfg(test)]
mod mirror;

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(files: &[&str]) -> std::io::Result<Vec<&'static str>> {
        let folder = tempfile::tempdir()?;
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap())?;
            fs::write(&path, file)?;
        }
        let place = folder.path().join("kernel");
        gather(folder.path(), "1.2-x", &place)?;
        assert!(place.join("modules").is_dir());
        let there = ["vmlinuz", "config", "modules/kernel/a.ko"];
        Ok(there.into_iter().filter(|name| place.join(name).is_file()).collect())
    }

    #[test]
    fn both_layouts_of_packages_are_gathered_and_an_image_alone() {
        let old = ["boot/vmlinuz-1.2-x", "boot/config-1.2-x", "lib/modules/1.2-x/kernel/a.ko"];
        let whole = ["vmlinuz", "config", "modules/kernel/a.ko"];
        assert_eq!(gathered(&old).unwrap(), whole);
        let new =
            ["vmlinuz", "config", "kernel/a.ko"].map(|n| format!("usr/lib/modules/1.2-x/{n}"));
        assert_eq!(gathered(&new.each_ref().map(String::as_str)).unwrap(), whole);
        assert_eq!(gathered(&old[..1]).unwrap(), ["vmlinuz"]);
        gathered(&old[1..]).unwrap_err();
    }

    #[test]
    fn each_kernel_is_looked_for_where_debian_keeps_it() {
        assert_eq!(["6.1", "6.1.0-50"].map(suites), [&OLD[..]; 2]);
        assert_eq!(suites("newest"), MOVING);
        assert_eq!(["6.12", "6.18", "7.3"].map(suites), [&SINCE[..]; 3]);
    }

    #[test]
    fn a_kernel_that_is_built_is_not_looked_for() {
        let failure = Lab::at("/nowhere".into()).fetch("6.12-scx").map(|_| ()).unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.to_string().contains("tools/lab-kernel"), "{failure}");
    }
}
