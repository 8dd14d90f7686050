//! The lab's folder: kernels, the private apt state, and what a probe of this machine found.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use model::Failure;

use crate::fetch::numbers;

/// A kernel of the lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What `uname -r` says under it.
    pub release: String,
    folder: PathBuf,
}

impl Kernel {
    /// Version and patch level, `7.2`, and [`BUILT`] if it was built here: the name for `lab run`.
    pub fn name(&self) -> String {
        let numbers: Vec<String> =
            numbers(&self.release).iter().take(2).map(u64::to_string).collect();
        let built = if is_built(&self.release) { BUILT } else { "" };
        format!("{}{built}", numbers.join("."))
    }

    /// The bootable image.
    pub fn image(&self) -> PathBuf {
        self.folder.join("vmlinuz")
    }

    /// Its configuration.
    pub fn config(&self) -> PathBuf {
        self.folder.join("config")
    }

    /// The folder with the kernel's modules.
    pub fn modules(&self) -> PathBuf {
        self.folder.join("modules")
    }

    /// The class of threads that ask for none, by its policy's name: EEVDF replaced CFS in 6.6.
    pub fn default_class(&self) -> &'static str {
        if numbers(&self.release).as_slice() < &[6, 6] { "cfs" } else { "eevdf" }
    }

    /// Whether a scheduler of its user's can be loaded into it. Where the archive had no configuration,
    /// Debian's habit tells: with sched_ext since 6.13.
    pub fn has_sched_ext(&self) -> Result<bool, Failure> {
        if !self.config().is_file() {
            return Ok(numbers(&self.release).as_slice() >= &[6, 13]);
        }
        Ok(self.option("CONFIG_SCHED_CLASS_EXT")?.as_deref() == Some("y"))
    }

    /// The value of an option of its configuration, `y` or `m`; `None`: not set, or no configuration is
    /// there.
    pub fn option(&self, name: &str) -> Result<Option<String>, Failure> {
        let path = self.config();
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(broken(&path, &error)),
            Ok(text) => Ok(option(&text, name).map(str::to_string)),
        }
    }
}

fn option<'a>(config: &'a str, name: &str) -> Option<&'a str> {
    config.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

/// The lab's folder.
#[derive(Clone, Debug)]
pub struct Lab {
    folder: PathBuf,
}

impl Lab {
    /// The lab in `RG_LAB_DIR`, else in the user's cache folder.
    pub fn of_user() -> Result<Lab, Failure> {
        let of = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = || of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")));
        let folder = of("RG_LAB_DIR").or_else(|| Some(cache()?.join("rearguard/lab")));
        let folder = folder.ok_or_else(|| {
            Failure::Machine("no place for the lab: set RG_LAB_DIR to a folder".into())
        })?;
        let absolute = std::path::absolute(&folder).map_err(|error| broken(&folder, &error))?;
        Ok(Lab::at(absolute))
    }

    /// The lab in a folder of its own.
    pub fn at(folder: PathBuf) -> Lab {
        Lab { folder }
    }

    /// Where everything of it lives.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The kernels that are there, the oldest first.
    pub fn kernels(&self) -> Vec<Kernel> {
        let entries = fs::read_dir(self.folder.join("kernels")).into_iter().flatten().flatten();
        let mut kernels: Vec<Kernel> = entries
            .map(|entry| self.kernel(&entry.file_name().to_string_lossy()))
            .filter(|kernel| kernel.image().is_file())
            .collect();
        kernels.sort_by_key(|kernel| numbers(&kernel.release));
        kernels
    }

    /// The newest kernel that is there and is meant by `wanted`: a version such as `7.2`, a full release, or
    /// `newest`.
    pub fn find(&self, wanted: &str) -> Result<Kernel, Failure> {
        let kernels = self.kernels();
        let found = kernels.iter().rev().find(|kernel| is_meant(wanted, &kernel.release));
        found.cloned().ok_or_else(|| {
            let names: Vec<String> = kernels.iter().map(Kernel::name).collect();
            let there = if names.is_empty() { "nothing".into() } else { names.join(", ") };
            let remedy = remedy(wanted);
            Failure::Machine(format!(
                "kernel {wanted} is not in the lab (there is {there}): {remedy}"
            ))
        })
    }

    /// A kernel's place, whether it is there or not.
    pub fn kernel(&self, release: &str) -> Kernel {
        let folder = self.folder.join("kernels").join(release);
        Kernel { release: release.to_string(), folder }
    }

    /// Makes a folder of the lab.
    pub fn make(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).map_err(|error| broken(&folder, &error))?;
        Ok(folder)
    }
}

