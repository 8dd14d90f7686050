//! Compiles to a BPF object, and binds, the adapter with the policy; does so for old kernels; and packs the
//! adapter for policies in files.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::{Compression, write::GzEncoder};
use libbpf_rs::Linker;
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
        bind().and_then(|()| Ok(free(Path::new(&out))?)).and_then(|()| beside(Path::new(&out)));
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

/// What is compiled beside the object that the bindings know.
fn beside(out: &Path) -> anyhow::Result<()> {
    let compiler = Compiler::new(out)?;
    compiler.old()?;
    compiler.adapter()
}

/// What compiles objects and texts beside the bindings' own.
struct Compiler<'a> {
    out: &'a Path,
    clang: ClangInfo,
    flags: Vec<String>,
    target: String,
}

impl Compiler<'_> {
    /// With libbpf's headers, and the kernel's types where the bindings have put them.
    fn new(out: &Path) -> anyhow::Result<Compiler<'_>> {
        let clang = ClangInfo::new()?;
        let flags = clang.determine_base_cflags()?;
        let target = format!("-D__SCX_TARGET_ARCH_{}", clang.kernel_target()?);
        fs::create_dir_all(out.join("headers/bpf"))?;
        for (name, text) in API_HEADERS {
            fs::write(out.join("headers/bpf").join(name), text)?;
        }
        Ok(Compiler { out, clang, flags, target })
    }

    /// clang on the adapter. `first` is looked through before all other folders.
    fn run(&self, args: &[&str], first: Option<&Path>) -> anyhow::Result<Vec<u8>> {
        let kernel = self.out.join("scx_utils-bpf_h");
        let includes = [
            self.out.join("headers"),
            "../../../policy".into(),
            kernel.join("arch").join(self.clang.kernel_target()?),
            kernel.clone(),
            kernel.join("bpf-compat"),
        ];
        let includes = first.into_iter().chain(includes.iter().map(PathBuf::as_path));
        let mut command = Command::new(&self.clang.clang);
        command.args(["-target", "bpf"]).args(&self.flags).arg(&self.target).args(args);
        command.args(includes.map(|path| format!("-I{}", path.display()))).arg(ADAPTER);
        let done = command.output()?;
        anyhow::ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Ok(done.stdout)
    }

    /// The project's policies for an old verifier: the same programs and maps.
    fn old(&self) -> anyhow::Result<()> {
        let [compiled, linked] = ["whole.bpf.o", "old.bpf.o"].map(|name| self.out.join(name));
        let place = compiled.display().to_string();
        self.run(&["-DRG_OLD_VERIFIER", "-Werror", "-c", "-o", &place], None)?;
        // Leaves out what only debuggers read.
        let mut linker = Linker::new(&linked)?;
        linker.add_file(&compiled)?;
        linker.link()?;
        self.pack("old.bpf.o.gz", &fs::read(linked)?)
    }

    /// The adapter with all that it includes but a policy, as one text; and how it is compiled.
    fn adapter(&self) -> anyhow::Result<()> {
        let folder = self.out.join("packing");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("state.h"), PLACE)?;
        fs::write(folder.join("scheduler.h"), VERSIONED)?;
        fs::write(folder.join("vmlinux.h"), ONCE)?;
        let expanded = self.run(&["-E", "-frewrite-includes"], Some(&folder))?;
        self.pack("adapter.c.gz", &expanded)?;
        let is_include =
            |flag: &&String| !flag.contains("include") && !flag.starts_with("-idirafter");
        let flags = self.flags.iter().filter(is_include).chain([&self.target]);
        let flags: Vec<&str> = flags.map(String::as_str).collect();
        fs::write(self.out.join("flags"), flags.join("\n"))?;
        Ok(())
    }

    fn pack(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let mut packed = GzEncoder::new(File::create(self.out.join(name))?, Compression::best());
        packed.write_all(bytes)?;
        packed.finish()?;
        Ok(())
    }
}
