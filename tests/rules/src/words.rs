//! Invariants stated as absences: words that a part of the project does not contain.

/// An absence: in files below `places`, none of `words` stands.
pub struct Absence {
    /// Path prefixes.
    pub places: &'static [&'static str],
    /// What must not stand there.
    pub words: &'static [&'static str],
    /// Why.
    pub why: &'static str,
}

/// The absences of ARCHITECTURE.md.
pub const ABSENCES: &[Absence] = &[
    Absence {
        places: &[
            "crates/core/model/src",
            "crates/analysis/queue/src",
            "crates/arms/sim/src",
            "crates/studies/cluster/src",
            "crates/analysis/stats/src",
        ],
        words: &["Instant::now", "SystemTime", "thread_rng", "rand::rng()", "HashMap", "HashSet"],
        why: "the same seed gives the same bytes: no wall clock, no ambient randomness, no hash order",
    },
    Absence {
        places: &["crates/core/model/src/event", "crates/core/model/src/trace"],
        words: &["skip_serializing_if"],
        why: "a guest's report has no names of fields: each side must write and read all of them",
    },
    Absence {
        places: &["policy/balance", "policy/pick", "policy/order", "policy/scheduler"],
        words: &["#include <", "#ifdef", "#if ", "vmlinux", "bpf_", "scx_"],
        why: "a policy knows its platform only by platform.h",
    },
    Absence {
        places: &[
            "crates/arms/sim/src",
            "crates/analysis/stats/src",
            "crates/analysis/queue/src",
            "crates/analysis/report/src",
        ],
        words: &["libbpf", "std::process", "std::net"],
        why: "only the arms that measure touch the operating system",
    },
    Absence {
        places: &["crates/", "policy/"],
        words: &["TO\u{44}O", "FIX\u{4d}E", "todo!(", "unimplemented!("],
        why: "nothing half done lands",
    },
];

/// Where an absence is broken: (line, word).
pub fn broken<'a>(absence: &'a Absence, path: &str, text: &str) -> Vec<(usize, &'a str)> {
    if !absence.places.iter().any(|place| path.starts_with(place)) {
        return Vec::new();
    }
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !is_comment(line));
    lines
        .flat_map(|(n, line)| {
            absence.words.iter().filter(|w| line.contains(**w)).map(move |w| (n, *w))
        })
        .collect()
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with("/*") || line.starts_with('*')
}

/// Where files that a user names are read: other folders read those of the kernel.
const READERS: [&str; 10] = [
    "crates/analysis/",
    "crates/front/",
    "crates/studies/bisect/",
    "crates/studies/capacity/",
    "crates/studies/cluster/",
    "crates/studies/experiment/src/",
    "crates/studies/gate/",
    "crates/studies/paper/",
    "crates/studies/recorder/",
    "crates/studies/whatif/",
];

/// Lines that read a file without a limit. `fileio` has one; the kernel's own files need none.
pub fn boundless(path: &str, text: &str) -> Vec<usize> {
    let is_one = READERS.iter().any(|place| path.starts_with(place)) && path.contains("/src/");
    if !is_one || path.ends_with("documented.rs") {
        return Vec::new();
    }
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let reads =
        |line: &str| ["fs::read(", "fs::read_to_string("].iter().any(|word| line.contains(word));
    let is_kernels = |line: &str| ["(\"/proc/", "(\"/sys/"].iter().any(|at| line.contains(at));
    let lines = (1..).zip(text.lines());
    lines.filter(|(_, line)| reads(line) && !is_kernels(line)).map(|(at, _)| at).collect()
}
