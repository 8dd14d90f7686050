//! What is installed is taken away again.

use std::fs;

use rules::sources::root;

/// Folders that services keep state in, by the names in their units.
fn state_folders() -> Vec<String> {
    let units = fs::read_dir(root().join("packaging")).expect("packaging").flatten();
    let units = units.map(|entry| entry.path());
    let units = units.filter(|path| path.extension().is_some_and(|end| end == "service"));
    let texts = units.map(|path| fs::read_to_string(path).expect("a unit"));
    let folder = |line: &str| Some(format!("/var/lib/{}", line.strip_prefix("StateDirectory=")?));
    texts.flat_map(|text| text.lines().filter_map(folder).collect::<Vec<_>>()).collect()
}

#[test]
fn a_purge_leaves_no_state() {
    let script = fs::read_to_string(root().join("packaging/debian/postrm")).expect("postrm");
    let removes = |folder: &str| {
        let mut removals = script.lines().filter_map(|line| line.trim().strip_prefix("rm -rf "));
        removals.any(|folders| folders.split(' ').any(|one| one == folder))
    };
    assert!(removes("/var/lib/rearguard"), "the control: journals");
    let services = state_folders();
    assert!(!services.is_empty(), "the control: a service keeps requests");
    services.iter().for_each(|folder| assert!(removes(folder), "{folder} stays"));
}
