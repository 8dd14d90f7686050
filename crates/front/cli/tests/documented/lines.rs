//! The command lines in the pages: lines of fences without a language that begin with the command's name.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the pages are.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// README.md and all pages below docs/, in path order.
pub fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    for kind in ["guide", "reference", "evidence", "notebook"] {
        let folder = fs::read_dir(root().join("docs").join(kind)).expect("a folder of pages");
        let mut found: Vec<PathBuf> = folder.flatten().map(|entry| entry.path()).collect();
        found.sort();
        pages.extend(found.into_iter().filter(|path| path.extension().is_some_and(|e| e == "md")));
    }
    pages
}

/// The words of each command line of a page, the command's name first; `sudo` and lines with `...` are left
/// out.
pub fn command_lines(page: &str) -> Vec<Vec<String>> {
    let mut plain_fence = None;
    let mut found = Vec::new();
    for line in page.replace("\\\n", " ").lines() {
        if let Some(language) = line.strip_prefix("```") {
            plain_fence = plain_fence.is_none().then_some(language.is_empty());
        } else if plain_fence == Some(true) && !line.contains(" ... ") {
            let commands = line.split(" #").next().unwrap_or_default().split(" && ");
            found.extend(commands.map(|c| c.trim_start_matches("sudo ")).filter_map(words));
        }
    }
    found
}

/// The words as a shell splits them, of a line that begins with a program's name.
fn words(line: &str) -> Option<Vec<String>> {
    ["rearguard ", "scx_rearguard "].iter().any(|name| line.starts_with(name)).then_some(())?;
    let pieces = line.split('\'').enumerate();
    let words = pieces.flat_map(|(at, piece)| match at % 2 {
        0 => piece.split_whitespace().map(str::to_string).collect(),
        _ => vec![piece.to_string()],
    });
    Some(words.take_while(|word| word != "|" && word != ">").collect())
}
