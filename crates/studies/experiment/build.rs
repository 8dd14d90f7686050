//! Digests of the sources that results depend on: a result that other sources made is not taken for theirs.

use std::path::Path;

mod digest;
#[path = "src/kinds.rs"]
mod kinds;

/// What a simulated result is made by beside the policy, from the project's folder.
const SIMULATOR: [&str; 10] = [
    "crates/core/columnar/src",
    "crates/analysis/compare/src",
    "crates/analysis/explain/src",
    "crates/analysis/figures/src",
    "crates/core/model/src",
    "crates/core/policy-native/src",
    "crates/analysis/queue/src",
    "crates/analysis/report/src/tables",
    "crates/arms/sim/src",
    "crates/analysis/stats/src",
];
/// What stands between a policy and a real kernel.
const ADAPTER: [&str; 1] = ["crates/arms/scx/src/bpf"];
/// Options are part of a result's name by their values, wherever these come from.
const OPTIONS: &str = "options.rs";

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let root = Path::new(&root).join("../../..");
    let policy = root.join("policy");
    for source in SIMULATOR.iter().chain(&ADAPTER).chain(&["policy"]) {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    let compiler = || cc::Build::new().get_compiler().to_command();
    let of_kind = |kind: &[&str; 4]| {
        let fixed: Vec<_> = digest::SWITCHES.into_iter().zip(*kind).collect();
        digest::code(&policy, &fixed, compiler())
    };
    let codes: Vec<String> = kinds::KINDS.iter().map(of_kind).collect();
    for (name, value) in [
        ("SIMULATOR", digest::files(&root, &SIMULATOR, OPTIONS)),
        ("ADAPTER", digest::files(&root, &ADAPTER, "")),
        ("ANY_CODE", digest::code(&policy, &[], compiler())),
        ("CODES", codes.join(" ")),
    ] {
        println!("cargo::rustc-env={name}={value}");
    }
}
