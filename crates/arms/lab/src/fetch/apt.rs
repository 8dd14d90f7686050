//! An apt state of the lab's own: the machine's sources, lists, caches and hooks are read at most, never
//! changed.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::Failure;

use crate::store::{Lab, broken};
use crate::tools;

const NO_APT: &str = "fetching needs Debian's apt; without it put vmlinuz, config and modules into kernels/RELEASE of the lab";
const NO_NETWORK: &str = "can this machine reach its package archive (network, proxy, disk space)?";

/// Suites that live in Debian's main archive, so that the address of one is the address of all.
const SUITES: [&str; 9] = [
    "stable",
    "oldstable",
    "testing",
    "unstable",
    "sid",
    "bookworm",
    "trixie",
    "forky",
    "bullseye",
];

/// The machine's keys for Debian's archive, where its package is installed.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

const CONFIG: &str = "apt.conf";

/// How far a mirror may lag behind, in seconds: Debian's lists are signed for a week, and mirrors of a
/// company are updated by the month.
const LAG_S: u32 = 30 * 86_400;

/// Debian's archive as this machine reaches it.
pub struct Archive {
    /// A line of sources.list up to the suite.
    pub source: String,
    /// The settings of the machine's apt.
    pub settings: String,
}

impl Archive {
    /// Asks the machine's own apt, which nothing changes.
    pub fn of_machine() -> Result<Archive, Failure> {
        let ask = |tool: &str, args: &[&str]| tools::text(Command::new(tool).args(args), NO_APT);
        let address = address(&ask("apt-get", &["update", "--print-uris"])?)?;
        let signed = Path::new(KEYRING).is_file();
        let option = if signed { format!("[signed-by={KEYRING}] ") } else { String::new() };
        let source = format!("deb {option}{address}");
        Ok(Archive { source, settings: ask("apt-config", &["dump"])? })
    }
}

/// The private state for a suite. It is one suite's alone, so that a mirror's expired list of one leaves the
/// others usable.
pub struct Apt {
    /// Where it lives. One fetch at a time: apt locks its lists.
    pub folder: PathBuf,
}

impl Apt {
    /// Sets the state up.
    pub fn new(lab: &Lab, archive: &Archive, suite: &str) -> Result<Apt, Failure> {
        let place = format!("apt/{suite}");
        let folder = lab.make(&place)?;
        for name in ["lists/partial", "cache/archives/partial"] {
            lab.make(&format!("{place}/{name}"))?;
        }
        let files = [
            (folder.join("sources.list"), format!("{} {suite} main\n", archive.source)),
            (folder.join("status"), String::new()),
            (folder.join(CONFIG), configuration(&folder, &archive.settings)),
        ];
        for (path, text) in files {
            fs::write(&path, text).map_err(|error| broken(&path, &error))?;
        }
        Ok(Apt { folder })
    }

    /// Brings the suite's list up to date.
    pub fn update(&self) -> Result<(), Failure> {
        self.run("apt-get", &["update", "-qq", "--error-on=any"], &self.folder).map(|_| ())
    }

    /// The names of all packages of kernels, a line each.
    pub fn names(&self) -> Result<String, Failure> {
        self.run("apt-cache", &["pkgnames", "linux-"], Path::new("/"))
    }

    /// Downloads packages into a folder.
    pub fn download(&self, names: &[String], folder: &Path) -> Result<(), Failure> {
        let names = names.iter().map(String::as_str);
        let args: Vec<&str> = ["-qq", "download"].into_iter().chain(names).collect();
        self.run("apt-get", &args, folder).map(|_| ())
    }

    fn run(&self, tool: &str, args: &[&str], folder: &Path) -> Result<String, Failure> {
        let mut command = Command::new(tool);
        command.args(args).env("APT_CONFIG", self.folder.join(CONFIG)).current_dir(folder);
        tools::text(&mut command, NO_NETWORK)
    }
}

