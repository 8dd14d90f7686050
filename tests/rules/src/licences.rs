//! Which licences may be in a program as it is distributed.

use spdx::{Expression, ParseMode};

/// Licences that ask for nothing but to be named, and go with every version of the GPL.
const PERMISSIVE: [&str; 10] = [
    "0BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// A program that is distributed, the licences beside [`PERMISSIVE`] that it may hold, and packages that its
/// dependencies name and do not use, with all below them.
pub struct Program {
    /// Its package.
    pub name: &'static str,
    /// Beside the permissive ones.
    pub allowed: &'static [&'static str],
    /// What no code of it is of.
    pub unused: &'static [&'static str],
}

/// What is distributed. GPL-2.0-only and Apache-2.0 may not be in one program: the GPL's version 2 allows no
/// further restriction, and Apache's clauses on patents are one.
pub const PROGRAMS: [Program; 2] = [
    Program { name: "rearguard", allowed: &["GPL-2.0-or-later", "Apache-2.0"], unused: &[] },
    Program {
        name: "scx_rearguard",
        allowed: &["GPL-2.0-or-later", "GPL-2.0-only"],
        // Left in the manifest of scx_utils when its build support became scx_cargo.
        unused: &["bindgen", "libbpf-cargo"],
    },
];

/// Packages, `NAME VERSION|LICENCE` a line, that may not be in a program with these licences beside the
/// permissive ones.
pub fn forbidden(packages: &str, allowed: &[&str]) -> Vec<String> {
    let may = |name: &str| PERMISSIVE.contains(&name) || allowed.contains(&name);
    let is_fine = |line: &&str| {
        let (_, licence) = line.trim_end_matches(" (*)").split_once('|').unwrap_or((line, ""));
        let licence = Expression::parse_mode(licence, ParseMode::LAX);
        licence.is_ok_and(|licence| licence.evaluate(|required| may(&required.to_string())))
    };
    packages.lines().filter(|line| !is_fine(line)).map(str::to_string).collect()
}
