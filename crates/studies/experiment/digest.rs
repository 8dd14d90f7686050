//! Digests of sources, for the build and its tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

/// The options that leave whole files out, in the order of a kind's words.
pub const SWITCHES: [&str; 4] = ["balance", "pick", "order", "min_vruntime"];

/// Puts fixed values in the place of some options, so that the compiler drops what they leave out.
const FIXING: [&str; 4] = [
    "-DRG_OPTION(choice)=RG_TRY(RG_FIX_##choice, rg_options()->choice)",
    "-DRG_TRY(...)=RG_SECOND(__VA_ARGS__, 0)",
    "-DRG_SECOND(first, second, ...)=second",
    "-DRG_SUBPROGRAM=static __attribute__((noinline, unused))",
];

/// Of the code that `policy/` is compiled to where options have these values. Other policies' code and all
/// comments are not in it.
pub fn code(policy: &Path, fixed: &[(&str, &str)], mut compiler: Command) -> String {
    let words = fixed.iter().map(|(key, word)| {
        format!("-DRG_FIX_{key}=~, RG_{}_{}", key.to_uppercase(), word.to_uppercase())
    });
    let made = compiler
        .args(["-std=gnu11", "-Og", "-w", "-S", "-o", "-", "-I"])
        .args([policy, &policy.join("policy.c")])
        .args(FIXING)
        .args(words)
        .output()
        .expect("a C compiler");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    short(Sha256::digest(made.stdout).as_slice())
}

/// Of names and contents of all files in folders, but of those that are called `without`.
pub fn files(root: &Path, folders: &[&str], without: &str) -> String {
    let mut all = Vec::new();
    folders.iter().for_each(|folder| collect(&root.join(folder), &mut all));
    all.retain(|path| path.file_name().is_none_or(|name| name != without));
    all.sort();
    let mut hash = Sha256::new();
    for file in all {
        let name = file.strip_prefix(root).expect("below the root").display().to_string();
        let content = fs::read(&file).expect("a readable source");
        for part in [name.as_bytes(), &content] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    }
    short(hash.finalize().as_slice())
}

fn short(digest: &[u8]) -> String {
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_path_buf());
        return;
    }
    let entries = fs::read_dir(path).expect("a readable folder").flatten();
    entries.for_each(|entry| collect(&entry.path(), files));
}
