//! The policy's source, compiled with a call before each access to memory, and loaded.

use std::ffi::c_void;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::Library;
use model::Failure;
use tempfile::TempDir;

use crate::seam;

/// What is compiled.
#[derive(Clone, Debug)]
pub enum Source {
    /// The project's policies, with changes to the text of files of `policy/`: path, old text, new text.
    Ours(Vec<[&'static str; 3]>),
    /// A policy of one file.
    File(PathBuf),
}

macro_rules! callbacks {
    ($($name:ident: fn($($kind:ty),*) $(-> $result:ty)?;)*) => {
        /// The callbacks of `policy/platform.h`.
        #[allow(missing_docs)]
        pub struct Callbacks { $(pub $name: extern "C" fn($($kind),*) $(-> $result)?,)* }

        impl Callbacks {
            /// # Safety
            /// The library was compiled from platform.h's declarations and stays loaded.
            unsafe fn of(library: &Library) -> Result<Callbacks, Failure> {
                Ok(Callbacks {
                    // SAFETY: the type is that of the declaration.
                    $($name: unsafe { symbol(library, stringify!($name))? },)*
                })
            }
        }
    };
}

callbacks! {
    rg_init: fn() -> i32;
    rg_init_group: fn(u32, u32, u32);
    rg_init_thread: fn(*mut c_void, u32) -> i32;
    rg_move_thread_group: fn(*mut c_void, u32);
    rg_select_cpu: fn(*mut c_void, i32, u64) -> i32;
    rg_enqueue: fn(*mut c_void, u64);
    rg_dispatch: fn(i32, *mut c_void);
    rg_tick: fn(*mut c_void);
    rg_stopping: fn(*mut c_void, bool);
    rg_idle: fn(i32);
    rg_exit_thread: fn(*mut c_void);
}

/// The first rule that a queue's index breaks (`enum rg_fault` of c/probe.h).
pub type Probe = extern "C" fn(u32, u32, bool) -> u32;

/// Loaded code.
pub struct Code {
    /// What a kernel calls.
    pub callbacks: Callbacks,
    /// Of the state's types and the options, as `sizes.h` has them.
    pub sizes: [u64; 9],
    /// What looks at the index; our policies have one.
    pub probe: Option<Probe>,
    /// The queue where a thread waits as the policy knows, plus 1.
    pub waits: Option<extern "C" fn(u32) -> u32>,
    /// Where the code is in memory.
    pub base: usize,
    /// The shared object.
    pub object: PathBuf,
    _library: Library,
    _folder: TempDir,
}

impl Code {
    /// Compiles and loads. [`Failure::Input`] with what the compiler says.
    pub fn new(source: &Source) -> Result<Code, Failure> {
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::Machine(format!("no folder for temporary files: {error}")))?;
        write(folder.path(), source)?;
        let object = folder.path().join("policy.so");
        compile(folder.path(), &object)?;
        load(folder, object, matches!(source, Source::Ours(_)))
    }
}

/// The folder of `policy/`.
fn policy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policy")
}

fn write(folder: &Path, source: &Source) -> Result<(), Failure> {
    let (name, probe) = match source {
        Source::Ours(changes) => {
            copy(&policy(), folder)?;
            changes.iter().try_for_each(|change| apply(folder, change))?;
            ("scheduler.h".to_string(), "#include \"probe.h\"\n")
        }
        Source::File(path) => {
            policy_native::compiles(path)?;
            for header in ["platform.h", "defaults.h"] {
                put(folder, header, &read(&policy().join(header))?)?;
            }
            let path = path.canonicalize().map_err(|error| input(path, &error))?;
            (path.to_string_lossy().into_owned(), "")
        }
    };
    for (header, text) in [
        ("hooks.h", include_str!("../c/hooks.h")),
        ("probe.h", include_str!("../c/probe.h")),
        ("sizes.h", include_str!("../../../crates/core/policy-native/sizes.h")),
    ] {
        put(folder, header, text)?;
    }
    let pointer = |name: &str| {
        format!(
            "__typeof__({name}) *{name}_call;\n#define {name}(...) (*{name}_call)(__VA_ARGS__)\n"
        )
    };
    let pointers: String = seam::CALLS.iter().map(|(name, _)| pointer(name)).collect();
    let unit = format!(
        "#include \"platform.h\"\n#include \"hooks.h\"\n{pointers}#include \"{name}\"\n{probe}#include \"sizes.h\"\n"
    );
    put(folder, "unit.c", &unit)
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
            "policy/{file} has `{old}` {found} times: the planted fault needs it once, bring planted.rs up to date"
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

/// As native.c is compiled, but by clang, which alone can report loads.
fn compile(folder: &Path, object: &Path) -> Result<(), Failure> {
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang-19".to_string());
    let mut command = Command::new(&clang);
    command
        .args(["-std=gnu11", "-O2", "-g", "-fPIC", "-shared", "-nostartfiles", "-Wl,-z,defs"])
        .args(["-Wall", "-Wextra", "-Werror", "-Wno-shadow"])
        .arg("-fsanitize-coverage=func,trace-pc,trace-loads,trace-stores")
        .arg("-fno-sanitize-link-runtime")
        .arg("-I")
        .arg(folder)
        .arg("-o")
        .arg(object)
        .arg(folder.join("unit.c"));
    let output = command.output().map_err(|error| {
        Failure::Machine(format!("cannot run {clang}: {error}; apt-get install clang-19"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Input(format!("the policy does not compile:\n{}", said.trim_end())))
}

/// # Safety
/// `T` is the type of the symbol.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, Failure> {
    // SAFETY: the caller's.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    found.map(|symbol| *symbol).map_err(|_| Failure::Input(format!("the policy lacks {name}")))
}

fn load(folder: TempDir, object: PathBuf, probes: bool) -> Result<Code, Failure> {
    // SAFETY: the object has no constructor: it is linked without start files, and files of users are
    // checked by `policy_native::compiles`.
    let library = unsafe { Library::new(&object) }
        .map_err(|error| Failure::Run(format!("cannot load the policy: {error}")))?;
    for &(name, call) in seam::CALLS.iter().chain(&[("rg_access", seam::ACCESS)]) {
        // SAFETY: the unit defines a pointer of that name for each call, and nothing else writes it.
        unsafe { *symbol::<*mut *const ()>(&library, &format!("{name}_call"))? = call };
    }
    // SAFETY: the unit was compiled from platform.h, sizes.h and probe.h, whose types these are.
    unsafe {
        let callbacks = Callbacks::of(&library)?;
        let sizes = *symbol::<*const [u64; 9]>(&library, "rg_native_sizes")?;
        let probe = probes.then(|| symbol(&library, "rg_probe")).transpose()?;
        let waits = probes.then(|| symbol(&library, "rg_probe_waits")).transpose()?;
        let base = base(&object)?;
        Ok(Code {
            callbacks,
            sizes,
            probe,
            waits,
            base,
            object,
            _library: library,
            _folder: folder,
        })
    }
}

/// Where the object is mapped.
fn base(object: &Path) -> Result<usize, Failure> {
    let maps = read(Path::new("/proc/self/maps"))?;
    let name = object.canonicalize().map_err(|error| input(object, &error))?;
    let line = maps.lines().find(|line| line.ends_with(&*name.to_string_lossy()));
    line.and_then(|line| usize::from_str_radix(line.split('-').next()?, 16).ok())
        .ok_or_else(|| Failure::Run("the policy is not mapped".to_string()))
}
