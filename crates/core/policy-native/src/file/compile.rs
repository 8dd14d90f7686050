//! From a policy's source to a shared object, by the machine's C compiler.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fileio::Folder;
use model::Failure;

use super::source::Source;
use crate::file_options::FileOptions;
use crate::program::CALLBACKS;
use crate::shim::calls;

/// What stands behind a call's name in that of the pointer to it.
pub const SUFFIX: &str = "_call";

/// As native.c and policy/check-bpf are compiled.
const FLAGS: [&str; 10] = [
    "-std=gnu11",
    "-O2",
    "-g",
    "-fPIC",
    "-fno-common",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fdiagnostics-color=never",
    "-xc",
];

/// Bytes of what a compiler says that are shown.
const MOST_SAID: usize = 8 << 10;

/// A shared object, in a folder that goes with it.
pub struct Built(Folder);

impl Built {
    /// The file.
    pub fn path(&self) -> PathBuf {
        self.0.path().join("policy.so")
    }
}

/// Compiles a policy's source.
pub fn shared_object(source: &Source) -> Result<Built, Failure> {
    let folder = Folder::new().map_err(|error| {
        Failure::Machine(format!("no folder for temporary files: {error}; set TMPDIR to one"))
    })?;
    let shown = source.shown();
    let object = folder.path().join("policy.o");
    compile(source, folder.path(), &object)?;
    check_symbols(shown, &object)?;
    let built = Built(folder);
    let mut link = Command::new(compiler()?);
    // Without what the compiler would run at a load by itself, so that what is left is the policy's.
    link.args(["-shared", "-nostartfiles", "-Wl,-z,defs", "-o"]).arg(built.path()).arg(&object);
    link.current_dir(built.0.path());
    checked(shown, "link", &run(&mut link, b"")?)?;
    refuse_constructors(shown, &built.path())?;
    Ok(built)
}

/// `CC`, or what Debian calls any C compiler. It is started in another folder than this process's.
fn compiler() -> Result<PathBuf, Failure> {
    let named = std::env::var_os("CC").filter(|cc| !cc.is_empty());
    let named = named.map_or(PathBuf::from("cc"), PathBuf::from);
    if named.components().count() == 1 {
        return Ok(named);
    }
    std::path::absolute(named).map_err(|error| failed("find what CC names", &error))
}

/// The option that ends a compiler after 20 errors: each refuses the other's.
fn limit(compiler: &Path) -> Result<&'static str, Failure> {
    let version = run(Command::new(compiler).arg("--version"), b"")?;
    let is_clang = String::from_utf8_lossy(&version.stdout).contains("clang");
    Ok(if is_clang { "-ferror-limit=20" } else { "-fmax-errors=20" })
}

fn compile(source: &Source, folder: &Path, object: &Path) -> Result<(), Failure> {
    let compiler = compiler()?;
    let mut compile = Command::new(&compiler);
    compile.args(FLAGS).arg(limit(&compiler)?);
    compile.args(source.arguments(folder)?).arg("-c").arg("-o").arg(object).arg("-");
    let mut output = run(compile.current_dir(source.folder()), &unit(source))?;
    output.stderr = source.as_shown(&output.stderr).into_bytes();
    checked(source.shown(), "compile", &output)?;
    source.check_headers(folder)
}

/// The translation unit: every call of platform.h goes by a pointer, so that nothing depends on what this
/// executable exports. Function-like macros leave `struct rg_thread` alone beside `rg_thread()`. Headers of
/// this crate's are never looked for beside the policy.
fn unit(source: &Source) -> Vec<u8> {
    let pointer = |(name, _): (&str, *const ())| {
        format!(
            "__typeof__({name}) *{name}{SUFFIX};\n#define {name}(...) (*{name}{SUFFIX})(__VA_ARGS__)\n"
        )
    };
    let pointers: String = calls().map(pointer).collect();
    // The project's own have more options, and are told them otherwise.
    let options = format!(
        "_Static_assert(sizeof(struct rg_options) == {}, \"expected the rg_options of defaults.h\");\n",
        size_of::<FileOptions>()
    );
    let first = format!("#include <platform.h>\n{pointers}");
    let last = format!("#line 1 \"rearguard\"\n#include <sizes.h>\n{options}");
    [first.into_bytes(), source.spliced(), last.into_bytes()].concat()
}

