//! What the program says and answers where it loads nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

/// Runs it; its exit code, stdout and stderr.
fn run(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_scx_rearguard")).args(args).output();
    let output = output.expect("the built program runs");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().expect("an exit code"), text(&output.stdout), text(&output.stderr))
}

#[test]
fn it_answers_what_tools_of_sched_ext_ask() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, _, said) = run(&["--manual", folder.path().to_str().expect("UTF-8")]);
    assert!(code == 0 && folder.path().join("scx_rearguard.1").is_file(), "{said}");
    let (code, said, _) = run(&["--version"]);
    assert!(code == 0 && said.starts_with("scx_rearguard "), "{said}");
    let (code, said, _) = run(&["--help-stats"]);
    assert!(code == 0 && said.contains("inversions_avoided_per_s"), "{said}");
    let (code, said, _) = run(&["--help"]);
    let options = ["--stats", "--monitor", "--help-stats", "--version"];
    assert!(code == 0 && options.iter().all(|option| said.contains(option)), "{said}");
}

#[test]
fn bad_input_is_refused_before_anything_is_loaded() {
    for args in
        [&["cst"][..], &["--slice", "1"], &["--order", "no"], &["--object", "/nowhere", "cts"]]
    {
        let (code, _, said) = run(args);
        assert!(code == 2 && said.starts_with("scx_rearguard: "), "{args:?}: {code} {said}");
    }
}

#[test]
fn a_policy_in_a_file_becomes_an_object_and_a_built_in_one_needs_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let object = folder.path().join("policy.bpf.o");
    let to = object.to_str().expect("a name");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../policy/examples/fifo.c");
    let (code, _, said) = run(&["--compile", to, example]);
    assert_eq!(code, 0, "{said}");
    assert!(fs::read(&object).expect("it is there").starts_with(b"\x7fELF"));
    let (code, _, said) = run(&["--compile", to, "cts"]);
    assert!(code == 2 && said.contains("built in"), "{said}");
}

#[test]
fn no_code_of_a_file_runs_in_this_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let template = include_str!("../../../../policy/examples/template.c");
    let mark = folder.path().join("ran");
    let first = format!(
        "extern int creat(const char *, unsigned int);\nvoid first(void);\n\
         __attribute__((constructor)) void first(void) {{ creat(\"{}\", 0600); }}\n",
        mark.display()
    );
    let mine = folder.path().join("mine.c");
    fs::write(&mine, format!("{template}{first}")).expect("a file");
    let (object, mine) = (folder.path().join("o"), mine.to_str().expect("a name"));
    let (code, _, said) = run(&["--compile", object.to_str().expect("a name"), mine]);
    assert!(code == 2 && said.contains("constructor"), "{code} {said}");
    assert!(!mark.exists());
}

#[test]
fn an_object_is_trusted_as_a_policy_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let object = folder.path().join("o");
    let take = || run(&["--object", object.to_str().expect("a name"), "./mine.c"]);
    fs::write(&object, "no object").expect("a file");
    let (_, _, control) = take();
    assert!(!control.contains("object /"), "it was taken: {control}");
    fs::File::options()
        .write(true)
        .open(&object)
        .expect("ours")
        .set_len((64 << 20) + 1)
        .expect("sparse");
    let (code, _, said) = take();
    assert!(code == 2 && said.contains("more than 64 MiB"), "{code} {said}");
    fs::remove_file(&object).expect("ours");
    std::os::unix::fs::symlink("/dev/zero", &object).expect("room");
    let (code, _, said) = take();
    assert!(code == 2 && said.contains("no regular file"), "{code} {said}");
    fs::remove_file(&object).expect("ours");
    fs::write(&object, "no object").expect("a file");
    fs::set_permissions(&object, fs::Permissions::from_mode(0o666)).expect("ours");
    let (code, _, said) = take();
    let root = fs::metadata("/proc/self").expect("Linux").uid() == 0;
    assert_eq!(code == 2 && said.contains("others may write to it"), root, "{code} {said}");
}

#[test]
fn compiling_follows_no_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let [link, target] = ["link", "target"].map(|name| folder.path().join(name));
    fs::write(&target, "theirs").expect("a file");
    std::os::unix::fs::symlink(&target, &link).expect("room");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../policy/examples/fifo.c");
    let (code, _, said) = run(&["--compile", link.to_str().expect("a name"), example]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(fs::read(&target).expect("there"), b"theirs");
    assert!(fs::read(&link).expect("there").starts_with(b"\x7fELF"));
}
