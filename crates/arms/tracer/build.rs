//! Compiles the hooks to a BPF object and binds it.

use scx_cargo::BpfBuilder;

const HOOKS: &str = "src/bpf/stages.bpf.c";

fn main() {
    println!("cargo::rerun-if-changed=src/bpf");
    let build = |mut builder: BpfBuilder| {
        builder.add_cflag("-Werror").add_cflag("-mcpu=v3").enable_skel(HOOKS, "stages").build()
    };
    if let Err(error) = BpfBuilder::new().and_then(build) {
        println!(
            "cargo::error=the hooks do not compile: they need clang 18 or newer with the BPF target \
             (apt-get install clang-19), by any name or in BPF_CLANG; or build --no-default-features"
        );
        panic!("{error:?}");
    }
}
