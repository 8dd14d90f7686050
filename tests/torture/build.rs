//! Compiles the program whose leader exits first: Rust's main thread cannot.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=src/leader.c");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("leader");
    let mut command = cc::Build::new().opt_level(1).get_compiler().to_command();
    command.args(["src/leader.c", "-pthread", "-o"]).arg(&out);
    let status = command.status().expect("the C compiler runs");
    assert!(status.success(), "the C compiler failed: {command:?}");
}
