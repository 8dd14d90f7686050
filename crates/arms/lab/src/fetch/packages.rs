//! Which packages make up a kernel: read from the names of all that a suite has.

use std::collections::BTreeMap;

/// What releases of kernels for virtual machines end with.
const FLAVOUR: &str = "-cloud-amd64";
const IMAGE: &str = "linux-image-";
/// A kernel is one package up to 6.18, and split into these in newer ones. The archive of a past version may
/// lack some of them.
const PARTS: [&str; 4] = [IMAGE, "linux-binary-", "linux-base-", "linux-modules-"];

/// A kernel in the archive.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// Its release.
    pub release: String,
    /// The packages that hold it.
    pub names: Vec<String>,
}

/// The newest kernel that is meant.
pub fn newest(names: &str, is_meant: impl Fn(&str) -> bool) -> Option<Found> {
    let release = releases(names).filter(|release| is_meant(release)).max_by_key(|r| numbers(r))?;
    let is_part = |name: &&str| PARTS.iter().any(|part| name.strip_prefix(part) == Some(release));
    let names = names.lines().filter(is_part).map(str::to_string).collect();
    Some(Found { release: release.to_string(), names })
}

/// Version and patch level of all kernels, `6.18`, the oldest first.
pub fn versions(names: &str) -> Vec<String> {
    let versions: BTreeMap<Vec<u64>, String> = releases(names)
        .map(|release| {
            let version: Vec<u64> = numbers(release).into_iter().take(2).collect();
            let name = version.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
            (version, name)
        })
        .collect();
    versions.into_values().collect()
}

fn releases(names: &str) -> impl Iterator<Item = &str> {
    names.lines().filter_map(|name| {
        let release = name.strip_prefix(IMAGE)?;
        (release.starts_with(|c: char| c.is_ascii_digit()) && release.ends_with(FLAVOUR))
            .then_some(release)
    })
}

/// The numbers of a release, in order: `6.1.0-50-cloud-amd64` is younger than `6.1.0-9-cloud-amd64`.
pub fn numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str = "\
linux-image-cloud-amd64
linux-image-6.18.9+deb13-cloud-amd64
linux-image-6.18.15+deb13-cloud-amd64
linux-image-6.18.15+deb13-amd64
linux-image-6.18.15+deb13-cloud-amd64-unsigned
linux-base-6.18.9+deb13-cloud-amd64
linux-image-7.2.12+deb13-cloud-amd64
linux-image-7.2.12+deb14-cloud-amd64
linux-base-7.2.12+deb14-cloud-amd64
linux-binary-7.2.12+deb14-cloud-amd64
linux-binary-7.2.12+deb14-cloud-amd64-dbg
linux-modules-7.2.12+deb14-cloud-amd64
linux-headers-7.2.12+deb14-cloud-amd64
linux-base
";

    #[test]
    fn a_split_kernel_is_all_its_parts_and_nothing_else() {
        let found = newest(NAMES, |_| true).unwrap();
        assert_eq!(found.release, "7.2.12+deb14-cloud-amd64");
        let parts = ["image", "base", "binary", "modules"];
        let names = parts.map(|part| format!("linux-{part}-7.2.12+deb14-cloud-amd64"));
        assert_eq!(found.names, names);
    }

    #[test]
    fn a_whole_kernel_is_one_package_and_the_newest_build_counts() {
        let found = newest(NAMES, |release| release.starts_with("6.18.")).unwrap();
        assert_eq!(found.names, ["linux-image-6.18.15+deb13-cloud-amd64"]);
        assert_eq!(newest(NAMES, |release| release.starts_with("6.17.")), None);
    }

    #[test]
    fn versions_are_named_once_by_age() {
        assert_eq!(versions(NAMES), ["6.18", "7.2"]);
        assert_eq!(versions("linux-image-cloud-amd64\nlinux-base\n"), [""; 0]);
    }
}
