//! Standard output that is full, or whose reader is gone.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = "# A service on two CPUs.\nduration = \"50ms\"\nseeds = [1, 2, 3]\n\
    [machine]\ncpus = 2\n[[program]]\nname = \"web\"\nkind = \"service\"\n\
    service_time = { law = \"exponential\", mean = \"200us\" }\narrivals = { utilisation = 0.5 }\n";
const CLUSTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../clusters/dispatch.toml");
const PLAN: &str = "# Short.\nscenario = \"web.toml\"\npolicies = [\"cts\"]\n";
/// Every command that writes and needs neither privileges nor a server: one line, many, JSON, what the parser
/// of arguments prints.
const COMMANDS: [&str; 29] = [
    "--help",
    "--version",
    "compare --help",
    "check web.toml",
    "compare web.toml --policy cts",
    "compare web.toml --policy cts --json",
    "compare web.toml --policy cts --report a.html",
    "capacity web.toml --slo 1ms=1% --policy cts --seeds 3",
    "cluster cluster.toml --duration 100ms --utilisation 0.5 --dispatch random",
    "ideal --requests 10k --service exponential",
    "ideal --requests 10k --service exponential --json",
    "fanout --proportion 0.01 --servers 100",
    "gate record --policy cts --scenarios web.toml --output base.json",
    "gate check base.json --policy cts",
    "diff a.json a.json",
    "diff a.trace a.trace",
    "diff base.json base.json",
    "explain a.trace",
    "explain a.trace --json",
    "what-if a.trace --seeds 2",
    "trace show a.trace",
    "sweep plan.toml",
    "sweep plan.toml --json --results",
    "paper 10ms 1 --requests 10k",
    "doctor",
    "doctor --json",
    "tune list",
    "cell list --json",
    "watch list .",
];

/// A folder with what commands read.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("web.toml"), SCENARIO).expect("a file");
    std::fs::write(at("plan.toml"), PLAN).expect("a file");
    std::fs::copy(CLUSTER, at("cluster.toml")).expect("there");
    let traced = "compare web.toml --policy cts --seed 1 --trace a.trace --json";
    let output = command(folder.path(), traced).output().expect("the built command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(at("a.json"), output.stdout).expect("a file");
    folder
}

fn command(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(words.split(' ')).current_dir(folder).env("HOME", folder);
    command
}

fn ended(folder: &Path, words: &str, out: Stdio) -> (Option<i32>, String) {
    let Output { status, stderr, .. } =
        command(folder, words).stdout(out).output().expect("the built command runs");
    (status.code(), String::from_utf8(stderr).expect("UTF-8"))
}

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("of every Linux").into()
}

#[test]
fn a_full_disk_is_one_line_and_a_failure() {
    let folder = folder();
    for words in COMMANDS {
        // The control: where there is room there is nothing to say.
        let (code, said) = ended(folder.path(), words, Stdio::null());
        assert_eq!(code, Some(0), "{words}: {said}");
        let (code, full_said) = ended(folder.path(), words, full());
        assert_eq!(code, Some(1), "{words}: {full_said}");
        let more = full_said.strip_prefix(&said).unwrap_or(&full_said);
        assert!(more.starts_with("rearguard: standard output: "), "{words}: {full_said}");
        assert_eq!(more.lines().count(), 1, "{words}: {full_said}");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_news() {
    let folder = folder();
    for words in COMMANDS {
        let (_, usual) = ended(folder.path(), words, Stdio::null());
        let (gone, out) = std::io::pipe().expect("a pipe");
        drop(gone);
        let (code, said) = ended(folder.path(), words, out.into());
        assert_eq!((code, said), (Some(141), usual), "{words}");
    }
}

/// The report comes first: what the table could not be written to costs the table alone.
#[test]
fn a_report_is_written_though_the_table_cannot_be() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = "fanout --proportion 0.01 --servers 100 --report report.html";
    let (code, said) = ended(folder.path(), words, full());
    assert_eq!(code, Some(1), "{said}");
    assert!(
        std::fs::read_to_string(folder.path().join("report.html"))
            .expect("it is there")
            .contains("</html>")
    );
}
