//! Compiles to a BPF object, and binds, the adapter with the policy; and packs the adapter for policies in
//! files.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::Command;

use flate2::{Compression, write::GzEncoder};
use libbpf_rs::libbpf_sys::API_HEADERS;
use scx_cargo::{BpfBuilder, ClangInfo};

const ADAPTER: &str = "src/bpf/main.bpf.c";
/// Where a policy's source belongs in the packed adapter.
const PLACE: &str = "#pragma rearguard policy\n";
/// The bindings look for the map of the kernel's version, which is there only where code asks; not every
/// policy makes the adapter ask.
const VERSIONED: &str = "static __always_inline s32 rg_init_versioned(void)
{
	return LINUX_KERNEL_VERSION ? rg_init() : -1;
}
#define rg_init rg_init_versioned
";
/// The kernel's types stand in the pack once: what is included again is expanded again, though for nothing.
const ONCE: &str = "#pragma once\n#include_next <vmlinux.h>\n";

fn main() {
    println!("cargo::rerun-if-changed=../../../policy");
    println!("cargo::rerun-if-changed=src/bpf");
    let out = std::env::var("OUT_DIR").expect("cargo names it");
    let built =
        bind().and_then(|()| Ok(free(Path::new(&out))?)).and_then(|()| pack(Path::new(&out)));
    if let Err(error) = built {
        println!(
            "cargo::error=the kernel's policies do not compile: they need clang 18 or newer with the BPF target \
             (apt-get install clang-19), by any name or in BPF_CLANG; or build --no-default-features"
        );
        panic!("{error:?}");
    }
}

fn bind() -> anyhow::Result<()> {
    // Not env!, which in a copied target folder is the place of the original.
    let policy = format!("{}/../../../policy", std::env::var("CARGO_MANIFEST_DIR")?);
    let mut builder = BpfBuilder::new()?;
    builder.add_include_path(&policy).add_cflag("-Werror");
    builder.enable_skel(ADAPTER, "bpf").build()
}

/// Bindings know one object by heart. A policy in a file is another one with the same programs and maps.
fn free(out: &Path) -> io::Result<()> {
    let bindings = out.join("bpf_skel.rs");
    let text = fs::read_to_string(&bindings)?;
    let [own, any] = ["Builder::new(&DATA)", "Builder::new(crate::code::chosen(&DATA))"];
    if !text.contains(own) {
        return Err(io::Error::new(ErrorKind::NotFound, format!("bindings without {own}")));
    }
    fs::write(bindings, text.replace(own, any))
}

/// The adapter with all that it includes but a policy, as one text; and how it is compiled.
fn pack(out: &Path) -> anyhow::Result<()> {
    let clang = ClangInfo::new()?;
    let flags = clang.determine_base_cflags()?;
    let folder = out.join("packing");
    fs::create_dir_all(folder.join("bpf"))?;
    for (name, text) in API_HEADERS {
        fs::write(folder.join("bpf").join(name), text)?;
    }
    fs::write(folder.join("state.h"), PLACE)?;
    fs::write(folder.join("scheduler.h"), VERSIONED)?;
    fs::write(folder.join("vmlinux.h"), ONCE)?;
    let target = format!("-D__SCX_TARGET_ARCH_{}", clang.kernel_target()?);
    let kernel = out.join("scx_utils-bpf_h");
    let includes = [
        folder.clone(),
        "../../../policy".into(),
        kernel.join("arch").join(clang.kernel_target()?),
        kernel.clone(),
        kernel.join("bpf-compat"),
    ];
    let mut expand = Command::new(&clang.clang);
    expand.args(["-E", "-frewrite-includes", "-target", "bpf"]).args(&flags).arg(&target);
    expand.args(includes.iter().map(|path| format!("-I{}", path.display()))).arg(ADAPTER);
    let expanded = expand.output()?;
    anyhow::ensure!(expanded.status.success(), "{}", String::from_utf8_lossy(&expanded.stderr));
    let mut packed = GzEncoder::new(File::create(out.join("adapter.c.gz"))?, Compression::best());
    packed.write_all(&expanded.stdout)?;
    packed.finish()?;
    let is_include = |flag: &&String| !flag.contains("include") && !flag.starts_with("-idirafter");
    let flags: Vec<String> = flags.iter().filter(is_include).cloned().chain([target]).collect();
    fs::write(out.join("flags"), flags.join("\n"))?;
    Ok(())
}
