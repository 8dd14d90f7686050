//! Compiles the policy's C source for this machine, and reads its table of options.

#[path = "build/table.rs"]
mod table;

use std::path::Path;
use std::{env, fs};

const TABLE: &str = "../../../policy/policies.def";

fn main() {
    let text = fs::read_to_string(TABLE).expect("the table of policies");
    let out = env::var("OUT_DIR").expect("cargo names it");
    fs::write(Path::new(&out).join("table.rs"), table::generate(&text)).expect("a place to build");
    println!("cargo::rerun-if-changed=../../../policy");
    println!("cargo::rerun-if-changed=native.c");
    let mut build = cc::Build::new();
    if env::var_os("CARGO_FEATURE_SHARED_OBJECT").is_some() {
        build.define("RG_SHARED_OBJECT", None);
    }
    build
        .file("native.c")
        .include("../../../policy")
        .flags(["-std=gnu11", "-Wall", "-Wextra", "-Werror"])
        .opt_level(2)
        .compile("rearguard_policy");
}