/// A variable of the policy's own would be shared by simulations that run side by side; a callback that is
/// missing is better said before the link.
fn check_symbols(path: &str, object: &Path) -> Result<(), Failure> {
    let symbols = run(Command::new("nm").arg("--format=posix").arg(object), b"")?;
    let text = String::from_utf8_lossy(&symbols.stdout).into_owned();
    let symbols = text.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?))
    });
    let is_variable =
        |(name, kind): &(&str, &str)| !name.ends_with(SUFFIX) && "bBdDC".contains(kind);
    if let Some((name, _)) = symbols.clone().find(is_variable) {
        let name = name.split('.').next().unwrap_or_default();
        return Err(Failure::Input(format!(
            "policy {path}: it has a variable of its own, `{name}`; keep it in a struct (rg_shared for all of a run), or make it const"
        )));
    }
    let is_there = |name: &&&str| symbols.clone().any(|symbol| symbol == (**name, "T"));
    match CALLBACKS.iter().find(|name| !is_there(name)) {
        Some(name) => Err(lacks(path, name)),
        None => Ok(()),
    }
}

/// Refuses code that runs when the object is loaded: the dynamic linker calls what these tags, relocations
/// and symbols name, and nothing else.
fn refuse_constructors(path: &str, object: &Path) -> Result<(), Failure> {
    let said = run(
        Command::new("readelf").args(["--wide", "--dynamic", "--relocs", "--syms"]).arg(object),
        b"",
    )?;
    checked(path, "link", &said)?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let runs = |line: &&str| {
        ["INIT", "FINI", "PREINIT"].iter().any(|tag| line.contains(&format!("({tag}")))
            || line.contains("IRELATIV")
            || line.contains(" IFUNC ")
    };
    match text.lines().find(runs) {
        None => Ok(()),
        Some(_) => Err(Failure::Input(format!(
            "policy {path}: it has a constructor, destructor or ifunc, which would run when it is loaded: take it out"
        ))),
    }
}

/// A callback is missing.
fn lacks(path: &str, name: &str) -> Failure {
    Failure::Input(format!(
        "policy {path}: it lacks the callback {name}: write it, or say RG_WITHOUT(...) as in `rearguard new-policy`"
    ))
}

fn run(command: &mut Command, input: &[u8]) -> Result<Output, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    fileio::output(command, input).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::Machine(format!(
            "a policy in a file needs a C compiler, and there is no `{name}`: apt-get install gcc, or set CC"
        )),
        _ => failed(&name, &error),
    })
}

fn checked(path: &str, what: &str, output: &Output) -> Result<(), Failure> {
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Input(format!("policy {path} does not {what}:\n{}", shortened(said.trim_end()))))
}

/// The first of what was said: one error may be as long as its line.
fn shortened(said: &str) -> String {
    match said.floor_char_boundary(MOST_SAID) {
        end if end < said.len() => format!("{}\n... and more", &said[..end]),
        _ => said.to_string(),
    }
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::Machine(format!("cannot {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said_of(content: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.c");
        std::fs::write(&path, content).expect("room");
        let refused = shared_object(&Source::read(&path).expect("ours")).err();
        refused.expect("no policy").to_string()
    }

    #[test]
    fn a_compiler_says_no_more_than_can_be_read() {
        let many: String =
            (0..1_000).map(|at| format!("int f{at}(void) {{ return a; }}\n")).collect();
        let said = said_of(&many);
        assert!(said.contains("mine.c:1:") && !said.contains("mine.c:30:"), "{said}");
        let long = said_of(&format!("int f(void) {{ return {}; }}\n", "x".repeat(MOST_SAID)));
        assert!(long.len() < MOST_SAID + 200 && long.ends_with("... and more"), "{long}");
        let one = said_of("int f(void) { return a; }\n");
        assert!(one.contains("mine.c:1:") && !one.contains("and more"), "the control: {one}");
    }
}
