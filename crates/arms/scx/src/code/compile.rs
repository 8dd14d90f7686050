//! From a policy's source to BPF programs, by the machine's clang.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;
use model::Failure;

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
    policy_native::compiles(path)?;
    let clang = clang()?;
    let folder = tempfile::tempdir().map_err(|error| failed("make a folder", &error))?;
    for (name, text) in policy_native::HEADERS {
        fs::write(folder.path().join(name), text)
            .map_err(|error| failed("write headers", &error))?;
    }
    let whole = path.canonicalize().map_err(|error| failed("find the policy", &error))?;
    let object = folder.path().join("policy.bpf.o");
    let mut compile = Command::new(clang);
    compile.args(["-target", "bpf", "-w", "-fno-color-diagnostics", "-xc", "-"]);
    compile.args(FLAGS.lines()).arg("-I").arg(folder.path()).arg("-c").arg("-o").arg(&object);
    run(&mut compile, &unit(&whole)?, path)?;
    fs::read(&object).map_err(|error| failed("read what was compiled", &error))
}

/// The translation unit. Tables of the policy's own go into a section of their own, because the bindings know
/// by heart where the adapter's constants are in theirs.
fn unit(policy: &Path) -> Result<String, Failure> {
    let mut adapter = String::new();
    GzDecoder::new(ADAPTER)
        .read_to_string(&mut adapter)
        .map_err(|error| failed("unpack the adapter", &error))?;
    let section = |name| format!("#pragma clang section rodata=\"{name}\"\n");
    let include = format!("#include \"{}\"\n", policy.display());
    let spliced = [section(".rodata.policy"), include, section("")].concat();
    Ok(adapter.replacen(PLACE, &spliced, 1))
}

/// `BPF_CLANG`, or the first clang here that compiles BPF.
fn clang() -> Result<String, Failure> {
    if let Some(named) = std::env::var("BPF_CLANG").ok().filter(|name| !name.is_empty()) {
        return Ok(named);
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

fn run(compile: &mut Command, unit: &str, path: &Path) -> Result<(), Failure> {
    let piped = compile.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::Machine(format!(
            "there is no `{}`, which BPF_CLANG names",
            compile.get_program().to_string_lossy()
        )),
        _ => failed("start clang", &error),
    })?;
    // A compiler that ends early says why itself.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(unit.as_bytes()));
    let output = child.wait_with_output().map_err(|error| failed("run clang", &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let path = path.display();
    Err(Failure::Input(format!("policy {path} does not compile as BPF:\n{}", said.trim_end())))
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::Machine(format!("cannot {what}: {error}"))
}