/// Whether a release is what the user means: `6.12` is Debian's, `6.12-scx` the one that was built here.
pub fn is_meant(wanted: &str, release: &str) -> bool {
    let rest = release.strip_prefix(wanted.trim_end_matches(BUILT));
    wanted == NEWEST
        || is_built(wanted) == is_built(release)
            && rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a kernel of that name or release is built on this machine.
pub fn is_built(kernel: &str) -> bool {
    kernel.ends_with(BUILT)
}

/// How to get a kernel that the lab does not have.
fn remedy(wanted: &str) -> String {
    if is_built(wanted) {
        return BUILDER.to_string();
    }
    format!("bring it with `rearguard lab fetch {wanted}`")
}

/// The end of the releases that `tools/lab-kernel` builds: with sched_ext where Debian's are without.
const BUILT: &str = "-scx";

/// How to get one.
pub const BUILDER: &str = "build 6.12 with sched_ext by `tools/lab-kernel` of rearguard's sources";

/// The word for the newest kernel there is.
pub const NEWEST: &str = "newest";

/// A file of the lab that cannot be used.
pub fn broken(path: &Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    Failure::Machine(format!("{path}: {error}: RG_LAB_DIR chooses another folder for the lab"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASES: [&str; 4] = [
        "7.2.12+deb14-cloud-amd64",
        "6.1.0-9-cloud-amd64",
        "6.1.0-50-cloud-amd64",
        "6.12.90+deb13-cloud-amd64",
    ];

    fn lab() -> (tempfile::TempDir, Lab) {
        let folder = tempfile::tempdir().unwrap();
        let lab = Lab::at(folder.path().into());
        for release in RELEASES {
            let place = lab.make(&format!("kernels/{release}")).unwrap();
            fs::write(place.join("vmlinuz"), "").unwrap();
        }
        lab.make("kernels/5.10.0-1-cloud-amd64").unwrap();
        (folder, lab)
    }

    #[test]
    fn kernels_are_listed_by_age_and_only_if_whole() {
        let (_folder, lab) = lab();
        let names: Vec<String> = lab.kernels().iter().map(Kernel::name).collect();
        assert_eq!(names, ["6.1", "6.1", "6.12", "7.2"]);
        assert_eq!(Lab::at("/nowhere".into()).kernels(), []);
    }

    #[test]
    fn the_newest_of_what_is_meant_is_found() {
        let (_folder, lab) = lab();
        let found = |wanted: &str| lab.find(wanted).map(|kernel| kernel.release);
        assert_eq!(found("6.1").unwrap(), RELEASES[2]);
        assert_eq!(found("6.1.0-9").unwrap(), RELEASES[1]);
        assert_eq!(found("newest").unwrap(), RELEASES[0]);
        assert_eq!(found(RELEASES[3]).unwrap(), RELEASES[3]);
        let failure = found("6").map(|_| ()).and(found("7.3")).unwrap_err();
        assert_eq!(failure.exit_code(), 3);
        assert!(failure.to_string().contains("rearguard lab fetch 7.3"), "{failure}");
    }

    #[test]
    fn a_kernel_that_was_built_here_does_not_shadow_debians() {
        let (_folder, lab) = lab();
        let found = |wanted: &str| lab.find(wanted).map(|kernel| kernel.release);
        let failure = found("6.12-scx").unwrap_err();
        assert!(failure.to_string().contains("tools/lab-kernel"), "{failure}");
        let built = lab.make("kernels/6.12.117-scx").unwrap();
        fs::write(built.join("vmlinuz"), "").unwrap();
        assert_eq!(["6.12", "6.12.90"].map(|w| found(w).unwrap()), [RELEASES[3]; 2]);
        assert_eq!(["6.12-scx", "6.12.117-scx"].map(|w| found(w).unwrap()), ["6.12.117-scx"; 2]);
        assert_eq!(lab.find("6.12-scx").unwrap().name(), "6.12-scx");
        assert_eq!(found("newest").unwrap(), RELEASES[0]);
    }

    #[test]
    fn the_default_class_goes_by_the_version() {
        let of = |release| Lab::at("/lab".into()).kernel(release).default_class();
        let classes = ["5.10.0-1", "6.1.0-50", "6.5.13", "6.6.0", "6.12.90", "7.2.12"].map(of);
        assert_eq!(classes, ["cfs", "cfs", "cfs", "eevdf", "eevdf", "eevdf"]);
    }

    #[test]
    fn options_are_read_whole() {
        let config = "CONFIG_A_B=m\n# CONFIG_C is not set\nCONFIG_A=y\n";
        assert_eq!(option(config, "CONFIG_A"), Some("y"));
        assert_eq!(option(config, "CONFIG_A_B"), Some("m"));
        assert_eq!(option(config, "CONFIG_C"), None);
    }
}
