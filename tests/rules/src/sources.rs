//! The project's own source files.

use std::fs;
use std::path::{Path, PathBuf};

/// A text file of the project.
pub struct Source {
    /// Path from the project's folder, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// The project's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the project's folder")
}

/// Every file below the project's folder with one of the extensions, in path order; build output is left out.
pub fn sources(extensions: &[&str]) -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    collect(&root, &root, extensions, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(root: &Path, folder: &Path, extensions: &[&str], found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["target", ".git", ".venv", "node_modules"].contains(&name.as_str()) {
                collect(root, &path, extensions, found);
            }
        } else if path.extension().is_some_and(|end| extensions.iter().any(|e| end == *e)) {
            let relative = path.strip_prefix(root).expect("below the root");
            let text = fs::read_to_string(&path).expect("text in UTF-8");
            found.push(Source { path: relative.to_string_lossy().replace('\\', "/"), text });
        }
    }
}
