//! Fetching from a mirror that is a folder, by the machine's own apt. It needs no network.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use model::Failure;

use super::apt::Archive;
use super::{Fetched, SINCE};
use crate::store::Lab;

const PAST: &str = "Mon, 06 Jan 2020 00:00:00 UTC";
const FUTURE: &str = "Mon, 06 Jan 2070 00:00:00 UTC";
/// What apt says of a list whose day is over.
const EXPIRED: &str = "expired";

/// A lab that has every kernel of its mirror, so that packages need no contents.
struct Scene {
    folder: tempfile::TempDir,
    lab: Lab,
    archive: Archive,
}

impl Scene {
    /// Nothing where this machine has no apt.
    fn new() -> Option<Scene> {
        let folder = tempfile::tempdir().unwrap();
        let there = Command::new("apt-get").arg("--version").output().is_ok();
        let source = format!("deb [trusted=yes arch=amd64] file:{}", folder.path().display());
        let scene = Scene {
            lab: Lab::at(folder.path().join("lab")),
            archive: Archive { source, settings: String::new() },
            folder,
        };
        if !there {
            eprintln!("skipped: no apt");
        }
        there.then_some(scene)
    }

    /// Publishes the suites, each with a kernel of a version of its own: 6.10 and up.
    fn publish(&self, valid_until: impl Fn(&str) -> &'static str) {
        for (nth, suite) in SINCE.into_iter().enumerate() {
            let release = format!("6.{}.1-cloud-amd64", 10 + nth);
            let kernel = self.lab.make(&format!("kernels/{release}")).unwrap();
            fs::write(kernel.join("vmlinuz"), "").unwrap();
            let place = self.folder.path().join("dists").join(suite);
            list(&place, &release, valid_until(suite)).unwrap();
        }
    }

    fn fetch(&self, wanted: &str) -> Result<Fetched, Failure> {
        self.lab.fetch_from(&self.archive, wanted)
    }
}

/// Writes the list of a suite with one kernel.
fn list(suite: &Path, release: &str, valid_until: &str) -> io::Result<()> {
    let packages = suite.join("main/binary-amd64/Packages");
    fs::create_dir_all(packages.parent().unwrap())?;
    let text = format!(
        "Package: linux-image-{release}\nVersion: 1\nArchitecture: amd64\nFilename: a.deb\nSize: 1\n"
    );
    fs::write(&packages, &text)?;
    let sum = Command::new("sha256sum").arg(&packages).output()?.stdout;
    let sum = String::from_utf8_lossy(&sum[..64]).into_owned();
    let size = text.len();
    let head = format!("Date: {PAST}\nValid-Until: {valid_until}\nArchitectures: amd64\n");
    let sums = format!("SHA256:\n {sum} {size} main/binary-amd64/Packages\n");
    fs::write(suite.join("Release"), format!("{head}Components: main\n{sums}"))
}

fn expired(expired: &'static str) -> impl Fn(&str) -> &'static str {
    move |suite| if suite == expired { PAST } else { FUTURE }
}

#[test]
fn a_suite_with_an_expired_list_is_passed_over_and_the_others_are_not() {
    let Some(scene) = Scene::new() else { return };
    scene.publish(expired("forky"));
    let fetched = scene.fetch("6.13").unwrap();
    assert_eq!(fetched.kernel.release, "6.13.1-cloud-amd64");
    let [word] = &fetched.passed_over[..] else { panic!("{:?}", fetched.passed_over) };
    assert!(word.contains("suite forky") && word.contains(EXPIRED), "{word}");

    scene.publish(expired("none"));
    assert_eq!(scene.fetch("6.13").unwrap().passed_over, [""; 0]);
}

#[test]
fn a_kernel_that_an_expired_list_alone_names_is_refused_with_the_suites_name() {
    let Some(scene) = Scene::new() else { return };
    scene.publish(expired("none"));
    assert_eq!(scene.fetch("6.12").unwrap().kernel.release, "6.12.1-cloud-amd64");
    let unknown = scene.fetch("6.99").map(|_| ()).unwrap_err();
    assert_eq!(unknown.exit_code(), 2, "{unknown}");

    scene.publish(expired("forky"));
    for wanted in ["6.12", "newest"] {
        let refusal = scene.fetch(wanted).map(|_| ()).unwrap_err();
        assert_eq!(refusal.exit_code(), 3, "{refusal}");
        let said = refusal.to_string();
        assert!(said.contains("suite forky") && said.contains(EXPIRED), "{said}");
    }
}

#[test]
fn a_suite_that_is_not_signed_is_passed_over() {
    let Some(mut scene) = Scene::new() else { return };
    scene.publish(expired("none"));
    scene.archive.source = scene.archive.source.replace("trusted=yes ", "");
    let refusal = scene.fetch("6.12").map(|_| ()).unwrap_err().to_string();
    assert!(refusal.contains("(none)") && refusal.contains("not signed"), "{refusal}");
}
