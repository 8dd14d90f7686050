//! Compiles the policy's C source for this machine.

fn main() {
    println!("cargo::rerun-if-changed=../../../policy");
    println!("cargo::rerun-if-changed=native.c");
    let mut build = cc::Build::new();
    if std::env::var_os("CARGO_FEATURE_SHARED_OBJECT").is_some() {
        build.define("RG_SHARED_OBJECT", None);
    }
    build
        .file("native.c")
        .include("../../../policy")
        .flags(["-std=gnu11", "-Wall", "-Wextra", "-Werror"])
        .opt_level(2)
        .compile("rearguard_policy");
}
