//! The policy's parts one by one, each against a slow and obvious model or by its promise: `tests/units`, in
//! C, because no other code reaches them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A variable that is read before it is written holds no lucky 0. Nothing is inlined: that takes a third of
/// the time.
const FLAGS: [&str; 6] =
    ["-std=gnu11", "-O0", "-w", "-ftrivial-auto-var-init=pattern", "-Dalways_inline=unused", "-I"];

/// The policy's sources: those of the mutant that tools/mutants has put in its place, if it has.
fn policy() -> PathBuf {
    match std::env::var_os("RG_MUTANT") {
        Some(object) => Path::new(&object).parent().unwrap().into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../policy"),
    }
}

/// What the units say of a policy's sources; nothing: all holds.
fn said_of(policy: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("units");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/units/main.c");
    let compiler = std::env::var("CC").unwrap_or("cc".into());
    let mut build = Command::new(compiler);
    build.args(FLAGS).arg(policy).arg("-o").args([&program, &source]);
    assert!(build.status().unwrap().success(), "the units do not compile");
    let run = Command::new(program).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    if run.status.success() { said } else { format!("{said}{}", run.status) }
}

#[test]
fn each_part_of_the_policy_does_what_it_promises() {
    assert_eq!(said_of(&policy()), "");
}

#[test]
fn a_part_that_does_not_is_named() {
    if std::env::var_os("RG_MUTANT").is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-r").arg(policy().join(".")).arg(folder.path()).status();
    assert!(copied.unwrap().success());
    let file = folder.path().join("index/heap.h");
    let text = std::fs::read_to_string(&file).unwrap();
    let before = "return (s32)(a->stamp - b->stamp) < 0;";
    assert!(text.contains(before));
    std::fs::write(&file, text.replace(before, "return (s32)(a->stamp - b->stamp) > 0;")).unwrap();
    assert!(said_of(folder.path()).contains("a_heap_is_a_sorted_list: differs"));
}
