//! Bringing stock Debian kernels.

mod apt;
mod packages;

use std::fs;
use std::path::Path;
use std::process::Command;

use model::Failure;

use crate::store::{Kernel, Lab, NEWEST, broken, is_meant};
use crate::tools;
use apt::Apt;

/// Suites that keep one kernel version for their life, and that version.
const STABLE: [(&str, &str); 2] = [("6.1", "bookworm"), ("6.12", "trixie")];

/// The suite with the newest kernel that Debian has settled on.
const MOVING: &str = "forky";

/// What `lab fetch` brings when nothing is named: CFS, and the newest with sched_ext.
const DEFAULT: [&str; 2] = ["6.1", NEWEST];

/// A kernel that was asked for.
pub struct Fetched {
    /// Where it is.
    pub kernel: Kernel,
    /// Whether it was there already.
    pub was_there: bool,
}

impl Lab {
    /// Brings the newest build of a kernel (`6.1`, `6.12`, or the version of the newest) if it is not there.
    pub fn fetch(&self, wanted: &str) -> Result<Fetched, Failure> {
        let suite = STABLE.iter().find(|(version, _)| is_meant(version, wanted));
        let suite = suite.map_or(MOVING, |(_, suite)| suite);
        let apt = Apt::update(self, suite)?;
        let found = packages::resolve(&apt.dependencies()?)?;
        if !is_meant(wanted, &found.release) {
            // Debian moves on; what was brought before is as good as ever.
            if let Ok(kernel) = self.find(wanted) {
                return Ok(Fetched { kernel, was_there: true });
            }
            return Err(Failure::Input(format!(
                "kernel {wanted} is not what Debian has in {suite}, which is {}: ask for 6.1, 6.12 or newest",
                found.release
            )));
        }
        let kernel = self.kernel(&found.release);
        let was_there = kernel.image().is_file();
        if !was_there {
            self.bring(&apt, &found.names, &kernel)?;
        }
        Ok(Fetched { kernel, was_there })
    }

    /// The kernels to bring when none is named.
    pub fn usual() -> [&'static str; 2] {
        DEFAULT
    }

    /// Downloads and unpacks beside the kernel's place and moves it there last, so that a kernel is whole or
    /// absent.
    fn bring(&self, apt: &Apt, names: &[String], kernel: &Kernel) -> Result<(), Failure> {
        let kernels = self.make("kernels")?;
        let new = apt.folder.join("new");
        afresh(&new).map_err(|error| broken(&new, &error))?;
        apt.download(names, &new)?;
        let tree = new.join("tree");
        for package in packages_in(&new) {
            let mut unpack = Command::new("dpkg");
            tools::text(unpack.arg("-x").args([&package, &tree]), "is the disk full?")?;
        }
        let place = new.join("kernel");
        gather(&tree, &kernel.release, &place).map_err(|error| broken(&tree, &error))?;
        let target = kernels.join(&kernel.release);
        fs::rename(&place, &target).map_err(|error| broken(&target, &error))?;
        fs::remove_dir_all(&new).map_err(|error| broken(&new, &error))
    }
}

/// Makes an empty folder; an interrupted fetch may have left one.
fn afresh(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir(folder),
    }
}

fn packages_in(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "deb")).collect()
}

/// Takes image, configuration and modules out of the unpacked packages. Up to 6.x image and configuration are
/// in `/boot`, in newer packages with the modules below `/usr`.
fn gather(tree: &Path, release: &str, place: &Path) -> std::io::Result<()> {
    let boot = tree.join("boot");
    let modules = ["usr/lib/modules", "lib/modules"].map(|root| tree.join(root).join(release));
    let modules = modules.iter().find(|folder| folder.is_dir()).unwrap_or(&modules[0]);
    fs::create_dir_all(place)?;
    for name in ["vmlinuz", "config"] {
        let old = boot.join(format!("{name}-{release}"));
        let from = if old.is_file() { old } else { modules.join(name) };
        fs::rename(&from, place.join(name)).map_err(|error| {
            std::io::Error::new(error.kind(), format!("no {name} of {release}: {error}"))
        })?;
    }
    fs::rename(modules, place.join("modules"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(files: &[&str]) -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap())?;
            fs::write(&path, file)?;
        }
        let place = folder.path().join("kernel");
        gather(folder.path(), "1.2-x", &place)?;
        let there = ["vmlinuz", "config", "modules/kernel/a.ko"];
        assert!(there.iter().all(|name| place.join(name).is_file()));
        Ok(())
    }

    #[test]
    fn both_layouts_of_packages_are_gathered() {
        let old = ["boot/vmlinuz-1.2-x", "boot/config-1.2-x", "lib/modules/1.2-x/kernel/a.ko"];
        gathered(&old).unwrap();
        let new =
            ["vmlinuz", "config", "kernel/a.ko"].map(|n| format!("usr/lib/modules/1.2-x/{n}"));
        gathered(&new.each_ref().map(String::as_str)).unwrap();
        gathered(&old[1..]).unwrap_err();
    }
}
