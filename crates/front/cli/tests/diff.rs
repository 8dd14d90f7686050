//! `rearguard diff` of results, as a script sees it.

use std::fs;
use std::path::Path;
use std::process::Command;

const SCENARIO: &str = "# A service beside batch work.\nduration = \"1s\"\nseeds = [1, 2, 3]\n\
    [machine]\ncpus = 1\n[[program]]\nname = \"web\"\nkind = \"service\"\n\
    architecture = \"thread-per-connection\"\nconnections = 64\nservice_time = \"500us\"\n\
    arrivals = { law = \"poisson\", utilisation = 0.4 }\n\
    [[program]]\nname = \"batch\"\nkind = \"batch\"\nthreads = 4\n";

/// Exit code, stdout and stderr of `rearguard` in a folder.
fn rearguard(folder: &Path, words: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let output = command.args(words.split(' ')).current_dir(folder).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

fn folder_with(policies: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("s.toml"), SCENARIO).expect("a scenario");
    for policy in policies {
        let command = format!("compare s.toml --policy {policy} --json");
        let (code, json, stderr) = rearguard(folder.path(), &command);
        assert_eq!(code, 0, "{stderr}");
        fs::write(folder.path().join(format!("{policy}.json")), json).expect("room");
    }
    folder
}

#[test]
fn what_became_worse_is_said_and_ends_with_1() {
    let folder = folder_with(&["eevdf", "rearguard"]);
    let diff = |words: &str| rearguard(folder.path(), &format!("diff {words}"));
    let (code, stdout, stderr) = diff("rearguard.json eevdf.json");
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stdout.starts_with("eevdf web instead of rearguard web: p99"), "{stdout}");
    assert!(
        stdout.contains("is worse: ") && stdout.contains("not the same: kernels: "),
        "{stdout}"
    );
    let (code, stdout, _) = diff("eevdf.json rearguard.json");
    assert!(code == 0 && stdout.contains(" is better: "), "{stdout}");
    let (code, stdout, _) = diff("eevdf.json eevdf.json --json --report d.html --parquet tables");
    assert!(code == 0 && stdout.contains("\"schema\": \"rearguard.difference/1\""), "{stdout}");
    assert!(!stdout.contains("\"better\"") && !stdout.contains("\"worse\""), "control: the same");
    let page = fs::read_to_string(folder.path().join("d.html")).expect("a page");
    assert!(page.contains("<h1>eevdf.json against eevdf.json</h1>"), "{page}");
    assert!(folder.path().join("tables/differences.parquet").exists());
    let written = "eevdf.json rearguard.json --report d.md --csv-tables tables";
    assert_eq!(diff(written).0, 0);
    let page = fs::read_to_string(folder.path().join("d.md")).expect("Markdown");
    assert!(
        page.starts_with("# rearguard.json against eevdf.json\n\n* rearguard web instead"),
        "{page}"
    );
    let rows = fs::read_to_string(folder.path().join("tables/differences.csv")).expect("rows");
    assert!(rows.lines().nth(1).is_some_and(|row| row.starts_with("eevdf web,rearguard web,")));
}

#[test]
fn runs_of_other_lengths_are_told() {
    let folder = folder_with(&["eevdf"]);
    let compare = |duration: &str| {
        let words = format!("compare s.toml --policy eevdf --json --duration {duration}");
        rearguard(folder.path(), &words)
    };
    fs::write(folder.path().join("long.json"), compare("3s").1).expect("room");
    let (_, stdout, _) = rearguard(folder.path(), "diff eevdf.json long.json");
    assert!(stdout.contains("not the same: scenario file: duration = "), "{stdout}");
    let (_, stdout, _) = rearguard(folder.path(), "diff eevdf.json eevdf.json");
    assert!(!stdout.contains("not the same"), "the control: {stdout}");
    let (code, _, stderr) = compare("25h");
    assert!(code == 2 && stderr.contains("duration"), "longer than a scenario may say: {stderr}");
}

