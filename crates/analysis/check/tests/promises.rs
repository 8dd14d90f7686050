//! The tables of promises know the policies that there are.

use check::promises::names;

#[test]
fn every_policy_behind_the_seam_has_its_promises() {
    let known: Vec<&str> = names().collect();
    for (name, _) in policy_native::policies() {
        assert!(known.contains(&name), "{name}");
    }
}
