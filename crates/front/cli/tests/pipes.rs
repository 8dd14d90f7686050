//! Inputs that can be read once: pipes, as `<(...)` of a shell is one. Each command says of a pipe what it
//! says of the file.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SCENARIO: &str = "# A service on two CPUs.\nduration = \"50ms\"\nseeds = [1, 2, 3]\n\
    [machine]\ncpus = 2\n[[program]]\nname = \"web\"\nkind = \"service\"\n\
    service_time = { law = \"exponential\", mean = \"200us\" }\narrivals = { utilisation = 0.5 }\n";
const STAMPS: &str = "0 100\n50 100\n70 300\n";
const CLUSTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../clusters/dispatch.toml");

/// Each with its inputs between braces.
const COMMANDS: [&str; 14] = [
    "check {web.toml}",
    "compare {web.toml} --policy cts",
    "capacity {web.toml} --slo 1ms=1% --policy cts --seeds 3",
    "cluster {cluster.toml} --duration 100ms --utilisation 0.5 --dispatch random",
    "gate check {base.json} --policy cts",
    "gate record --scenarios {web.toml} --policy cts --output again.json",
    "ideal --trace {stamps.trace}",
    "fanout {a.json} --servers 10 --threshold 1ms",
    "diff {a.json} {a.json}",
    "diff {base.json} {base.json}",
    "diff {a.trace} {a.trace}",
    "explain {a.trace}",
    "what-if {a.trace} --seeds 2",
    "trace show {a.trace}",
];

fn bash(folder: &Path, line: &str) -> Output {
    let mut shell = Command::new("bash");
    let built = env!("CARGO_BIN_EXE_rearguard");
    // A result is called as its file is, and a pipe by its number.
    let names = "s:/dev/fd/[0-9]+:INPUT.json:g; s/^(scenario +)?(6[0-9]|web|cluster)\\b/\\1NAME/";
    let line = format!("\"$0\" {line} | sed -E '{names}'");
    shell.args(["-o", "pipefail", "-c", &line, built]).current_dir(folder);
    shell.env("HOME", folder).output().expect("a shell")
}

fn done(folder: &Path, line: &str) -> String {
    let output = bash(folder, line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {}: {said}", output.status);
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for (name, text) in [("web.toml", SCENARIO), ("stamps.trace", STAMPS)] {
        fs::write(at(name), text).expect("a file");
    }
    fs::copy(CLUSTER, at("cluster.toml")).expect("there");
    let compare = "compare web.toml --policy cts --seed 1 --trace a.trace --json >a.json";
    done(folder.path(), compare);
    done(folder.path(), "gate record --scenarios web.toml --policy cts --output base.json");
    folder
}

/// Lines that do not name a file, nor say how long it took.
fn figures(text: &str) -> Vec<&str> {
    let names = [".toml", ".json", ".trace", "million events"];
    text.lines().filter(|line| !names.iter().any(|name| line.contains(name))).collect()
}

#[test]
fn each_input_is_read_once() {
    let folder = folder();
    let folder = folder.path();
    for command in COMMANDS {
        let of_files = command.replace(['{', '}'], "");
        let of_pipes = command.replace('{', "<(cat ").replace('}', ")");
        let (file, pipe) = (done(folder, &of_files), done(folder, &of_pipes));
        assert_eq!(figures(&file), figures(&pipe), "{command}");
    }
}
