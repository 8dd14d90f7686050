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

/// Begins to listen; earlier messages are dropped.
pub fn listen() {
    WARNINGS.lock().expect("no panic while it is held").clear();
    let least = if is_verbose() { PrintLevel::Debug } else { PrintLevel::Warn };
    set_print(Some((least, collect)));
}

fn collect(level: PrintLevel, said: String) {
    if is_verbose() {
        eprint!("{said}");
    }
    if matches!(level, PrintLevel::Warn) {
        WARNINGS.lock().expect("no panic while it is held").push(said);
    }
}

/// The line that says why the kernel refused a program: the verifier's last word before its statistics, else
/// libbpf's.
pub fn reason() -> Option<String> {
    verdict(&WARNINGS.lock().expect("no panic while it is held").concat())
}

/// What the verifier's statistics begin with: the last one always, those before it where they are asked for.
const STATISTICS: [&str; 4] =
    ["verification time ", "stack depth ", "insns processed ", "processed "];

fn verdict(said: &str) -> Option<String> {
    let is_figure = |line: &str| STATISTICS.iter().any(|begin| line.starts_with(begin));
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let end = lines.iter().rposition(|line| is_figure(line));
    let verdict = end.and_then(|end| lines[..end].iter().rfind(|line| !is_figure(line)));
    verdict.or(lines.first()).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn the_verifiers_last_line_is_the_reason() {
        let log = "libbpf: prog 'init': BPF program load failed: -EINVAL\n\
                   libbpf: prog 'init': -- BEGIN PROG LOAD LOG --\n\
                   ; return cpu < CPUS ? &cpus[cpu] : 0; @ tables.bpf.h:58\n\
                   math between map_value pointer and register with unbounded min value is not allowed\n\
                   processed 581 insns (limit 1000000) max_states_per_insn 1 total_states 47 peak_states 57\n\
                   -- END PROG LOAD LOG --\nlibbpf: prog 'init': failed to load: -EINVAL\n";
        let word =
            "math between map_value pointer and register with unbounded min value is not allowed";
        assert_eq!(verdict(log).as_deref(), Some(word));
        let statistics = "verification time 78466 usec\nstack depth 120+0 max 0\ninsns processed 305+0\nprocessed 581";
        assert_eq!(verdict(&log.replace("processed 581", statistics)).as_deref(), Some(word));
        let without = "libbpf: failed to load object: -EPERM\nmore\n";
        assert_eq!(verdict(without).as_deref(), Some("libbpf: failed to load object: -EPERM"));
        assert_eq!(verdict(""), None);
    }
}
