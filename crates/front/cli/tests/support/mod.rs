//! The built command, and a lab for it that stays from test to test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// `rearguard lab` in a lab.
pub fn rearguard(lab: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.arg("lab").args(args).env("RG_LAB_DIR", lab);
    command
}

/// Exit code, stdout and stderr.
pub fn output(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the built command runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("an exit code"), text(stdout), text(stderr))
}

/// The fetched kernels; the folder stays for the next time.
pub fn lab() -> &'static Path {
    static LAB: OnceLock<PathBuf> = OnceLock::new();
    LAB.get_or_init(|| {
        let lab = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab");
        // The first boot of a kernel also asks whether KVM works, with a QEMU of its own.
        for args in [&["fetch"][..], &["run", "newest", "--", "true"]] {
            let (code, _, stderr) = output(&mut rearguard(&lab, args));
            assert_eq!(code, 0, "{stderr}");
        }
        lab
    })
}

/// `rearguard lab run` with these arguments.
pub fn run(args: &[&str]) -> (i32, String, String) {
    output(rearguard(lab(), &["run"]).args(args))
}
