//! Every program may be distributed, and every file says under what licence it is.

use std::fs;
use std::process::Command;

use rules::licences::{PROGRAMS, Program, forbidden};
use rules::sources::{Source, root, sources};

/// What a program is linked of: its dependencies, but for those that only builds or tests need.
fn linked(name: &str, unused: &[&str]) -> String {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none"]);
    tree.args(["--target", "x86_64-unknown-linux-gnu", "--format", "{p}|{l}", "--package", name]);
    tree.args(unused.iter().flat_map(|package| ["--prune", package]));
    let output = tree.current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn each_program_holds_only_licences_that_go_together() {
    for Program { name, allowed, unused } in PROGRAMS {
        let linked = linked(name, unused);
        assert!(linked.lines().count() > 50, "{name}: {linked}");
        let forbidden = forbidden(&linked, allowed);
        assert!(forbidden.is_empty(), "{name} may not hold\n{}", forbidden.join("\n"));
    }
}

#[test]
fn both_in_one_program_are_refused_as_they_once_were_one() {
    let [tools, loader] = PROGRAMS;
    let both = linked(tools.name, tools.unused) + &linked(loader.name, loader.unused);
    let names = |allowed| forbidden(&both, allowed).join("\n");
    assert!(names(tools.allowed).contains("scx_utils v"), "{}", names(tools.allowed));
    assert!(names(loader.allowed).contains("parquet v"), "{}", names(loader.allowed));
}

#[test]
fn licences_are_read_as_spdx_says() {
    let refused =
        |licence: &str| !forbidden(&format!("a v1|{licence}"), &["GPL-2.0-or-later"]).is_empty();
    for fine in [
        "MIT OR Apache-2.0",
        "MIT/Apache-2.0",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "GPL-2.0-or-later",
    ] {
        assert!(!refused(fine), "{fine}");
    }
    for bad in ["Apache-2.0", "MIT AND Apache-2.0", "GPL-2.0-only", "GPL-3.0-only", "", "mine"] {
        assert!(refused(bad), "{bad}");
    }
}

/// The licence that a file says it is under.
fn said(text: &str) -> Option<&str> {
    let tag = concat!("SPDX-License-", "Identifier");
    let (_, rest) = text.lines().find(|line| line.contains(tag))?.split_once(tag)?;
    Some(rest.trim_start_matches([':', '=', ' ', '"']).trim_end_matches(['*', '/', ' ', '"']))
}

#[test]
fn every_c_source_says_its_licence_and_the_texts_are_here() {
    let mut faults = Vec::new();
    let licences = fs::read_to_string(root().join("REUSE.toml")).expect("REUSE.toml");
    let whole = Source { path: "REUSE.toml".into(), text: licences };
    for Source { path, text } in sources(&["c", "h", "def"]).into_iter().chain([whole]) {
        match said(&text) {
            None => faults.push(format!("{path}: no SPDX header")),
            Some(licence) if !root().join(format!("LICENSES/{licence}.txt")).is_file() => {
                faults.push(format!("{path}: the text of {licence} is not in LICENSES/"));
            }
            Some(_) => {}
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    let tag = concat!("/* SPDX-License-", "Identifier: MIT */\n");
    assert_eq!((said(tag), said("int x;\n")), (Some("MIT"), None));
}
