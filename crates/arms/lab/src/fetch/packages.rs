//! Which packages make up the newest kernel: read from what `apt-cache depends` says.

use model::Failure;

/// The package that always depends on the newest kernel for virtual machines.
pub const ROOT: &str = "linux-image-cloud-amd64";

/// A kernel in the archive.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// Its release.
    pub release: String,
    /// The packages that hold it.
    pub names: Vec<String>,
}

/// Reads the dependencies of [`ROOT`], those of its dependencies, and so on: a package a line, what it needs
/// indented.
///
/// A kernel is one package up to 6.x, and split into image, binary, base and modules in newer ones; tools
/// stand among them.
pub fn resolve(dependencies: &str) -> Result<Found, Failure> {
    let packages = || dependencies.lines().filter(|line| !line.starts_with([' ', '<', '|']));
    let release = packages().filter(|name| *name != ROOT).find_map(|name| {
        let release = name.strip_prefix("linux-image-")?;
        release.starts_with(|c: char| c.is_ascii_digit()).then_some(release)
    });
    let release = release.ok_or_else(|| {
        Failure::Machine(format!("the archive's {ROOT} depends on no kernel: try again later"))
    })?;
    let is_part =
        |name: &&str| name.starts_with("linux-") && name.ends_with(&format!("-{release}"));
    let names = packages().filter(is_part).map(str::to_string).collect();
    Ok(Found { release: release.to_string(), names })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPLIT: &str = "\
linux-image-cloud-amd64
  Depends: linux-base-cloud-amd64
  Depends: linux-image-7.2.12+deb14-cloud-amd64
linux-base-cloud-amd64
  Depends: linux-base-7.2.12+deb14-cloud-amd64
linux-image-7.2.12+deb14-cloud-amd64
  PreDepends: linux-base
 |Depends: dracut
  Depends: <linux-initramfs-tool>
    dracut
  Depends: linux-base-7.2.12+deb14-cloud-amd64
  Depends: linux-binary-7.2.12+deb14-cloud-amd64
linux-base-7.2.12+deb14-cloud-amd64
linux-base
 |Depends: debconf
<linux-initramfs-tool>
linux-binary-7.2.12+deb14-cloud-amd64
linux-modules-7.2.12+deb14-cloud-amd64
  Depends: kmod
kmod
";

    #[test]
    fn a_split_kernel_is_all_its_parts_and_nothing_else() {
        let found = resolve(SPLIT).unwrap();
        assert_eq!(found.release, "7.2.12+deb14-cloud-amd64");
        let parts = ["image", "base", "binary", "modules"];
        let names = parts.map(|part| format!("linux-{part}-7.2.12+deb14-cloud-amd64"));
        assert_eq!(found.names, names);
    }

    #[test]
    fn a_whole_kernel_is_one_package() {
        let whole = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-50-cloud-amd64\n\
                     linux-image-6.1.0-50-cloud-amd64\n  PreDepends: linux-base\nlinux-base\n";
        let found = resolve(whole).unwrap();
        assert_eq!(found.release, "6.1.0-50-cloud-amd64");
        assert_eq!(found.names, ["linux-image-6.1.0-50-cloud-amd64"]);
    }

    #[test]
    fn no_kernel_is_the_machines_failure() {
        assert_eq!(resolve("linux-image-cloud-amd64\nlinux-base\n").unwrap_err().exit_code(), 3);
    }
}
