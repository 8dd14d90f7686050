//! The command lines of the pages, run: those that need no privileges, no kernel and no file of the reader's.

mod lines;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Commands that only compute; `compare` in simulation is cut to a moment.
const QUICK: [&str; 9] =
    ["check", "compare", "explain", "diff", "ideal", "fanout", "doctor", "new-policy", "cluster"];
/// What the pages say of other machines, of a reader's own files, and at length.
const NOT_HERE: [&str; 10] = [
    "--on",
    "--port",
    "my-scenario.toml",
    "results.json",
    "before.json",
    "a1.json",
    "--requests",
    "clusters/",
    "--csv",
    "--hdr",
];

#[test]
fn the_quick_command_lines_of_the_pages_run() {
    let mut run = 0;
    for path in lines::pages() {
        let page = fs::read_to_string(&path).expect("a page");
        let folder = a_place_like_the_project();
        for words in lines::command_lines(&page) {
            if is_quick(&words) {
                run_in(folder.path(), &words, &path);
                run += 1;
            }
        }
    }
    assert!(run >= 15, "{run} lines run");
}

fn is_quick(words: &[String]) -> bool {
    QUICK.contains(&words[1].as_str())
        && !NOT_HERE.iter().any(|no| words.iter().any(|word| word.starts_with(no)))
}

/// What the packages install, in the place where the project has it.
fn in_the_project(word: &str) -> &str {
    word.strip_prefix("/usr/share/rearguard/").unwrap_or(word)
}

/// A folder of its own with what the project's folder has.
fn a_place_like_the_project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["scenarios", "clusters", "policy"] {
        symlink(lines::root().join(name), folder.path().join(name)).expect("a link");
    }
    folder
}

fn run_in(folder: &Path, words: &[String], page: &Path) {
    let is_long = words[1] == "compare" && !words.iter().any(|word| word == "--duration");
    let moment: &[&str] = if is_long { &["--duration", "200ms"] } else { &[] };
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let output = command
        .args(words[1..].iter().map(|word| in_the_project(word)))
        .args(moment)
        .current_dir(folder)
        .output();
    let output = output.expect("the built command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    // Two runs that differ are exit code 1, and what --fail-if asks for.
    let may_fail = words[1] == "diff" || words.iter().any(|word| word == "--fail-if");
    let is_right = output.status.success() || (may_fail && output.status.code() == Some(1));
    assert!(is_right, "{}: {}\n{said}", page.display(), words.join(" "));
}
