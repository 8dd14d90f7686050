//! The sources keep the rules of the house, and each rule catches its fault.

use rules::layers;
use rules::size::{long_file, long_functions, wide_comments, wide_lines};
use rules::sources::{Source, root, sources};
use rules::vocabulary::entries;
use rules::words::{ABSENCES, boundless, broken};

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
fn comments_keep_to_110_columns() {
    let faults = sources(&["rs", "py"]).into_iter().flat_map(|Source { path, text }| {
        let wide = wide_comments(&path, &text).into_iter();
        wide.map(|at| format!("{path}:{at}: a comment wider than 110 columns")).collect::<Vec<_>>()
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
fn files_of_users_are_read_up_to_a_limit() {
    let faults = sources(&["rs"]).into_iter().flat_map(|Source { path, text }| {
        let found = boundless(&path, &text).into_iter();
        found.map(|at| format!("{path}:{at}: no limit: use fileio")).collect::<Vec<_>>()
    });
    assert_none(faults.collect());
}

const VOCABULARY: &str = include_str!("../vocabulary.tsv");

/// Everything that is written by hand, but for the history, which says what things were called.
fn written() -> Vec<Source> {
    let mut written = sources(&["rs", "c", "h", "py", "toml", "md"]);
    written
        .retain(|source| !source.path.starts_with("tests/rules/") && source.path != "CHANGELOG.md");
    written
}

#[test]
fn words_are_the_fields() {
    let mut faults = Vec::new();
    let entries = entries(VOCABULARY);
    for Source { path, text } in written() {
        for entry in &entries {
            let found = entry.found_in(&path, &text).into_iter();
            let fault = |at| format!("{path}:{at}: `{}`: write {}", entry.word, entry.instead);
            faults.extend(found.map(fault));
        }
    }
    assert_none(faults);
}

#[test]
fn only_the_bindings_to_c_may_be_unsafe() {
    let crates = sources(&["rs"]).into_iter().filter(|source| {
        let is_root = source.path.ends_with("src/lib.rs") || source.path.ends_with("src/main.rs");
        let binds = [
            "crates/core/policy-native/",
            "crates/arms/scx/",
            "crates/arms/tracer/",
            "tests/interleave/",
            "benches/coherence/",
        ]
        .iter()
        .any(|c| source.path.starts_with(c));
        is_root && !binds
    });
    let faults = crates.filter(|source| !source.text.contains("#![forbid(unsafe_code)]"));
    assert_none(
        faults.map(|source| format!("{}: add #![forbid(unsafe_code)]", source.path)).collect(),
    );
}

#[test]
fn modules_stand_beside_their_folders() {
    let paths = sources(&["rs"]).into_iter().map(|source| source.path);
    assert_none(paths.filter(|path| layers::is_inside_its_folder(path)).collect());
}

fn manifests() -> Vec<Source> {
    let is_ours = |source: &Source| {
        source.path.starts_with("crates/") && source.path.ends_with("/Cargo.toml")
    };
    sources(&["toml"]).into_iter().filter(is_ours).collect()
}

#[test]
fn dependencies_point_down() {
    let manifests = manifests();
    let pairs = manifests.iter().map(|source| (source.path.as_str(), source.text.as_str()));
    let folders = layers::folders(pairs);
    assert_none(manifests.iter().flat_map(|s| layers::wrong_way(&s.text, &folders)).collect());
}

#[test]
fn every_crate_is_on_the_map() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let folders = manifests().into_iter().map(|s| s.path.replace("/Cargo.toml", ""));
    let missing = folders.filter(|folder| !map.contains(folder.as_str()));
    assert_none(missing.map(|folder| format!("{folder} is not on the map")).collect());
}

#[test]
fn the_rules_catch_their_faults() {
    let long = format!("fn head() {{\n{}}}\n", "    line();\n".repeat(70));
    assert_eq!(long_functions(&long), [(1, 72)]);
    assert_eq!(long_functions(&long.replacen("    line();\n", "", 2)), []);
    assert_eq!(long_functions(&long.replace("fn head() {", "fn declared();\nstruct S {")), []);
    let c = format!("static int head(void)\n{{\n{}}}\n", "\tline();\n".repeat(70));
    assert_eq!(long_functions(&c), [(1, 73)]);
    assert_eq!(long_file(&"x\n".repeat(501)), Some(501));
    assert_eq!(long_file(&"x\n".repeat(500)), None);
    assert_eq!(wide_lines(&format!("\t{}\n", "x".repeat(93))), [1]);
    assert!(layers::is_inside_its_folder("crates/arms/lab/src/boot/mod.rs"));
    assert!(!layers::is_inside_its_folder("crates/arms/lab/src/boot.rs"));
    assert!(!layers::is_inside_its_folder("crates/arms/sim/tests/common/mod.rs"));
    let entries =
        entries("word\tinstead\tplaces\nkeeper\tsink\t/crates/ !/crates/x/\n.meet(\tmeet\t/\n");
    let found =
        |path: &str, text: &str| entries.iter().flat_map(|e| e.found_in(path, text)).count();
    assert_eq!(found("crates/a.rs", "a keeper, a timekeeper, keepers\nthe keeper.meet(it)"), 3);
    assert_eq!(found("crates/x/a.rs", "a keeper") + found("docs/a.rs", "a keeper"), 0);
    let comment = format!("    // {}", "x".repeat(104));
    assert_eq!(wide_comments("x.rs", &comment), [1]);
    assert_eq!(wide_comments("x.rs", &comment[1..]), []);
    let reads = "let a = fs::read(path);\nlet b = fs::read_to_string(\"/proc/stat\");\n";
    assert_eq!(boundless("crates/front/cli/src/x.rs", reads), [1]);
    assert_eq!(boundless("crates/arms/host/src/x.rs", reads), []);
    let folders =
        [("sim", "arms"), ("model", "core"), ("stats", "analysis"), ("cluster", "studies")];
    let folders = folders.map(|(name, folder)| (name.to_string(), folder.to_string())).into();
    let leans_by = |table, name, on| {
        let manifest = format!("[package]\nname = \"{name}\"\n[{table}]\n{on}.workspace = true\n");
        layers::wrong_way(&manifest, &folders)
    };
    let leans = |name, on| leans_by("dependencies", name, on);
    assert_eq!(leans_by("dev-dependencies", "stats", "sim"), ["analysis/stats -> arms/sim"]);
    assert_eq!(leans("model", "sim"), ["core/model -> arms/sim"]);
    assert_eq!(leans("sim", "stats"), ["arms/sim -> analysis/stats"]);
    assert_eq!(leans("stats", "sim"), ["analysis/stats -> arms/sim"]);
    assert_eq!(leans("cluster", "sim"), [""; 0]);
    assert_eq!(
        broken(&ABSENCES[0], "crates/arms/sim/src/x.rs", "use std::collections::HashMap;"),
        [(1, "HashMap")]
    );
    assert_eq!(
        broken(&ABSENCES[0], "crates/arms/host/src/x.rs", "use std::collections::HashMap;"),
        []
    );
}
