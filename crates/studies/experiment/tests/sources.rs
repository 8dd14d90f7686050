//! What a policy's results depend on: its own sources, and no other policy's.

#[path = "../digest.rs"]
mod digest;
#[path = "../src/kinds.rs"]
mod kinds;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use digest::{SWITCHES, code, files};
use kinds::KINDS;

const REARGUARD: usize = 0;
const DWRR: usize = 7;
const CREDIT: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn code_of(policy: &Path, kind: usize) -> String {
    let fixed: Vec<_> = SWITCHES.into_iter().zip(KINDS[kind]).collect();
    code(policy, &fixed, Command::new("cc"))
}

/// `policy/` with another text in one of its files.
fn changed(folder: &Path, file: &str, change: impl Fn(String) -> String) -> PathBuf {
    let policy = folder.join("policy");
    let copied = Command::new("cp").arg("-r").args([&root().join("policy"), &policy]).status();
    assert!(copied.unwrap().success());
    let text = fs::read_to_string(policy.join(file)).unwrap();
    let other = change(text.clone());
    assert_ne!(other, text, "{file}");
    fs::write(policy.join(file), other).unwrap();
    policy
}

/// An instruction more at the head of every function.
fn with_instructions(text: String) -> String {
    text.replace("\n{\n", "\n{\n\tasm volatile(\"nop\");\n")
}

#[test]
fn only_a_change_of_its_own_code_changes_what_a_policy_depends_on() {
    let before = [REARGUARD, DWRR, CREDIT].map(|kind| code_of(&root().join("policy"), kind));
    let differs = |file: &str, change: fn(String) -> String| {
        let folder = tempfile::tempdir().unwrap();
        let policy = changed(folder.path(), file, change);
        let after = [REARGUARD, DWRR, CREDIT].map(|kind| code_of(&policy, kind));
        std::array::from_fn(|at| after[at] != before[at])
    };
    assert_eq!(differs("balance/dwrr.h", with_instructions), [false, true, false]);
    assert_eq!(differs("balance/credit.h", with_instructions), [false, false, true]);
    assert_eq!(differs("order/fcfs.h", with_instructions), [true, false, true]);
    assert_eq!(differs("queue.h", with_instructions), [true, true, true], "it is in every policy");
    let remarked = |text| format!("/* A remark. */\n{text}");
    assert_eq!(differs("queue.h", remarked), [false; 3], "words change no result");
}

#[test]
fn files_depend_on_names_and_contents() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join("a").join(name);
    fs::create_dir(folder.path().join("a")).unwrap();
    let digest = || files(folder.path(), &["a"], "without.rs");
    fs::write(at("x"), "1").unwrap();
    let first = digest();
    fs::write(at("without.rs"), "1").unwrap();
    assert_eq!(digest(), first);
    fs::write(at("x"), "2").unwrap();
    assert_ne!(digest(), first, "another content");
    fs::write(at("x"), "1").unwrap();
    assert_eq!(digest(), first);
    fs::rename(at("x"), at("y")).unwrap();
    assert_ne!(digest(), first, "another name");
}
