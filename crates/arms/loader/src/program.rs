//! The program itself.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::Failure;

/// What it is called.
pub const NAME: &str = "scx_rearguard";

/// Where it is: beside this executable, else in PATH.
pub fn find() -> Result<PathBuf, Failure> {
    let own = env::current_exe().ok().and_then(|own| Some(own.parent()?.to_path_buf()));
    in_folders(own, NAME).ok_or_else(|| {
        Failure::Machine(format!(
            "{NAME}, which loads policies into kernels, is neither beside this program nor in PATH: install the \
             package, or build it with `cargo build --release --package {NAME}`"
        ))
    })
}

/// A program in `first`, else in PATH.
pub(crate) fn in_folders(first: Option<PathBuf>, name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let absolute = env::split_paths(&path).filter(|folder| folder.is_absolute());
    let mut programs = first.into_iter().chain(absolute).map(|folder| folder.join(name));
    programs.find(|program| program.is_file())
}

/// The programs of a policy in a file, for a machine without a compiler.
///
/// [`Failure::Input`] where the file is not a policy, with what the compiler says; [`Failure::Machine`]
/// without compilers.
pub fn compile(policy: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: std::io::Error| Failure::Run(format!("{NAME}: {error}"));
    let folder = fileio::Folder::new().map_err(failed)?;
    let object = folder.path().join("policy.bpf.o");
    let output = Command::new(find()?).arg("--compile").arg(&object).arg(policy).output();
    let output = output.map_err(failed)?;
    if output.status.success() {
        return fs::read(object).map_err(failed);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim_end().trim_start_matches(&format!("{NAME}: ")).to_string();
    let code = output.status.code().and_then(|code| code.try_into().ok());
    Err(Failure::of(code.unwrap_or(1), said))
}