/// The address of Debian's archive among the files that the machine's own `apt-get update` would get.
fn address(uris: &str) -> Result<String, Failure> {
    let of_line = |line: &str| {
        let uri = line.strip_prefix('\'')?.split('\'').next()?;
        let (base, suite) = uri.strip_suffix("/InRelease")?.rsplit_once("/dists/")?;
        SUITES.contains(&suite).then(|| base.to_string())
    };
    uris.lines().find_map(of_line).ok_or_else(|| {
        Failure::Machine(
            "the sources of this machine's apt name no Debian archive: run `lab fetch` on a Debian and copy its lab folder (RG_LAB_DIR)".into(),
        )
    })
}

/// The configuration: every folder our own, and of the machine's settings only how to reach the network.
///
/// `Parts` and `Main` keep out the machine's hooks, which clear its package cache after every update. Lists
/// of suites that move have a last day, and are refused [`LAG_S`] after they were signed: old ones with known
/// holes are signed, too. Those of a release have none. Where apt has lists it takes no older ones.
fn configuration(folder: &Path, machine: &str) -> String {
    let folder = folder.display();
    let mut text = String::new();
    for option in ["Parts", "Main", "SourceParts", "Preferences", "PreferencesParts"] {
        let _ = writeln!(text, "Dir::Etc::{option} \"/dev/null\";");
    }
    let own = [
        ("Etc::SourceList", "/sources.list"),
        ("State", ""),
        ("State::Lists", "/lists"),
        ("State::Status", "/status"),
        ("Cache", "/cache"),
    ];
    for (option, place) in own {
        let _ = writeln!(text, "Dir::{option} \"{folder}{place}\";");
    }
    text.push_str("Acquire::Languages \"none\";\n");
    let _ =
        writeln!(text, "Acquire::Check-Valid-Until \"true\";\nAcquire::Min-ValidTime \"{LAG_S}\";");
    // As root apt would fetch as the user _apt, which may not enter root's cache folder.
    text.push_str("APT::Sandbox::User \"root\";\n");
    let reaches = |line: &&str| {
        ["Acquire::http", "Acquire::ftp", "Acquire::Retries"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    machine.lines().filter(reaches).for_each(|line| {
        let _ = writeln!(text, "{line}");
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_is_the_machines_own() {
        let uris = "\
'https://deb.example/node/dists/nodistro/InRelease' deb.example_InRelease 0 \n\
'http://mirror.example/debian-security/dists/bookworm-security/InRelease' x 0 \n\
'http://mirror.example/debian/dists/bookworm/main/binary-amd64/Packages.xz' x 0 \n\
'http://mirror.example/debian/dists/bookworm/InRelease' x 0 \n";
        assert_eq!(address(uris).unwrap(), "http://mirror.example/debian");
        let without = uris.lines().take(3).collect::<Vec<_>>().join("\n");
        assert_eq!(address(&without).unwrap_err().exit_code(), 3);
    }

    #[test]
    fn of_the_machines_settings_only_the_way_to_the_network_is_kept() {
        let machine = "APT::Update::Post-Invoke:: \"rm -f /var/cache/apt/archives/*.deb\";\n\
                       Acquire::http::Proxy \"http://proxy:3128\";\n\
                       Dir::State::lists \"/var/lib/apt/lists\";\n\
                       Acquire::IndexTargets::deb::DEP-11 \"x\";\n";
        let text = configuration(Path::new("/lab/apt/forky"), machine);
        assert!(text.contains("Acquire::http::Proxy \"http://proxy:3128\";\n"));
        assert!(text.contains("Acquire::Check-Valid-Until \"true\";\n"));
        for foreign in ["Invoke", "/var/", "DEP-11"] {
            assert!(!text.contains(foreign), "{foreign} in {text}");
        }
        assert!(text.contains("Dir::State::Lists \"/lab/apt/forky/lists\";\n"));
    }
}
