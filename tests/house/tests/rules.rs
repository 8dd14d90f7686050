//! The sources keep the rules of the house, and each rule catches its fault.

use house::arrows::{self, upward};
use house::size::{long_file, long_functions, wide_lines};
use house::sources::{Source, root, sources};
use house::words::{ABSENCES, broken};

fn assert_none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

fn code() -> Vec<Source> {
    sources(&["rs", "c", "h", "py", "js", "css"])
}

#[test]
fn files_and_functions_are_small() {
    let faults = code().into_iter().flat_map(|Source { path, text }| {
        let file = long_file(&text).map(|n| format!("{path}: {n} lines"));
        let functions = long_functions(&text)
            .into_iter()
            .map(|(at, n)| format!("{path}:{at}: {n} lines in a function"));
        file.into_iter().chain(functions.collect::<Vec<_>>()).collect::<Vec<_>>()
    });
    assert_none(faults.collect());
}

#[test]
fn c_keeps_to_100_columns() {
    let faults = sources(&["c", "h"]).into_iter().flat_map(|Source { path, text }| {
        wide_lines(&text).into_iter().map(move |at| format!("{path}:{at}: wider than 100 columns"))
    });
    assert_none(faults.collect());
}

#[test]
fn what_must_be_absent_is_absent() {
    let mut faults = Vec::new();
    for Source { path, text } in sources(&["rs", "c", "h"]) {
        for absence in ABSENCES {
            let found = broken(absence, &path, &text).into_iter();
            faults
                .extend(found.map(|(at, word)| format!("{path}:{at}: `{word}`: {}", absence.why)));
        }
    }
    assert_none(faults);
}

#[test]
fn only_the_bindings_to_c_may_be_unsafe() {
    let crates = sources(&["rs"]).into_iter().filter(|source| {
        let is_root = source.path.ends_with("src/lib.rs") || source.path.ends_with("src/main.rs");
        let binds = ["crates/policy/", "crates/kernel/"].iter().any(|c| source.path.starts_with(c));
        is_root && !binds
    });
    let faults = crates.filter(|source| !source.text.contains("#![forbid(unsafe_code)]"));
    assert_none(
        faults.map(|source| format!("{}: add #![forbid(unsafe_code)]", source.path)).collect(),
    );
}

#[test]
fn arrows_point_down() {
    let manifests = sources(&["toml"]).into_iter().filter(|source| {
        source.path.starts_with("crates/") && source.path.ends_with("/Cargo.toml")
    });
    assert_none(manifests.flat_map(|source| upward(&source.text)).collect());
}

#[test]
fn every_crate_is_on_the_map() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let folder =
        |name: &str| if name == "rearguard" { "cli".to_string() } else { name.to_string() };
    let crates =
        arrows::FLOORS.iter().copied().flatten().map(|name| format!("crates/{}", folder(name)));
    assert_none(
        crates
            .filter(|path| !map.contains(path))
            .map(|path| format!("{path} is not on the map"))
            .collect(),
    );
}

#[test]
fn the_rules_catch_their_faults() {
    let long = format!("fn head() {{\n{}}}\n", "    line();\n".repeat(70));
    assert_eq!(long_functions(&long), [(1, 72)]);
    assert_eq!(long_functions(&long.replacen("    line();\n", "", 2)), []);
    let c = format!("static int head(void)\n{{\n{}}}\n", "\tline();\n".repeat(70));
    assert_eq!(long_functions(&c), [(1, 73)]);
    assert_eq!(long_file(&"x\n".repeat(501)), Some(501));
    assert_eq!(long_file(&"x\n".repeat(500)), None);
    assert_eq!(wide_lines(&format!("\t{}\n", "x".repeat(93))), [1]);
    let up = "[package]\nname = \"model\"\n[dependencies]\nsim.workspace = true\n";
    assert_eq!(upward(up), ["model -> sim"]);
    assert_eq!(
        broken(&ABSENCES[0], "crates/sim/src/x.rs", "use std::collections::HashMap;"),
        [(1, "HashMap")]
    );
    assert_eq!(broken(&ABSENCES[0], "crates/load/src/x.rs", "use std::collections::HashMap;"), []);
}
