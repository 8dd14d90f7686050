//! Code of others runs only where the user named it as code, and then nothing but its callbacks.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};

const TEMPLATE: &str = include_str!("../../../../policy/examples/template.c");
const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/null-rpc.toml");
/// Leaves a file where it runs.
const MARK: &str = "extern int creat(const char *, unsigned int);\nvoid mark(void);\n\
                    void mark(void) { creat(\"ran\", 0600); }\n";

fn rearguard(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(args).current_dir(folder).output().expect("the built command runs")
}

fn compare(folder: &Path, policy: &str) -> Output {
    let words = ["compare", SCENARIO, "--policy", policy, "--duration", "100ms", "--seeds", "1"];
    rearguard(folder, &words)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_name_is_never_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("mine.c"), TEMPLATE).expect("a file");
    let output = compare(folder.path(), "mine");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("policies in files (./NAME.c)"), "{}", stderr(&output));
    assert!(compare(folder.path(), "./mine.c").status.success(), "the control");
}

#[test]
fn what_would_run_at_a_load_is_refused_and_does_not_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let mine = folder.path().join("mine.c");
    let run = |more: &str| {
        fs::write(&mine, format!("{TEMPLATE}{MARK}{more}\n")).expect("a file");
        let output = compare(folder.path(), "./mine.c");
        assert!(!folder.path().join("ran").exists(), "{more}");
        output
    };
    let control = run("");
    assert!(control.status.success(), "{}", stderr(&control));
    for more in [
        "__attribute__((constructor)) void first(void); void first(void) { mark(); }",
        "__attribute__((destructor)) void last(void); void last(void) { mark(); }",
        "__asm__(\".section .init_array,\\\"aw\\\"\\n.quad mark\\n.text\");",
        "void _init(void); void _init(void) { mark(); }",
        "typedef void marker(void);\nstatic marker *which(void) { mark(); return mark; }\n\
         void chosen(void) __attribute__((ifunc(\"which\")));\n\
         void caller(void); void caller(void) { chosen(); }",
    ] {
        let output = run(more);
        assert_eq!(output.status.code(), Some(2), "{more}: {}", stderr(&output));
        assert!(stderr(&output).contains("constructor"), "{more}: {}", stderr(&output));
    }
}

/// A template that needs a header beside it.
fn with_own_header(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("mine.c");
    fs::write(&path, format!("#include \"own.h\"\n{TEMPLATE}")).expect("a file");
    fs::write(folder.join("own.h"), "#define OWN 1\n").expect("a file");
    path
}

#[test]
fn nothing_of_the_current_folder_is_compiled_in() {
    let [own, foreign] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let policy = with_own_header(own.path()).display().to_string();
    for name in ["platform.h", "sizes.h", "defaults.h", "own.h"] {
        let header = "#error \"of the current folder\"\n";
        fs::write(foreign.path().join(name), header).expect("a file");
    }
    let output = compare(foreign.path(), &policy);
    assert!(output.status.success(), "{}", stderr(&output));
    // The control: what stands beside the policy is its own.
    fs::copy(foreign.path().join("own.h"), own.path().join("own.h")).expect("a file");
    let output = compare(foreign.path(), &policy);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("of the current folder"), "{}", stderr(&output));
}

#[test]
fn what_was_checked_is_what_is_compiled() {
    let folder = tempfile::tempdir().expect("a folder");
    let [mine, cc] = ["mine.c", "cc"].map(|name| folder.path().join(name));
    // Another file stands there while the compiler runs, and no longer.
    let exchange = format!(
        "#!/bin/sh\ncp {0} {0}.kept\necho '#error exchanged' > {0}\n\
         cc \"$@\"\ncode=$?\nmv {0}.kept {0}\ntouch {0}.done\nexit $code\n",
        mine.display()
    );
    fs::write(&cc, exchange).expect("a file");
    fs::set_permissions(&cc, fs::Permissions::from_mode(0o755)).expect("ours");
    fs::write(&mine, TEMPLATE).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(["compare", SCENARIO, "--policy", "./mine.c", "--duration", "100ms"]);
    command.args(["--seeds", "1"]).current_dir(folder.path()).env("CC", "./cc");
    let output = command.output().expect("the built command runs");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(folder.path().join("mine.c.done").exists(), "it was exchanged");
    fs::write(&mine, "#error exchanged\n").expect("a file");
    let output = compare(folder.path(), "./mine.c");
    assert!(stderr(&output).contains("./mine.c:1:2: error: #error exchanged"), "the control");
}

#[test]
fn headers_and_folders_are_trusted_as_the_policy_is() {
    let folder = tempfile::tempdir().expect("a folder");
    with_own_header(folder.path());
    let said = || {
        let output = compare(folder.path(), "./mine.c");
        output.status.code().filter(|code| *code != 0).map(|_| stderr(&output))
    };
    assert_eq!(said(), None, "the control");
    if fs::metadata("/proc/self").expect("Linux").uid() != 0 {
        eprintln!("not root: a user runs what files are there at his own risk");
        return;
    }
    let mode = |name: &str, mode| {
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode))
            .expect("ours");
    };
    mode("own.h", 0o666);
    assert!(said().is_some_and(|said| said.contains("own.h: others may write to it")));
    mode("own.h", 0o644);
    for (open, why) in
        [(0o777, "others may write to"), (0o1777, "own.h: others may write to its folder")]
    {
        mode("", open);
        assert!(said().is_some_and(|said| said.contains(why)), "{:?}", said());
    }
    mode("", 0o755);
    assert_eq!(said(), None);
}

#[test]
fn a_plan_and_a_cluster_are_data_unless_they_are_allowed_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("mine.c", TEMPLATE);
    let scenario = fs::read_to_string(SCENARIO).expect("a scenario");
    write("one.toml", &scenario);
    write(
        "files.toml",
        "scenario = \"one.toml\"\npolicies = [\"eevdf\", \"./mine.c\"]\nseeds = [1]\n",
    );
    write("commands.toml", "command = [\"touch\", \"ran\"]\nseeds = [1]\n");
    let cluster = "# Two machines.\nduration = \"100ms\"\nfan_out = 2\narrivals.utilisation = 0.2\n[leaf]\nservers = 2\n\
                   machine = \"one.toml\"\npolicy = \"./mine.c\"\n";
    write("cluster.toml", cluster);
    for words in [["sweep", "files.toml"], ["sweep", "commands.toml"], ["cluster", "cluster.toml"]]
    {
        let output = rearguard(folder.path(), &words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = stderr(&output);
        assert!(said.contains("--allow-own-policies"), "{words:?}: {said}");
        assert!(!folder.path().join("ran").exists());
    }
    for words in [["sweep", "files.toml"], ["cluster", "cluster.toml"]] {
        let output = rearguard(folder.path(), &[&words[..], &["--allow-own-policies"]].concat());
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    }
    rearguard(folder.path(), &["sweep", "commands.toml", "--allow-own-policies"]);
    assert!(folder.path().join("ran").exists(), "the control: a plan may be allowed its command");
}
