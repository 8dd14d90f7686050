//! Compiles the policy's C source for this machine.

fn main() {
    println!("cargo::rerun-if-changed=../../policy");
    println!("cargo::rerun-if-changed=native.c");
    cc::Build::new()
        .file("native.c")
        .include("../../policy")
        .flags(["-std=gnu11", "-Wall", "-Wextra", "-Werror"])
        .opt_level(2)
        .compile("rearguard_policy");
}
