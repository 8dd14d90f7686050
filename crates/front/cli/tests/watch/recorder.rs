//! The flight recorder beside a server: a hog that comes and goes is named in what is kept.

use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use crate::child_guard::ChildGuard;
use crate::server::{LAST, Server, on_last_cpu};
use crate::{ALONE, rearguard};

const BURSTS: usize = 4;
const BURST: Duration = Duration::from_millis(100);

/// What is kept of a server's requests over 3 ms while bursts of this come; `None` where it cannot be
/// watched.
fn kept(server: &Server, folder: &Path, hog: Option<&str>) -> Option<String> {
    let folder = folder.display().to_string();
    let port = server.port();
    let words =
        ["watch", "--port", &port, "--slower-than", "3ms", "--keep", &folder, "--for", "5s"];
    let mut watch = rearguard(&words);
    let mut watch = watch.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    std::thread::scope(|scope| {
        let bursts = scope.spawn(|| {
            sleep(Duration::from_secs(1));
            for hog in hog.iter().cycle().take(BURSTS * hog.iter().len()) {
                let hogs: Vec<ChildGuard> = (0..4).map(|_| on_last_cpu(&[hog])).collect();
                sleep(BURST);
                drop(hogs);
                sleep(4 * BURST);
            }
        });
        server.ask_until(|| watch.try_wait().expect("its state").is_some());
        bursts.join().expect("no panic");
    });
    let output = watch.wait_with_output().expect("it has ended");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(3) {
        eprintln!("skipped: {said}");
        return None;
    }
    assert!(output.status.success(), "{said}");
    let listed = rearguard(&["watch", "list", &folder]).output().expect("it runs");
    Some(String::from_utf8(listed.stdout).expect("UTF-8"))
}

#[test]
fn a_hog_that_comes_and_goes_is_named_in_what_is_kept() {
    let _alone = ALONE.lock();
    let Some(server) = Server::start(LAST, "memcached", "get nothing\r\n") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let hog = folder.path().join("test-hog");
    std::fs::copy("/usr/bin/yes", &hog).expect("a copy");
    let [calm, beside] = ["calm", "disturbed"].map(|name| folder.path().join(name));
    let Some(alone) = kept(&server, &calm, None) else { return };
    assert!(!alone.contains("test-hog"), "the control: {alone}");
    let hogs = hog.display().to_string();
    let told = kept(&server, &beside, Some(&hogs)).expect("it was watched before");
    assert!(told.contains("neighbours by background: test-hog"), "{told}");
    let named = told.lines().find(|line| line.contains("test-hog")).expect("just found");
    let id = named.split_whitespace().next().expect("an id");
    let beside = beside.display().to_string();
    let shown = rearguard(&["watch", "show", &beside, id]).output().expect("it runs");
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.status.success() && text.contains("test-hog"), "{text}");
    let out = folder.path().join("a.pftrace").display().to_string();
    let exported = rearguard(&["watch", "export", &beside, id, &out]).output().expect("it runs");
    assert!(exported.status.success() && std::fs::metadata(&out).expect("there").len() > 0);
    let missing = rearguard(&["watch", "show", &beside, "../x"]).output().expect("it runs");
    assert_eq!(missing.status.code(), Some(2));
}
