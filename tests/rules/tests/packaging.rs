//! What is installed is taken away again.

use std::fs;

use rules::sources::root;

/// Folders that services leave behind, by the names in their units.
fn left_folders() -> Vec<String> {
    let units = fs::read_dir(root().join("packaging")).expect("packaging").flatten();
    let units = units.map(|entry| entry.path());
    let units = units.filter(|path| path.extension().is_some_and(|end| end == "service"));
    let texts = units.map(|path| fs::read_to_string(path).expect("a unit"));
    texts.flat_map(|text| text.lines().flat_map(folders).collect::<Vec<_>>()).collect()
}

fn folders(line: &str) -> Vec<String> {
    let kinds = [("StateDirectory=", "/var/lib"), ("RuntimeDirectory=", "/run")];
    let named = kinds.into_iter().find_map(|(key, at)| Some((at, line.strip_prefix(key)?)));
    let Some((at, names)) = named else { return Vec::new() };
    names.split(' ').map(|name| format!("{at}/{name}")).collect()
}

#[test]
fn a_purge_leaves_no_state() {
    let script = fs::read_to_string(root().join("packaging/debian/postrm")).expect("postrm");
    let removes = |folder: &str| {
        let removal = |line: &&str| line.starts_with("rm -rf ") || line.starts_with("rmdir ");
        let mut removals = script.lines().map(str::trim).filter(removal);
        removals.any(|line| line.split(' ').any(|one| one == folder))
    };
    assert!(removes("/var/lib/rearguard"), "the control: journals");
    let services = left_folders();
    for kept in ["/var/lib/rearguard-watch", "/run/scx/root"] {
        assert!(services.iter().any(|folder| folder == kept), "the control: {kept} is kept");
    }
    services.iter().for_each(|folder| assert!(removes(folder), "{folder} stays"));
}
