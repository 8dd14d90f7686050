//! What every policy costs the verifier, beside what it cost at the last update.

use std::collections::BTreeMap;
use std::path::PathBuf;

use libtest_mimic::{Failed, Trial};
use model::{Failure, PolicySpec};

use crate::guest::under;

/// Set to 1, the golden file is written instead of compared.
const UPDATE: &str = "RG_UPDATE_GOLDEN";
/// How far a number may be from the golden one, and how far a small one: compilers differ by so much.
const TOLERANCE: f64 = 0.25;
const SLACK: f64 = 100.0;

const HEAD: &str = "# Each policy's programs in Linux 7.2: instructions that the verifier walked (it refuses above 1,000,000), instructions
# that are left of the program, bytes of machine code. Written by RG_UPDATE_GOLDEN=1 cargo test -p scx --test guest --
# --ignored costs; a difference of 25% (or 100) is a change that has to be wanted.
";

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("costs_are_those_of_the_golden_file", compare).with_ignored_flag(true)]
}

/// In the guest: loads every policy and prints `POLICY PROGRAM VERIFIED INSTRUCTIONS BYTES`.
pub fn play() -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    for (policy, _) in policy_native::policies() {
        let mut loaded = scx::load(&PolicySpec::plain(policy))?;
        for cost in loaded.costs()? {
            let scx::Cost { program, verified, instructions, machine_bytes } = cost;
            let program = program.strip_prefix("rearguard_").unwrap_or(&program);
            lines.push(format!("{policy} {program} {verified} {instructions} {machine_bytes}"));
        }
    }
    Ok(lines)
}

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/costs.txt")
}

fn compare() -> Result<(), Failed> {
    let (lines, code, errors) = under("newest", 1, "costs");
    if code != 0 {
        return Err(errors.into());
    }
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(golden(), format!("{HEAD}{}\n", lines.join("\n")))?;
        return Ok(());
    }
    let text = std::fs::read_to_string(golden())?;
    let faults = differences(&numbers(text.lines()), &numbers(lines.iter().map(String::as_str)));
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

type Numbers = BTreeMap<String, Vec<f64>>;

fn numbers<'a>(lines: impl Iterator<Item = &'a str>) -> Numbers {
    let rows = lines.filter(|line| !line.starts_with('#')).map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[..2].join(" "), words[2..].iter().filter_map(|word| word.parse().ok()).collect())
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
