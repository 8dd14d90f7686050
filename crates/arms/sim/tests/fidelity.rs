//! The page on fidelity names tests that exist.

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Every `file::test` between backticks.
fn named(page: &str) -> Vec<(&str, &str)> {
    let quoted = page.split('`').skip(1).step_by(2);
    let tests = quoted.filter_map(|words| words.split_once("::"));
    tests.filter(|(file, _)| *file != "class").collect()
}

fn exists(file: &str, test: &str) -> bool {
    ["crates/arms/sim/tests", "tests/arms-and-analyses/tests/policies"].iter().any(|folder| {
        let path = repository().join(folder).join(format!("{file}.rs"));
        std::fs::read_to_string(path).is_ok_and(|source| source.contains(&format!("fn {test}()")))
    })
}

#[test]
fn every_test_that_the_page_names_exists() {
    let page = std::fs::read_to_string(repository().join("docs/evidence/fidelity.md")).unwrap();
    let tests = named(&page);
    assert!(tests.len() > 15, "{tests:?}");
    for (file, test) in tests {
        assert!(exists(file, test), "`{file}::{test}` is named in docs/evidence/fidelity.md");
    }
    assert!(!exists("shipped", "pigs_fly") && !exists("pigs", "fly"));
}
