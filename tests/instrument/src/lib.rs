//! A policy's source, compiled with a call before each access to memory: plain loads and stores by clang,
//! atomics by the macros of c/hooks.h.
//!
//! The object has a pointer for each call of `policy/platform.h` and for `rg_access`, which its loader
//! fills.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::Failure;
use tempfile::TempDir;

/// What is compiled.
#[derive(Clone, Debug)]
pub enum Source {
    /// The project's policies, with changes to the text of files of `policy/`: path, old text, new text.
    Ours(Vec<[&'static str; 3]>),
    /// A policy of one file.
    File(PathBuf),
}

/// What stands around the source in its translation unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame<'a> {
    /// Names of the calls that go by pointers.
    pub calls: &'a [&'a str],
    /// Further headers, by name.
    pub headers: &'a [(&'a str, &'a str)],
    /// C before `platform.h`.
    pub first: &'a str,
    /// C before the source.
    pub before: &'a str,
    /// C behind it.
    pub behind: &'a str,
}

/// A shared object, in a folder that goes with it.
pub struct Object {
    path: PathBuf,
    folder: TempDir,
}

impl Object {
    /// Compiles. [`Failure::Input`] with what the compiler says.
    pub fn new(source: &Source, frame: &Frame) -> Result<Object, Failure> {
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::Machine(format!("no folder for temporary files: {error}")))?;
        write(folder.path(), source, frame)?;
        let path = folder.path().join("policy.so");
        let mut command = clang();
        command.args(FLAGS).arg("-I").arg(folder.path()).arg("-o").arg(&path);
        run(command.arg(folder.path().join("unit.c")))?;
        Ok(Object { path, folder })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is mapped, once it is loaded.
    pub fn base(&self) -> Result<usize, Failure> {
        let maps = read(Path::new("/proc/self/maps"))?;
        let name = self.path.canonicalize().map_err(|error| input(&self.path, &error))?;
        let line = maps.lines().find(|line| line.ends_with(&*name.to_string_lossy()));
        line.and_then(|line| usize::from_str_radix(line.split('-').next()?, 16).ok())
            .ok_or_else(|| Failure::Run("the policy is not mapped".to_string()))
    }

    /// Lines of the source behind return addresses, counted from the base, asked of binutils at once.
    pub fn lines(&self, places: &[usize]) -> BTreeMap<usize, String> {
        let mut command = Command::new("addr2line");
        command.arg("-s").arg("-e").arg(&self.path);
        command.args(places.iter().map(|from| format!("{:#x}", from - 1)));
        let said = command.output().map(|output| output.stdout).unwrap_or_default();
        let lines = String::from_utf8_lossy(&said).into_owned();
        places.iter().copied().zip(lines.lines().map(str::to_string)).collect()
    }

    /// How clang lays out the types of the unit, as its `-fdump-record-layouts` prints them.
    pub fn layouts(&self) -> Result<String, Failure> {
        let mut command = clang();
        command.args(["-std=gnu11", "-fsyntax-only", "-Xclang", "-fdump-record-layouts-complete"]);
        command.arg("-I").arg(self.folder.path());
        run(command.arg(self.folder.path().join("unit.c")))
    }
}

/// As native.c is compiled, but by clang, which alone can report loads.
const FLAGS: [&str; 12] = [
    "-std=gnu11",
    "-O2",
    "-g",
    "-fPIC",
    "-shared",
    "-nostartfiles",
    "-Wl,-z,defs",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize-coverage=func,trace-pc,trace-loads,trace-stores",
    "-fno-sanitize-link-runtime",
];

fn clang() -> Command {
    Command::new(std::env::var("CLANG").unwrap_or_else(|_| "clang-19".to_string()))
}

/// What it prints.
fn run(command: &mut Command) -> Result<String, Failure> {
    let clang = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        Failure::Machine(format!("cannot run {clang}: {error}; apt-get install clang-19"))
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Input(format!("the policy does not compile:\n{}", said.trim_end())))
}

/// The folder of `policy/`, or of what tools/mutants has put in its place.
fn policy() -> PathBuf {
    match std::env::var_os("RG_MUTANT") {
        Some(object) => Path::new(&object).with_file_name(""),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policy"),
    }
}

fn write(folder: &Path, source: &Source, frame: &Frame) -> Result<(), Failure> {
    let name = match source {
        Source::Ours(changes) => {
            copy(&policy(), folder)?;
            changes.iter().try_for_each(|change| apply(folder, change))?;
            "scheduler.h".to_string()
        }
        Source::File(path) => {
            policy_native::compiles(path)?;
            for header in ["platform.h", "defaults.h"] {
                put(folder, header, &read(&policy().join(header))?)?;
            }
            let path = path.canonicalize().map_err(|error| input(path, &error))?;
            path.to_string_lossy().into_owned()
        }
    };
    put(folder, "hooks.h", include_str!("../c/hooks.h"))?;
    put(folder, "sizes.h", include_str!("../../../crates/core/policy-native/sizes.h"))?;
    frame.headers.iter().try_for_each(|(header, text)| put(folder, header, text))?;
    put(folder, "unit.c", &unit(&name, frame))
}

fn unit(name: &str, frame: &Frame) -> String {
    let pointer = |name: &&str| {
        format!(
            "__typeof__({name}) *{name}_call;\n#define {name}(...) (*{name}_call)(__VA_ARGS__)\n"
        )
    };
    let pointers: String = frame.calls.iter().map(pointer).collect();
    let Frame { first, before, behind, .. } = frame;
    format!(
        "{first}#include \"platform.h\"\n#include \"hooks.h\"\n{pointers}{before}#include \"{name}\"\n{behind}#include \"sizes.h\"\n"
    )
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(|error| input(to, &error))?;
    for entry in fs::read_dir(from).map_err(|error| input(from, &error))? {
        let path = entry.map_err(|error| input(from, &error))?.path();
        let target = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(|error| input(&path, &error))?;
        }
    }
    Ok(())
}

/// The old text must be there once: a fault that is planted nowhere would be found by no one.
fn apply(folder: &Path, [file, old, new]: &[&'static str; 3]) -> Result<(), Failure> {
    let text = read(&folder.join(file))?;
    let found = text.matches(old).count();
    if found != 1 {
        return Err(Failure::Input(format!(
            "policy/{file} has `{old}` {found} times: the planted fault needs it once, bring it up to date"
        )));
    }
    put(folder, file, &text.replace(old, new))
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| input(path, &error))
}

fn put(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    fs::write(folder.join(name), text).map_err(|error| input(&folder.join(name), &error))
}

fn input(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Input(format!("{}: {error}", path.display()))
}
