//! What libbpf says: kept for the one line of a refusal, and shown in full when the user asked for it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use libbpf_rs::{PrintLevel, set_print};

static VERBOSE: AtomicBool = AtomicBool::new(false);
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether everything that libbpf says goes to stderr: the verifier's log of a refused program, for example.
pub fn verbose(on: bool) {
    VERBOSE.store(on, Ordering::Relaxed);
}

/// As [`verbose`] said.
pub fn is_verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed)
}

/// Begins to listen; what was heard before is forgotten.
pub fn listen() {
    WARNINGS.lock().expect("no panic while it is held").clear();
    let least = if is_verbose() { PrintLevel::Debug } else { PrintLevel::Warn };
    set_print(Some((least, hear)));
}

fn hear(level: PrintLevel, said: String) {
    if is_verbose() {
        eprint!("{said}");
    }
    if matches!(level, PrintLevel::Warn) {
        WARNINGS.lock().expect("no panic while it is held").push(said);
    }
}

/// The line that says why the kernel refused a program: the verifier's last word before its statistics, else libbpf's.
pub fn reason() -> Option<String> {
    let said = WARNINGS.lock().expect("no panic while it is held").concat();
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let verdict = lines
        .iter()
        .rposition(|line| line.starts_with("processed "))
        .and_then(|at| at.checked_sub(1));
    verdict.map(|at| lines[at]).or(lines.first().copied()).map(str::to_string)
}
