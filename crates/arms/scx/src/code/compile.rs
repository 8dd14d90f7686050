//! From a policy's source to BPF programs, by the machine's clang.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;
use model::Failure;
use policy_native::Source;

/// The adapter with all that it includes but the policy, packed by the build, and the flags that it is
/// compiled with.
const ADAPTER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/adapter.c.gz"));
const FLAGS: &str = include_str!(concat!(env!("OUT_DIR"), "/flags"));
/// Where the policy belongs in it.
const PLACE: &str = "#pragma rearguard policy\n";

/// Debian's clang goes by its version; older ones lack instructions that the adapter needs.
const CLANGS: [&str; 6] = ["clang", "clang-22", "clang-21", "clang-20", "clang-19", "clang-18"];

/// Compiles a policy with the adapter. It is compiled natively first, which finds the same faults and names
/// them better.
pub fn object(path: &Path) -> Result<Vec<u8>, Failure> {
    let source = policy_native::compiles(path)?;
    let clang = clang()?;
    let folder = tempfile::tempdir().map_err(|error| failed("make a folder", &error))?;
    let object = folder.path().join("policy.bpf.o");
    let mut compile = Command::new(clang);
    compile.args(["-target", "bpf", "-w", "-fno-color-diagnostics", "-xc", "-"]);
    compile.args(FLAGS.lines()).args(source.arguments(folder.path())?);
    if super::has_old_verifier() {
        compile.arg("-DRG_OLD_VERIFIER");
    }
    compile.arg("-c").arg("-o").arg(&object).current_dir(source.folder());
    run(&mut compile, &unit(&source)?, &source)?;
    source.check_headers(folder.path())?;
    fs::read(&object).map_err(|error| failed("read what was compiled", &error))
}

/// The translation unit. Tables of the policy's own go into a section of their own, because the bindings know
/// by heart where the adapter's constants are in theirs.
fn unit(source: &Source) -> Result<Vec<u8>, Failure> {
    let mut adapter = String::new();
    GzDecoder::new(ADAPTER)
        .read_to_string(&mut adapter)
        .map_err(|error| failed("unpack the adapter", &error))?;
    let section = |name| format!("#pragma clang section rodata=\"{name}\"\n");
    let (before, behind) = adapter.split_once(PLACE).expect("the build has put it there");
    let [own, adapters] = [".rodata.policy", ""].map(section);
    let parts = [
        before.as_bytes(),
        own.as_bytes(),
        &source.spliced(),
        adapters.as_bytes(),
        behind.as_bytes(),
    ];
    Ok(parts.concat())
}

/// `BPF_CLANG`, or the first clang here that compiles BPF.
fn clang() -> Result<String, Failure> {
    if let Some(named) = std::env::var("BPF_CLANG").ok().filter(|name| !name.is_empty()) {
        return from_anywhere(named);
    }
    let fits = |name: &&&str| {
        let targets = Command::new(name).arg("--print-targets").output();
        targets.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("bpf"))
    };
    let found = CLANGS.iter().find(fits).map(|name| name.to_string());
    found.ok_or_else(|| {
        Failure::Machine(
            "a policy in a file needs clang 18 or newer with the BPF target before a kernel can have it: apt-get install clang-19, \
             or name one in BPF_CLANG"
                .to_string(),
        )
    })
}

/// A program that can be started in another folder than this process's.
fn from_anywhere(program: String) -> Result<String, Failure> {
    if !program.contains('/') {
        return Ok(program);
    }
    let whole = std::path::absolute(&program).map_err(|error| failed("find clang", &error))?;
    Ok(whole.display().to_string())
}

fn run(compile: &mut Command, unit: &[u8], source: &Source) -> Result<(), Failure> {
    let piped = compile.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::Machine(format!(
            "there is no `{}`, which BPF_CLANG names",
            compile.get_program().to_string_lossy()
        )),
        _ => failed("start clang", &error),
    })?;
    // A compiler that ends early says why itself.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(unit));
    let output = child.wait_with_output().map_err(|error| failed("run clang", &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = source.as_shown(&output.stderr);
    let path = source.shown();
    Err(Failure::Input(format!("policy {path} does not compile as BPF:\n{}", said.trim_end())))
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::Machine(format!("cannot {what}: {error}"))
}
