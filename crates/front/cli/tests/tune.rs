//! `tune`, `cell` and `doctor` as a user sees them, where nothing is changed.

use std::process::{Command, Output};

use serde_json::Value;

fn rearguard(args: &[&str]) -> (i32, String, String) {
    let state = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(args).env("RG_STATE_DIR", state.path());
    let Output { status, stdout, stderr } = command.output().expect("the built command runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("an exit code"), text(stdout), text(stderr))
}

fn json(args: &[&str]) -> Value {
    let (code, stdout, stderr) = rearguard(args);
    assert_eq!(code, 0, "{stderr}");
    serde_json::from_str(&stdout).expect("JSON")
}

#[test]
fn bad_input_is_named_with_what_was_expected() {
    for (args, word) in [
        (&["tune", "apply", "realtime", "--pid", "1"][..], "did you mean `real-time`"),
        (&["tune", "apply", "real-time"], "--pid or --unit"),
        (&["tune", "apply", "real-time", "--pid", "99999999"], "no such process"),
        (&["tune", "apply", "real-time", "--unit", "no/such.service"], "expected a cgroup"),
        (&["tune", "apply", "idle-latency=soon"], "microseconds"),
        (&["tune", "try", "governor", "--measure", "true", "--settle", "1"], "has no unit"),
        (&["cell", "create", "web", "--cpus", "x"], "no list of CPUs"),
        (&["cell", "create", "web", "--cpus", "1", "--partition", "member"], "root or isolated"),
        (&["cell", "resize", "web", "--cpus", "1"], "no cell `web`"),
        (&["cell", "balance", "--outlier", "1ms", "--metrics", "x"], "100us=0.1%"),
    ] {
        let (code, _, stderr) = rearguard(args);
        assert_eq!(code, 2, "{args:?}: {stderr}");
        assert!(stderr.contains(word), "{args:?}: {stderr}");
    }
}

#[test]
fn an_impossible_journal_is_reported() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let output = command.args(["tune", "undo"]).env("RG_STATE_DIR", "/proc/no").output();
    let output = output.expect("the built command runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("RG_STATE_DIR"));
}

#[test]
fn nothing_to_undo_is_no_failure() {
    let (code, stdout, _) = rearguard(&["tune", "undo"]);
    assert_eq!((code, stdout.trim()), (0, "nothing to undo"));
    assert_eq!(json(&["cell", "list", "--json"])["cells"], Value::Array(Vec::new()));
}

#[test]
fn documents_have_their_keys() {
    let knobs = json(&["tune", "list", "--json"]);
    assert_eq!(knobs["schema"], "rearguard.knobs/1");
    assert_eq!(knobs["knobs"].as_array().expect("a list").len(), 9);
    let machine = json(&["doctor", "--json"]);
    assert_eq!(machine["schema"], "rearguard.doctor/1");
    for item in machine["items"].as_array().expect("a list") {
        assert_eq!(item["supported"] == true, item["remedy"].is_null(), "{item}");
    }
    let (code, stdout, _) = rearguard(&["doctor"]);
    assert!(code == 0 && stdout.contains("remedy:"), "{stdout}");
}

#[test]
fn balance_says_why_there_is_nothing_to_balance() {
    let words = ["cell", "balance", "--outlier", "1ms=1%", "--metrics", "/dev/null"];
    let (code, _, stderr) = rearguard(&[&words[..], &["--count", "2"]].concat());
    let machine = json(&["doctor", "--json"]);
    let mut items = machine["items"].as_array().expect("a list").iter();
    let item = items.find(|item| item["name"] == "cgroup2 cpuset").expect("an item");
    let without_cells = (2, "no cells: make one");
    let (expected, word) = item["remedy"].as_str().map_or(without_cells, |remedy| (3, remedy));
    assert!(code == expected && stderr.contains(word), "{code}: {stderr}");
}