#[test]
fn bases_of_a_gate_are_held_against_each_other() {
    let folder = folder_with(&[]);
    for policy in ["rearguard", "eevdf"] {
        let record = format!("gate record --scenarios s.toml --policy {policy} -o {policy}.json");
        assert_eq!(rearguard(folder.path(), &record).0, 0);
    }
    let diff = |words: &str| rearguard(folder.path(), &format!("diff {words}"));
    let (code, stdout, _) = diff("rearguard.json eevdf.json");
    assert!(code == 1 && stdout.contains("latency_ns.p99"), "{stdout}");
    assert_eq!(diff("rearguard.json rearguard.json").0, 0);
    let (code, _, stderr) = diff("rearguard.json eevdf.json --json");
    assert!(code == 2 && stderr.contains("there is none of two bases of a gate"), "{stderr}");
}

#[test]
fn what_cannot_be_held_against_each_other_is_refused() {
    let folder = folder_with(&["eevdf", "rearguard", "cfs"]);
    let refused = |words: &str, why: &str| {
        let (code, stdout, stderr) = rearguard(folder.path(), &format!("diff {words}"));
        assert!(code == 2 && stdout.is_empty() && stderr.contains(why), "{code}: {stderr}");
    };
    refused("eevdf.json none.json", "none.json: ");
    fs::write(folder.path().join("b.trace"), [0xffu8, 0xfe, 0, 1]).expect("room");
    refused("eevdf.json b.trace", "b.trace: a trace, or no text: two traces can be held");
    refused("eevdf.json s.toml", "s.toml: neither a trace nor a result document");
    refused("eevdf.json,eevdf.json eevdf.json", "the same result is given twice");
    let one = "eevdf.json: diff holds no single file against 2";
    refused("eevdf.json rearguard.json,cfs.json", one);
    refused("rearguard.json,cfs.json eevdf.json", one);
    refused("eevdf.json eevdf.json --report d.svg", "ask for a .html");
}

/// Results are sent around, and their words may be anything.
#[test]
fn a_terminal_does_not_obey_the_words_of_results() {
    let folder = folder_with(&["eevdf", "rearguard"]);
    let diff = |words: &str| rearguard(folder.path(), &format!("diff {words}"));
    let (_, control, _) = diff("eevdf.json rearguard.json");
    assert!(control.contains("web"), "{control}");
    for (name, words) in [("eevdf", "eevdf"), ("rearguard", "rearguard")] {
        let path = folder.path().join(format!("{name}.json"));
        let text = fs::read_to_string(&path).unwrap();
        let hostile = |word: &str| format!("\"{word}\\u001b[2J\"");
        let text = [words, "web", "sim"]
            .iter()
            .fold(text, |text, word| text.replace(&format!("\"{word}\""), &hostile(word)));
        fs::write(&path, text).unwrap();
    }
    let (_, stdout, stderr) = diff("eevdf.json rearguard.json");
    assert!(stdout.contains("web?[2J"), "{stdout}{stderr}");
    assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'), "{stdout}{stderr}");
    fs::write(folder.path().join("x.json"), "{\"schema\": \"x\\u001b[2J\"}").unwrap();
    let (code, _, stderr) = diff("eevdf.json x.json");
    assert!(code == 2 && stderr.contains("x?[2J") && !stderr.contains('\u{1b}'), "{stderr}");
}

/// A result is data: of its requests it may say any number. A sum of them ended in a panic.
#[test]
fn any_counts_are_held_against_each_other() {
    let folder = folder_with(&["eevdf"]);
    let text = fs::read_to_string(folder.path().join("eevdf.json")).expect("there");
    let mut huge: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for result in huge["results"].as_array_mut().expect("results") {
        for key in ["requests", "lost"] {
            result["programs"][0][key] = u64::MAX.into();
        }
    }
    fs::write(folder.path().join("huge.json"), huge.to_string()).expect("room");
    let (code, stdout, stderr) = rearguard(folder.path(), "diff eevdf.json huge.json");
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stdout.contains("lost"), "all of them are: {stdout}");
}
