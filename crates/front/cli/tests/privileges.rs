//! What watches this machine's services takes two of root's capabilities, and keeps no more than it may need.
#![cfg(feature = "bpf")]

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

#[path = "support/child_guard.rs"]
mod child_guard;

use child_guard::ChildGuard;

const DAC_OVERRIDE: u64 = 1 << 1;
const SYS_PTRACE: u64 = 1 << 19;
const SYS_ADMIN: u64 = 1 << 21;
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;

/// What a thread may have by its status file.
fn held(status: &Path) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let set = text.lines().find_map(|line| line.strip_prefix("CapPrm:"));
    set.map_or(0, |set| u64::from_str_radix(set.trim(), 16).expect("a set"))
}

/// What any thread of a process has, once its first has less than we; `None` where it ended.
fn kept_by(child: &mut ChildGuard, ours: u64) -> Option<u64> {
    let tasks = format!("/proc/{}/task", child.0.id());
    let first = format!("{tasks}/{}/status", child.0.id());
    let mut ends = |after| {
        sleep(Duration::from_millis(after));
        child.0.try_wait().expect("a child").is_some()
    };
    while held(first.as_ref()) == ours {
        if ends(10) {
            return None;
        }
    }
    // Hooks and their reader are there by then.
    if ends(2000) {
        return None;
    }
    let tasks = fs::read_dir(tasks).expect("it runs").map(|task| task.expect("a thread").path());
    Some(tasks.map(|task| held(&task.join("status"))).fold(0, |all, one| all | one))
}

/// What we have, and a port at which we listen; `None` where this machine cannot be watched.
fn watchable() -> Option<(u64, TcpListener, String)> {
    let ours = held("/proc/self/status".as_ref());
    if ours & SYS_ADMIN == 0 || !Path::new("/sys/kernel/btf/vmlinux").exists() {
        eprintln!("skipped: takes root and a kernel with BTF");
        return None;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port().to_string();
    Some((ours, listener, port))
}

#[test]
fn two_capabilities_are_enough_to_watch() {
    let Some((_, _listener, port)) = watchable() else { return };
    let told = |sets: &str| {
        let mut command = Command::new("setpriv");
        command.args([format!("--bounding-set={sets}"), format!("--inh-caps={sets}")]);
        let watch = [env!("CARGO_BIN_EXE_rearguard"), "stages", "--duration", "100ms", "--port"];
        let output = command.args(watch).arg(&port).output().expect("setpriv is everywhere");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let enough = told("-all,+bpf,+perfmon");
    assert!(!enough.contains("privileges"), "{enough}");
    let too_few = told("-all,+bpf");
    assert!(too_few.contains("CAP_BPF and CAP_PERFMON"), "the control: {too_few}");
}

#[test]
fn what_watches_keeps_no_more_than_that_takes() {
    let Some((ours, _listener, port)) = watchable() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let least = BPF | PERFMON | SYS_PTRACE;
    for (command, more, kept) in [
        ("stages", &[][..], least),
        ("explain", &[], least),
        ("stages", &["--trace", "a.trace"], least | DAC_OVERRIDE),
        ("explain", &["--report", "a.html"], least | DAC_OVERRIDE),
    ] {
        let mut watching = Command::new(env!("CARGO_BIN_EXE_rearguard"));
        watching.args([command, "--port", &port, "--duration", "60s"]).args(more);
        watching.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::inherit());
        let mut child = ChildGuard(watching.spawn().expect("the built command runs"));
        match kept_by(&mut child, ours) {
            Some(found) => assert_eq!(found, kept, "{command} {more:?}: {found:x} of {ours:x}"),
            None => eprintln!("skipped: this machine cannot be watched"),
        }
    }
}
