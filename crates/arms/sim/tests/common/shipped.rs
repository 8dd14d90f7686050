//! The shipped scenarios, cut short.
#![allow(dead_code)]

use std::path::Path;

use model::{Nanos, Scenario};

/// How long each warms up.
pub const WARM_UP: Nanos = Nanos::from_millis(20);
/// How long each is measured.
pub const DURATION: Nanos = Nanos::from_millis(200);

/// All of them.
pub fn cut_short() -> Vec<Scenario> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let folder =
        above.map(|folder| folder.join("scenarios")).find(|folder| folder.is_dir()).unwrap();
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 11, "{files:?}");
    let read = |file: &std::path::PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        let scenario = Scenario::read(&text, &file.to_string_lossy()).unwrap();
        Scenario { warm_up: WARM_UP, duration: DURATION, ..scenario }
    };
    files.iter().map(read).collect()
}
