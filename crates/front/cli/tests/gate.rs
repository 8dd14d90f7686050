//! `rearguard gate` as a build server sees it.

use std::fs;
use std::path::Path;
use std::process::Command;

const SCENARIO: &str = "# A service beside batch work.\nduration = \"1s\"\nseeds = [1, 2, 3, 4]\n\
    [machine]\ncpus = 1\n[[program]]\nname = \"web\"\nkind = \"service\"\n\
    architecture = \"thread-per-connection\"\nconnections = 64\nservice_time = \"500us\"\n\
    arrivals = { law = \"poisson\", utilisation = 0.4 }\n\
    [[program]]\nname = \"batch\"\nkind = \"batch\"\nthreads = 4\n";

/// Exit code, stdout and stderr of `rearguard gate` in a folder.
fn gate(folder: &Path, args: &[&str], in_github: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.arg("gate").args(args).current_dir(folder).env("GITHUB_ACTIONS", in_github);
    let output = command.output().expect("the built command runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["a.toml", "b.toml"] {
        fs::write(folder.path().join(name), SCENARIO).expect("a scenario");
    }
    let record = ["record", "--scenarios", ".", "--policy", "rearguard", "-o", "b.json"];
    let (code, stdout, stderr) = gate(folder.path(), &record, "");
    assert_eq!((code, &stdout[..]), (0, "b.json: 2 scenarios\n"), "{stderr}");
    folder
}

#[test]
fn the_same_passes_and_another_policy_does_not() {
    let folder = recorded();
    let (code, stdout, stderr) =
        gate(folder.path(), &["check", "b.json", "--policy", "rearguard"], "true");
    assert!(
        code == 0 && !stdout.contains("::error") && stdout.contains(" 0 worse"),
        "{stdout}{stderr}"
    );
    let worse = ["check", "b.json", "--policy", "eevdf", "--junit", "gate.xml"];
    let (code, stdout, _) = gate(folder.path(), &worse, "true");
    assert!(code == 1 && stdout.contains("::error title=rearguard gate::"), "{stdout}");
    assert!(fs::read_to_string(folder.path().join("gate.xml")).unwrap().contains("<failure"));
    let (_, stdout, _) = gate(folder.path(), &worse, "");
    assert!(!stdout.contains("::error"), "control: not GitHub's");
    // The scenario is inside the base.
    fs::remove_file(folder.path().join("a.toml")).unwrap();
    let lax = ["check", "b.json", "--policy", "eevdf", "--least", "1000%"];
    assert_eq!(gate(folder.path(), &["check", "b.json", "--policy", "rearguard"], "").0, 0);
    assert!(gate(folder.path(), &lax, "").1.contains("by 1000% or more"));
}

#[test]
fn what_cannot_be_held_against_is_refused_with_a_remedy() {
    let folder = recorded();
    let refused = |args: &[&str], code: i32, words: &str| {
        let (found, stdout, stderr) = gate(folder.path(), args, "");
        assert!(found == code && stdout.is_empty() && stderr.contains(words), "{found}: {stderr}");
    };
    let check = |base| ["check", base, "--policy", "rearguard"];
    refused(&check("none.json"), 2, "none.json");
    refused(&check("a.toml"), 2, "no base of a gate");
    refused(&["check", "b.json", "--policy", "nonsense"], 2, "nonsense");
    let base = fs::read_to_string(folder.path().join("b.json")).unwrap();
    let write = |from: &str, to: &str| {
        assert!(base.contains(from), "{from}");
        fs::write(folder.path().join("c.json"), base.replacen(from, to, 1)).unwrap();
    };
    write("rearguard.gate/1", "rearguard.gate/9");
    refused(&check("c.json"), 2, "gate/9");
    write("\"machine\": \"", "\"machine\": \"another, not ");
    refused(&check("c.json"), 3, "record it here");
    let guests = base.replacen("\"arm\": \"sim\"", "\"arm\": \"vm\"", 1);
    let gone = guests.replacen("\"kernel\": null", "\"kernel\": \"9.9.1-gone\"", 1);
    fs::write(folder.path().join("c.json"), gone).unwrap();
    refused(&check("c.json"), 3, "kernel 9.9.1-gone is not in the lab");
    refused(&["check", "b.json", "--policy", "rearguard", "--kernel", "7.3"], 2, "--on vm");
    refused(&["check", "b.json", "--policy", "rearguard", "--with", "x"], 2, "--on vm or host");
    let record =
        |scenarios| ["record", "--scenarios", scenarios, "--policy", "eevdf", "-o", "d.json"];
    refused(&record("none"), 2, "none");
    fs::create_dir(folder.path().join("empty")).unwrap();
    refused(&record("empty"), 2, "no scenario");
    fs::write(folder.path().join("one.toml"), SCENARIO.replace("[1, 2, 3, 4]", "[1]")).unwrap();
    refused(&record("one.toml"), 2, "--seeds");
    assert!(!folder.path().join("d.json").exists(), "nothing is left of a refusal");
}
