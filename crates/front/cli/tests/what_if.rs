//! `rearguard what-if` as a user sees it.

use std::fs;
use std::path::Path;
use std::process::Command;

const SCENARIO: &str = "# A service beside batch work.\nduration = \"2s\"\nseeds = [1]\n\
    [machine]\ncpus = 1\n[[program]]\nname = \"web\"\nkind = \"service\"\nservice_time = \"500us\"\n\
    arrivals = { utilisation = 0.4 }\n[[program]]\nname = \"batch\"\nkind = \"batch\"\nthreads = 4\n";

/// Exit code, stdout and stderr of `rearguard` in a folder.
fn rearguard(folder: &Path, words: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let output = command.args(words.split(' ')).current_dir(folder).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

fn traced() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("s.toml"), SCENARIO).expect("a scenario");
    let made = rearguard(folder.path(), "compare s.toml --policy eevdf --trace a.trace");
    assert_eq!(made.0, 0, "{}", made.2);
    folder
}

#[test]
fn policies_neighbours_and_machines_are_foretold() {
    let folder = traced();
    let asked = |words: &str| rearguard(folder.path(), format!("what-if a.trace {words}").trim());
    let (code, stdout, stderr) = asked("--policy rearguard --report w.html --scenario w.toml");
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.starts_with("web, rearguard: p99.9 of "), "{stdout}");
    assert!(stdout.contains("which is better; it was "), "{stdout}");
    let page = fs::read_to_string(folder.path().join("w.html")).expect("a page");
    assert!(page.contains("<h1>What if: s</h1>"), "{page}");
    assert_eq!(rearguard(folder.path(), "check w.toml").0, 0, "the scenario is one");
    for better in ["--without batch", "--set machine.cpus=8"] {
        let (_, stdout, _) = asked(better);
        assert!(stdout.contains("which is better"), "{better}: {stdout}");
    }
    let (_, stdout, _) = asked("--best");
    assert!(stdout.contains("machine.cpus=2: a CPU more"), "{stdout}");
    let (_, stdout, _) = asked("");
    assert!(stdout.contains("which may be no change"), "the control: {stdout}");
    let again = asked("--policy rearguard --json");
    assert!(again.1.contains("\"schema\": \"rearguard.what-if/1\""), "{}", again.1);
    assert_eq!(again, asked("--policy rearguard --json"), "the same seeds give the same bytes");
}

#[test]
fn a_promise_is_checked_before_it_is_made() {
    let folder = traced();
    let checked = |promise: &str, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
        let command = command.args(["promise", "set", promise, "--check"]).args(words);
        let output = command.current_dir(folder.path()).output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code().expect("an exit code"), text(output.stdout) + &text(output.stderr))
    };
    let traced = &["--trace", "a.trace"][..];
    for (promise, words, code, expected) in [
        ("web: 10ms=10%, at most 60%", traced, 0, "  yes\n"),
        ("web: 600us=1%, at most 60%", traced, 1, "  no; about"),
        ("web: 10ms=10%, at most 20%", traced, 3, "others leave; promise at most 4"),
        ("web: 10ms=0.01%, at most 60%", traced, 3, "at their rate, would tell"),
        ("web: 10ms", traced, 2, "expected a time and a share"),
        ("web", traced, 2, "expected a cgroup or unit"),
        ("web: 10ms=10%", &[], 2, "--port"),
        ("web: 10ms=10%", &["--trace", "none.trace"], 2, "none.trace"),
    ] {
        let (found, said) = checked(promise, words);
        assert_eq!(found, code, "{promise} {words:?}: {said}");
        assert!(said.contains(expected), "{promise}: {said}");
    }
}

/// A trace is data: to ask of one that names a file as its policy runs no code.
#[test]
fn a_policy_in_a_file_is_not_run_for_a_trace() {
    let folder = traced();
    let made = rearguard(folder.path(), "new-policy mine");
    assert_eq!(made.0, 0, "{}", made.2);
    let run = rearguard(folder.path(), "compare s.toml --policy ./mine.c --trace b.trace");
    if run.0 == 3 {
        return; // no C compiler here
    }
    let (code, stdout, stderr) = rearguard(folder.path(), "what-if b.trace");
    assert!(code == 2 && stdout.is_empty(), "{stdout}");
    assert!(stderr.contains("the trace ran under `./mine.c`: say what to take it for"), "{stderr}");
    let said = rearguard(folder.path(), "what-if b.trace --now eevdf");
    assert_eq!(said.0, 0, "the control: {}", said.2);
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let folder = traced();
    let refused = |words: &str, why: &str| {
        let (code, stdout, stderr) = rearguard(folder.path(), &format!("what-if {words}"));
        assert!(code == 2 && stdout.is_empty() && stderr.contains(why), "{code}: {stderr}");
    };
    refused("s.toml", "this is not a trace");
    refused("a.trace --without bach", "no such program (did you mean `batch`?)");
    refused("a.trace --policy cst", "did you mean `cts`?");
    refused("a.trace --set machine.cpu=8", "unknown key `cpu`");
    refused("a.trace --best --policy cts", "cannot be used with");
    refused("a.trace --report w.svg", "ask for a .html");
}
