//! What every policy costs the verifier of each kernel, beside what it cost at the last update, and with
//! room.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use libtest_mimic::{Failed, Trial};
use model::{Failure, PolicySpec};

use crate::guest::under;
use crate::jumps::Jumps;

/// Set to 1, the golden file's rows of this kernel are written instead of compared.
const UPDATE: &str = "RG_UPDATE_GOLDEN";
/// How far a number may be from the golden one, and how far a small one: compilers differ by so much.
const TOLERANCE: f64 = 0.25;
const SLACK: f64 = 100.0;
/// Half of what the verifier allows: instructions that it walks of a program, jumps that it keeps for later.
const MOST: [u32; 2] = [500_000, 4_096];

const HEAD: &str = "# What each policy costs the verifier, by kernel: the program that it walks longest, over how many
# instructions (it refuses above 1,000,000), and the most jumps that it kept for later at once (above 8,192). All
# within a half of that. Rows of the newest kernel of the lab: RG_UPDATE_GOLDEN=1 cargo test -p scx --test guest --
# --ignored costs; of all: make kernel-matrix.
";

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("costs_are_those_of_the_golden_file", compare).with_ignored_flag(true)]
}

/// In the guest: loads every policy and prints `KERNEL POLICY PROGRAM VERIFIED JUMPS`, or `KERNEL POLICY
/// refused: WHY`.
pub fn play() -> Result<Vec<String>, Failure> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").map_err(crate::life::io)?;
    let kernel: Vec<&str> = release.split('.').take(2).collect();
    let jumps = Jumps::watch();
    let row = |(policy, _): (&str, _)| {
        let begin = Instant::now();
        let row = row(policy, jumps.as_ref());
        eprintln!("{policy}: {} ms", begin.elapsed().as_millis());
        format!(
            "{} {policy} {}",
            kernel.join("."),
            row.unwrap_or_else(|why| format!("refused: {why}"))
        )
    };
    Ok(policy_native::policies().map(row).collect())
}

fn row(policy: &str, jumps: Option<&Jumps>) -> Result<String, Failure> {
    let mut loaded = scx::load(&PolicySpec::plain(policy))?;
    let costs = loaded.costs()?;
    let worst = costs.iter().max_by_key(|cost| cost.verified).expect("programs");
    let jumps = jumps.map_or(Ok(0), Jumps::most).map_err(crate::life::io)?;
    let name = worst.program.strip_prefix("rearguard_").unwrap_or(&worst.program);
    Ok(format!("{name} {} {jumps}", worst.verified))
}

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/costs.txt")
}

fn compare() -> Result<(), Failed> {
    let (lines, code, errors) = under("newest", 1, "costs");
    if code != 0 {
        return Err(errors.into());
    }
    let kernel = lines[0].split(' ').next().expect("a word");
    let text = std::fs::read_to_string(golden())?;
    let (own, others): (Vec<&str>, Vec<&str>) = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .partition(|line| line.split(' ').next() == Some(kernel));
    if std::env::var_os(UPDATE).is_some() {
        eprintln!("{errors}");
        let mut rows: Vec<&str> =
            others.into_iter().chain(lines.iter().map(String::as_str)).collect();
        rows.sort_by_key(|row| version(row));
        std::fs::write(golden(), format!("{HEAD}{}\n", rows.join("\n")))?;
    }
    let now = lines.iter().map(String::as_str);
    let mut faults = beyond(&lines);
    if std::env::var_os(UPDATE).is_none() {
        faults.extend(differences(&numbers(own.into_iter()), &numbers(now)));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

/// The numbers of a row's kernel, for the order of the file.
fn version(row: &str) -> Vec<u32> {
    let kernel = row.split(' ').next().unwrap_or_default();
    kernel.split('.').filter_map(|part| part.parse().ok()).collect()
}

/// Rows of policies that are refused, or that leave the verifier too little room.
fn beyond(rows: &[String]) -> Vec<String> {
    let fits = |row: &&String| {
        let words: Vec<&str> = row.split(' ').collect();
        let fits = |at: usize, most| words[at].parse().is_ok_and(|number: u32| number <= most);
        words[2] != "refused:" && fits(3, MOST[0]) && fits(4, MOST[1])
    };
    rows.iter().filter(|row| !fits(row)).map(|row| format!("too near the limits: {row}")).collect()
}

type Numbers = BTreeMap<String, Vec<f64>>;

fn numbers<'a>(lines: impl Iterator<Item = &'a str>) -> Numbers {
    let rows = lines.map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[..3].join(" "), words[3..].iter().filter_map(|word| word.parse().ok()).collect())
    });
    rows.collect()
}

fn differences(golden: &Numbers, now: &Numbers) -> Vec<String> {
    let names = golden.keys().chain(now.keys().filter(|name| !golden.contains_key(*name)));
    let far = |name: &String| {
        let (Some(old), Some(new)) = (golden.get(name), now.get(name)) else { return true };
        old.iter().zip(new).any(|(old, new)| (old - new).abs() > (TOLERANCE * old).max(SLACK))
    };
    let said =
        |name: &String| format!("{name}: golden {:?}, now {:?}", golden.get(name), now.get(name));
    names.filter(|name| far(name)).map(said).collect()
}
