//! The policy's parts one by one, each against a slow and obvious model or by its promise: `tests/units`, in
//! C, because no other code reaches them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A variable that is read before it is written holds no lucky 0. Nothing is inlined: that takes a third of
/// the time.
const FLAGS: [&str; 6] =
    ["-std=gnu11", "-O0", "-w", "-ftrivial-auto-var-init=pattern", "-Dalways_inline=unused", "-I"];

fn policy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../policy")
}

/// Where the sources are that tools/mutants has put in the policy's place, if it has.
fn mutants() -> Option<PathBuf> {
    let object = std::env::var_os("RG_MUTANT")?;
    Path::new(&object).parent().map(Path::to_path_buf)
}

/// Compiles the units for a policy's sources.
fn compile(policy: &Path, program: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/units/main.c");
    let compiler = std::env::var("CC").unwrap_or("cc".into());
    let mut build = Command::new(compiler);
    build.args(FLAGS).arg(policy).arg("-o").arg(program).arg(source);
    assert!(build.status().unwrap().success(), "the units do not compile");
}

/// What the units say; nothing: all holds.
fn said_by(program: &Path) -> String {
    let run = Command::new(program).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    if run.status.success() { said } else { format!("{said}{}", run.status) }
}

fn said_of(policy: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("units");
    compile(policy, &program);
    said_by(&program)
}

#[test]
fn each_part_of_the_policy_does_what_it_promises() {
    let Some(mutants) = mutants() else {
        assert_eq!(said_of(&policy()), "");
        return;
    };
    // One program for all of them: which one runs is a variable of its environment.
    let program = mutants.join("units");
    if !program.exists() {
        compile(&mutants, &program);
    }
    assert_eq!(said_by(&program), "");
}

#[test]
fn a_part_that_does_not_is_named() {
    if mutants().is_some() {
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
