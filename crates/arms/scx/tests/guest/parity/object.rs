//! The policy's source, perhaps with a planted difference, compiled for this kernel.

use std::fs;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;
use tempfile::TempDir;

/// A difference to plant: in a file of the policy one text in place of another.
pub struct Planted {
    pub file: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

/// As the adapter in src/bpf is compiled.
const FLAGS: [&str; 4] = ["-mcpu=v4", "-Wall", "-Werror", "-Wno-compare-distinct-pointer-types"];

/// Before it the adapter has loops of another form (see src/code.rs).
const NEW_VERIFIER: (u32, u32) = (6, 15);

/// Compiled programs, in a folder that goes with them.
pub struct Object {
    folder: TempDir,
}

impl Object {
    /// Compiles the programs with the policy's source, or with a copy of it that differs, for a kernel.
    pub fn compile(planted: Option<&Planted>, kernel: (u32, u32)) -> Object {
        let folder = tempfile::tempdir().expect("a folder for the programs");
        let mut policy = root().join("../../../policy");
        if let Some(planted) = planted {
            let copy = folder.path().join("policy");
            copy_headers(&policy, &copy);
            plant(&copy, planted);
            policy = copy;
        }
        let object = Object { folder };
        object.build(&policy, kernel);
        object
    }

    /// The object file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("parity.bpf.o")
    }

    fn build(&self, policy: &Path, kernel: (u32, u32)) {
        let headers = concat!(env!("OUT_DIR"), "/scx_utils-bpf_h");
        let clang = std::env::var_os("BPF_CLANG").unwrap_or("clang".into());
        let folders = [format!("-I{headers}"), format!("-I{}", policy.display())];
        let old = (kernel < NEW_VERIFIER).then(|| "-DRG_OLD_VERIFIER".to_string());
        SkeletonBuilder::new()
            .source(root().join("tests/guest/parity/parity.bpf.c"))
            .obj(self.path())
            .clang(clang)
            .clang_args(FLAGS.map(str::to_string).into_iter().chain(folders).chain(old))
            .build()
            .unwrap_or_else(|error| panic!("the policy does not compile: {error:?}"));
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn copy_headers(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the policy").flatten() {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_headers(&path, &copy);
        } else {
            fs::copy(&path, &copy).expect("a copy");
        }
    }
}

fn plant(policy: &Path, Planted { file, from, to }: &Planted) {
    let path = policy.join(file);
    let text = fs::read_to_string(&path).expect("a file of the policy");
    assert!(text.contains(from), "{file} has no `{from}` any more: plant something else");
    fs::write(&path, text.replacen(from, to, 1)).expect("a changed copy");
}
