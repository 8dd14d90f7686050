//! Dependencies point one way.

/// The floors of the house, the lowest first: a crate may lean only on crates of a lower floor.
pub const FLOORS: &[&[&str]] = &[
    &["model", "sched_ext", "columnar"],
    &["stats", "policy"],
    &["queue", "report", "trace", "check", "generator"],
    &["sim", "load", "lab", "kernel", "explain", "host"],
    &["compare", "vm"],
    &["cluster", "paper", "measure", "sweep"],
    &["rearguard", "python"],
];

/// The floor of a crate of ours.
pub fn floor(name: &str) -> Option<usize> {
    FLOORS.iter().position(|names| names.contains(&name))
}

/// Dependencies of a manifest that do not point down; a crate without a floor is a fault of its own.
pub fn upward(manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().expect("a valid Cargo.toml");
    let name = manifest["package"]["name"].as_str().unwrap_or_default();
    let Some(own) = floor(name) else {
        return vec![format!("{name} has no floor: add it to FLOORS and to ARCHITECTURE.md")];
    };
    let listed = ["dependencies", "build-dependencies"]
        .iter()
        .filter_map(|key| manifest.get(*key)?.as_table());
    let ours = listed
        .flat_map(|table| table.keys())
        .filter_map(|dependency| Some((dependency, floor(dependency)?)));
    ours.filter(|(_, floor)| *floor >= own)
        .map(|(dependency, _)| format!("{name} -> {dependency}"))
        .collect()
}
