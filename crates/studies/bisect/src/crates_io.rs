//! Releases of a crate, as crates.io lists them.

use std::process::Command;

use model::{Failure, printable};
use semver::Version as Number;
use serde::Deserialize;

use crate::versions::Version;

/// Cargo's own index: a file a crate, a line a release.
const INDEX: &str = "https://index.crates.io";
/// Seconds and bytes that a crate's file may take.
const LIMITS: [&str; 4] = ["--max-time", "60", "--max-filesize", "67108864"];
/// What curl ends with where a server has no such file.
const NOT_FOUND: i32 = 22;

#[derive(Deserialize)]
struct Release {
    vers: Number,
    yanked: bool,
}

impl Version {
    /// A crate's releases from `good` to `worse`, both included, in the order of their numbers. Those that
    /// were withdrawn or are called unfinished (`1.0.0-rc.1`) are left out.
    pub fn releases(krate: &str, good: &str, worse: &str) -> Result<Vec<Version>, Failure> {
        between(krate, &index(krate)?, good, worse)
    }
}

/// A crate's file in the index.
fn index(krate: &str) -> Result<String, Failure> {
    let url = format!("{INDEX}/{}", path(krate)?);
    let mut curl = Command::new("curl");
    let ran = fileio::output(curl.args(["-fsSL", "--proto", "=https"]).args(LIMITS).arg(url), b"");
    let machine = |why: &str| {
        let remedy = "or name the releases by --versions, which asks nobody";
        Failure::Machine(format!("crates.io cannot be asked: {why}: {remedy}"))
    };
    let ran = ran.map_err(|error| machine(&format!("curl: {error}: install curl")))?;
    match ran.status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
        Some(NOT_FOUND) => Err(Failure::Input(format!("crates.io has no crate `{krate}`"))),
        _ => Err(machine(&printable(String::from_utf8_lossy(&ran.stderr).trim()))),
    }
}

/// Where the index has a crate (The Cargo Book, Registry index).
fn path(krate: &str) -> Result<String, Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if krate.is_empty()
        || !krate.starts_with(|c: char| c.is_ascii_alphabetic())
        || !krate.chars().all(fits)
    {
        let wanted = "expected letters, digits, `_` and `-`, such as scx_lavd";
        return Err(Failure::Input(format!("crate `{krate}`: {wanted}")));
    }
    let name = krate.to_ascii_lowercase();
    Ok(match name.len() {
        1 | 2 => format!("{}/{name}", name.len()),
        3 => format!("3/{}/{name}", &name[..1]),
        _ => format!("{}/{}/{name}", &name[..2], &name[2..4]),
    })
}

/// The releases between two, in the text of a crate's file.
fn between(krate: &str, text: &str, good: &str, worse: &str) -> Result<Vec<Version>, Failure> {
    let mut all: Vec<Number> = text
        .lines()
        // A line that this cannot read is of a release that this cargo cannot build.
        .filter_map(|line| serde_json::from_str::<Release>(line).ok())
        .filter(|release| !release.yanked)
        .map(|release| release.vers)
        .collect();
    all.sort();
    let names: Vec<String> = all.iter().map(Number::to_string).collect();
    let place = |wanted: &str| {
        names.iter().position(|name| name == wanted).ok_or_else(|| {
            let beside = beside(&all, wanted);
            Failure::Input(format!("{krate} has no release `{}`{beside}", printable(wanted)))
        })
    };
    let (first, last) = (place(good)?, place(worse)?);
    if first >= last {
        let remedy = "give the older release first";
        return Err(Failure::Input(format!("{krate}: {good} is not before {worse}: {remedy}")));
    }
    let is_end = |at: usize| at == first || at == last;
    let kept = (first..=last).filter(|&at| is_end(at) || all[at].pre.is_empty());
    kept.map(|at| Version::named(&names[at])).collect()
}

/// The releases before and after a number that is none's.
fn beside(all: &[Number], wanted: &str) -> String {
    let place =
        Number::parse(wanted).map_or(all.len(), |wanted| all.partition_point(|one| *one < wanted));
    let near = &all[place.saturating_sub(1)..(place + 1).min(all.len())];
    let names: Vec<String> = near.iter().map(Number::to_string).collect();
    if names.is_empty() { String::new() } else { format!(": it has {}", names.join(" and ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "{\"vers\":\"1.0.2\",\"yanked\":false,\"deps\":[]}\n\
        {\"vers\":\"1.0.10\",\"yanked\":false}\n{\"vers\":\"1.0.9\",\"yanked\":false}\n\
        {\"vers\":\"1.1.0-rc.1\",\"yanked\":false}\n{\"vers\":\"1.0.11\",\"yanked\":true}\n\
        half a li\n{\"vers\":\"1.1.0\",\"yanked\":false}\n";

    fn found(good: &str, worse: &str) -> Result<Vec<String>, Failure> {
        let found = between("scx_x", FILE, good, worse);
        found.map(|all| all.into_iter().map(|version| version.name).collect())
    }

    #[test]
    fn releases_stand_by_number_and_not_by_the_day_they_came() {
        assert_eq!(found("1.0.2", "1.1.0").unwrap(), ["1.0.2", "1.0.9", "1.0.10", "1.1.0"]);
        assert_eq!(found("1.0.10", "1.1.0-rc.1").unwrap(), ["1.0.10", "1.1.0-rc.1"]);
    }

    #[test]
    fn ends_that_are_not_there_are_refused() {
        for (good, worse, said) in [
            ("1.0.1", "1.1.0", "no release `1.0.1`: it has 1.0.2"),
            ("1.0.2", "1.0.11", "no release `1.0.11`: it has 1.0.10 and 1.1.0-rc.1"),
            ("1.0.2", "newest", "no release `newest`: it has 1.1.0"),
            ("1.1.0", "1.0.2", "give the older release first"),
            ("1.0.2", "1.0.2", "is not before"),
        ] {
            let Err(Failure::Input(text)) = found(good, worse) else { panic!("{good} {worse}") };
            assert!(text.contains(said), "{text}");
        }
    }

    #[test]
    fn the_index_has_folders_by_the_first_letters() {
        for (krate, expected) in
            [("a", "1/a"), ("ab", "2/ab"), ("Abc", "3/a/abc"), ("scx_lavd", "sc/x_/scx_lavd")]
        {
            assert_eq!(path(krate).unwrap(), expected);
        }
        for bad in ["", "../x", "a b", "1a", "-fx"] {
            assert!(matches!(path(bad), Err(Failure::Input(_))), "{bad}");
        }
    }
}
