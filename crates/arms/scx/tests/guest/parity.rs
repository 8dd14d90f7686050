//! Parity: the policy as the simulator runs it and as the kernel's verifier and compiler make it decide
//! alike, to the bit.
//!
//! Each callback is made twice, natively on the toy platform of crates/core/policy-native and in the kernel
//! (as a program that this process calls, without sched_ext), on the same generated life of a machine. Every
//! act with its arguments, every answer and every word of the policy's state are compared. The source is one,
//! but the compilers are two, and so are the widths, masks and loops that they make of it.

mod life;
mod object;
mod pair;
mod program;
mod recording_platform;
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use libtest_mimic::{Failed, Trial};
use model::Failure;

use crate::guest::under_with;
use life::Life;
use object::{Object, Planted};
use script::Call;

/// Steps of a life, at each a callback or two.
const STEPS: u32 = 8_000;
/// In a guest, whose processor is emulated.
const STEPS_IN_GUEST: u32 = 500;
/// How often the long tables are compared.
const ALL: u32 = 500;

/// Choices that no policy of its own makes.
const VARIANTS: [&str; 5] = [
    "cts:queue=cpu:requeue=tail",
    "cts:fair=process",
    "cts:balance=none:burst_limit=off",
    "rearguard:preempt=off:queue=machine",
    "gvts:infeasible=off:interval=4ms",
];

/// Differences that must be found, each in the room of the policy that it is planted in.
const PLANTED: [(&str, Planted); 4] = [
    (
        "rearguard",
        Planted { file: "preempt.h", from: "GRANULARITY_NS 1000000", to: "GRANULARITY_NS 3000000" },
    ),
    ("cts", Planted { file: "index/heap.h", from: "b->stamp) < 0", to: "b->stamp) > 0" }),
    ("gvts", Planted { file: "weight.h", from: "WEIGHT_ONE 65536", to: "WEIGHT_ONE 65537" }),
    ("credit", Planted { file: "pick/credit.h", from: "class <= best", to: "class < best" }),
];

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("policies_decide_alike_natively_and_in_this_kernel", alike),
        Trial::test("policies_decide_alike_in_a_kernel_with_sched_ext", alike_in_guest)
            .with_ignored_flag(true),
        Trial::test("a_planted_difference_is_found", planted),
    ]
}

fn alike() -> Result<(), Failed> {
    if !is_allowed() {
        return Ok(());
    }
    let object = Object::compile(None, program::release());
    let mut kinds = BTreeSet::new();
    for policy in named().chain(VARIANTS) {
        let acts = compare(policy, &object.path(), STEPS)?;
        println!("{policy}: {acts:?}");
        kinds.extend(acts.into_keys());
    }
    let missed: Vec<&Call> = Call::ALL.iter().filter(|kind| !kinds.contains(kind)).collect();
    assert!(missed.is_empty(), "no policy came to {missed:?}");
    Ok(())
}

fn alike_in_guest() -> Result<(), Failed> {
    let newest = lab::Lab::of_user().and_then(|lab| lab.find("newest"));
    let kernel = newest.map_err(|failure| failure.to_string())?;
    let object = Object::compile(None, program::version(&kernel.release));
    let (lines, code, errors) = under_with("newest", 1, "parity", Some(&object.path()));
    assert_eq!(code, 0, "{errors}");
    assert_eq!(lines.len(), named().count(), "{lines:?}");
    Ok(())
}

/// In the guest: what [`alike`] does, with programs that were compiled outside.
pub fn play() -> Result<Vec<String>, Failure> {
    let object = std::env::args().nth(3).unwrap_or_default();
    let compare = |policy| {
        let acts = compare(policy, Path::new(&object), STEPS_IN_GUEST).map_err(Failure::Run)?;
        Ok(format!("{policy}: {acts:?}"))
    };
    named().map(compare).collect()
}

fn named() -> impl Iterator<Item = &'static str> {
    policy_native::policies().map(|(name, _)| name)
}

/// Lives a life under a policy: the acts compared, or the first difference.
fn compare(policy: &str, object: &Path, steps: u32) -> Result<BTreeMap<Call, usize>, String> {
    let life = live(policy, object, steps).map_err(|why| format!("{policy}: {why}"))?;
    Ok(life.pair.acts)
}

fn planted() -> Result<(), Failed> {
    if !is_allowed() {
        return Ok(());
    }
    for (policy, planted) in &PLANTED {
        let object = Object::compile(Some(planted), program::release());
        match live(policy, &object.path(), STEPS) {
            Err(why) if why.contains(pair::REFUSED) => return Err(why.into()),
            Err(difference) => println!("{}: {difference}", planted.file),
            Ok(_) => {
                return Err(format!("{}: `{}` was not noticed", planted.file, planted.to).into());
            }
        }
    }
    Ok(())
}

fn live(policy: &str, object: &Path, steps: u32) -> Result<Life, String> {
    let mut life = Life::new(policy, object, 1)?;
    for step in 1..=steps {
        life.step()?;
        if step % ALL == 0 {
            life.pair.compare_all()?;
        }
    }
    Ok(life)
}

fn is_allowed() -> bool {
    let why_not = program::why_not();
    if let Some(why) = why_not {
        eprintln!("nothing compared: {why}; `make lab-test` compares in a guest");
    }
    why_not.is_none()
}
