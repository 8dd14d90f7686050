//! Dependencies point one way, and the folder of a crate says its layer.

use std::collections::BTreeMap;

/// The layers, the lowest first. Crates of one row may lean on each other only inside their own folder.
const LAYERS: &[&[&str]] = &[&["core"], &["arms", "analysis"], &["studies"], &["front"]];

/// Which folder of `crates/` each crate of ours is in, by the name of its package.
pub type Folders = BTreeMap<String, String>;

/// The folders of the crates whose manifests these are: (path, text) each.
pub fn folders<'a>(manifests: impl Iterator<Item = (&'a str, &'a str)>) -> Folders {
    manifests
        .filter_map(|(path, text)| Some((package(text), path.split('/').nth(1)?.to_string())))
        .collect()
}

/// Dependencies of a manifest that lead upwards or across, `tests` among them.
pub fn wrong_way(manifest: &str, folders: &Folders) -> Vec<String> {
    let name = package(manifest);
    let manifest = parsed(manifest);
    let listed = ["dependencies", "build-dependencies", "dev-dependencies"].iter();
    let keys =
        listed.filter_map(|key| manifest.get(*key)?.as_table()).flat_map(|table| table.keys());
    let own = &folders[&name];
    keys.filter_map(|dependency| Some((dependency, folders.get(dependency)?)))
        .filter(|(_, folder)| !may_lean(own, folder))
        .map(|(dependency, folder)| format!("{own}/{name} -> {folder}/{dependency}"))
        .collect()
}

/// Whether a module is a `mod.rs` in its folder and not a file beside it. What tests share has to be one:
/// cargo takes each file of `tests/` for a test.
pub fn is_inside_its_folder(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    parts.next() == Some("mod.rs") && parts.nth(1) != Some("tests")
}

fn may_lean(own: &str, on: &str) -> bool {
    own == on || layer(on) < layer(own)
}

fn layer(folder: &str) -> usize {
    LAYERS.iter().position(|row| row.contains(&folder)).expect("a layer of LAYERS")
}

fn package(manifest: &str) -> String {
    parsed(manifest)["package"]["name"].as_str().unwrap_or_default().to_string()
}

fn parsed(manifest: &str) -> toml::Table {
    manifest.parse().expect("a valid Cargo.toml")
}
