//! Loads that `rearguard measure` refuses.

use std::fs;
use std::process::{Command, Output};

fn rearguard(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.arg("measure").args(args).output().expect("the built command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn a_plan_of_no_quantile_is_refused_before_anything_is_sent() {
    let plan = |quantile: &str| {
        let target = ["--target", "memcached://127.0.0.1:9", "--rate", "1/s", "--plan", quantile];
        let output = rearguard(&target);
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = plan("p98");
    assert!(code == Some(2) && said.contains("expected p50, p90, p99 or p99.9"), "{said}");
    assert!(said.contains("--plan"), "{said}");
    let (code, said) = plan("p99");
    assert!(code != Some(2) && !said.contains("expected p50"), "the control: {said}");
}

/// All requests are in memory: what cannot be is refused before anything is sent.
#[test]
fn a_load_that_no_memory_holds_is_refused() {
    let nothing = ["--target", "memcached://127.0.0.1:9"];
    let refused = |args: &[&str], why: &str| {
        let output = rearguard(&[&nothing[..], args].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(why), "{message}");
    };
    let long = ["--rate", "200k/s", "--duration", "600s"];
    refused(&long, "are 120 million, and 20 million are the most: a lower --rate");
    let folder = tempfile::tempdir().unwrap();
    let stamps = folder.path().join("s.txt");
    fs::write(&stamps, "7\n18446744073709551615\n").unwrap();
    refused(&["--stamps", stamps.to_str().unwrap()], "s.txt:2: found `18446744073709551615`");
    fs::write(&stamps, "7\n8\n").unwrap();
    let output = rearguard(&[&nothing[..], &["--stamps", stamps.to_str().unwrap()]].concat());
    assert_ne!(output.status.code(), Some(2), "control: {}", text(&output.stderr));
}
