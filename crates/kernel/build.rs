//! Compiles the adapter with the policy to a BPF object, and binds it.

fn main() {
    println!("cargo::rerun-if-changed=../../policy");
    println!("cargo::rerun-if-changed=src/bpf");
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policy");
    let built = scx_cargo::BpfBuilder::new().and_then(|mut builder| {
        builder.add_include_path(policy).add_cflag("-Werror");
        builder.enable_skel("src/bpf/main.bpf.c", "bpf").build()
    });
    if let Err(error) = built {
        println!(
            "cargo::error=the kernel's policies do not compile: they need clang 18 or newer with the BPF target \
             (apt-get install clang-19), by any name or in BPF_CLANG; or build --no-default-features"
        );
        panic!("{error:?}");
    }
}
