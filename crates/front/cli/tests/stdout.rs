//! Standard output that is full, or whose reader is gone.

use std::fs::OpenOptions;
use std::io::Read;
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/null-rpc.toml");
/// One line, many lines, JSON, and what the parser of arguments prints.
const COMMANDS: [&[&str]; 6] = [
    &["check", SCENARIO],
    &["doctor"],
    &["doctor", "--json"],
    &["tune", "list"],
    &["fanout", "--proportion", "0.01", "--servers", "100"],
    &["--help"],
];

fn ended(args: &[&str], out: Stdio) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let Output { status, stderr, .. } =
        command.args(args).stdout(out).output().expect("the built command runs");
    (status.code(), String::from_utf8(stderr).expect("UTF-8"))
}

#[test]
fn a_full_disk_is_one_line_and_a_failure() {
    for args in COMMANDS {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("of every Linux");
        let (code, said) = ended(args, full.into());
        assert_eq!(code, Some(1), "{args:?}: {said}");
        assert!(said.starts_with("rearguard: standard output: "), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
        // The control: where there is room there is nothing to say.
        assert_eq!(ended(args, Stdio::null()), (Some(0), String::new()), "{args:?}");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_news() {
    for args in COMMANDS {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let (gone, out) = std::io::pipe().expect("a pipe");
        drop(gone);
        let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
        let child = command.args(args).stdout(out).stderr(writer).spawn();
        let mut child = child.expect("the built command runs");
        drop(command);
        let code = child.wait().expect("a child").code();
        let mut said = String::new();
        reader.read_to_string(&mut said).expect("UTF-8");
        assert_eq!((code, said.as_str()), (Some(141), ""), "{args:?}");
    }
}

/// The report comes first: what the table could not be written to costs the table alone.
#[test]
fn a_report_is_written_though_the_table_cannot_be() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.html");
    let words = ["fanout", "--proportion", "0.01", "--servers", "100", "--report"];
    let words = [&words[..], &[report.to_str().expect("UTF-8")]].concat();
    let full = OpenOptions::new().write(true).open("/dev/full").expect("of every Linux");
    let (code, said) = ended(&words, full.into());
    assert_eq!(code, Some(1), "{said}");
    assert!(std::fs::read_to_string(&report).expect("it is there").contains("</html>"));
}
