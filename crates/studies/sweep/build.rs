//! A fingerprint of the sources that results depend on: points that another engine finished are not taken for
//! ours.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What a result is made by, from the project's folder.
const SOURCES: [&str; 9] = [
    "policy",
    "crates/core/columnar/src",
    "crates/analysis/compare/src",
    "crates/core/model/src",
    "crates/core/policy-native",
    "crates/analysis/queue/src",
    "crates/analysis/report/src/tables",
    "crates/arms/sim/src",
    "crates/analysis/stats/src",
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
        collect(&root.join(source), &mut files);
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let name = file.strip_prefix(&root).expect("below the root").display().to_string();
        hash.update(name.len().to_le_bytes());
        hash.update(name);
        let content = fs::read(&file).expect("a readable source");
        hash.update(content.len().to_le_bytes());
        hash.update(content);
    }
    println!("cargo::rustc-env=ENGINE={:.16x}", hash.finalize());
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
