//! `rearguard load` becomes `scx_rearguard`, or says that it is missing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// A folder of its own with the command in it, a link: beside it is what the test puts there.
fn installed() -> (tempfile::TempDir, Command) {
    let own = Path::new(env!("CARGO_BIN_EXE_rearguard"));
    let folder = tempfile::tempdir_in(own.parent().expect("a folder")).expect("a folder");
    let link = folder.path().join("rearguard");
    fs::hard_link(own, &link).expect("a link");
    let mut command = Command::new(link);
    command.env("PATH", "/nowhere");
    (folder, command)
}

fn program(folder: &Path, script: &str) {
    let path = folder.join("scx_rearguard");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file");
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn load_becomes_the_program_beside_itself_with_all_words() {
    let (folder, mut command) = installed();
    program(folder.path(), "echo \"$@\"; exit 7");
    let output = command.args(["load", "cts:queue=cpu", "--stats", "1", "--help"]).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "cts:queue=cpu --stats 1 --help\n");
}

#[test]
fn a_missing_program_is_named_with_the_remedy() {
    let (_folder, mut command) = installed();
    let output = command.args(["load", "cts"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3));
    let said = stderr(&output);
    assert!(said.contains("scx_rearguard") && said.contains("install the package"), "{said}");
}

#[test]
fn it_is_found_in_path_too() {
    let (folder, mut command) = installed();
    let other = tempfile::tempdir().expect("a folder");
    program(other.path(), "exit 5");
    let output = command.env("PATH", other.path()).arg("load").output().expect("it runs");
    assert_eq!(output.status.code(), Some(5), "{}: {}", folder.path().display(), stderr(&output));
}

#[test]
fn a_promise_takes_a_loader_that_keeps_some() {
    for words in [&["set", "web.service: 10ms=0.1%"][..], &["drop", "web.service"], &["list"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
        let output = command.arg("promise").args(words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(3), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("load --promises"), "{}", stderr(&output));
    }
}
