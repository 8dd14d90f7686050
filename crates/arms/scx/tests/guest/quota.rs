//! Quotas of groups (`cpu.max`) and idle groups, kept by policies in a real kernel.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use model::{Failure, PolicySpec};
use scx::{Code, Poll, Scope};

use crate::groups::{Group, divide, line};
use crate::guest::{right, under_with};
use crate::life::{io, watched};

pub fn trials() -> Vec<Trial> {
    let kernels = ["7.2", "6.18"];
    let trial = |kernel: &'static str| {
        let name = format!("groups_are_held_to_their_quotas_on_{kernel}");
        Trial::test(name, move || held(kernel)).with_ignored_flag(true)
    };
    kernels.map(trial).into()
}

/// Everything once under a policy that keeps quotas; the first case under one in a file, which does not.
fn held(kernel: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let template = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../policy/examples/template.c");
    let code = Code::of(&PolicySpec::plain(template))?;
    fs::write(folder.path().join("free"), code.bytes().expect("a file's"))?;
    right(under_with(kernel, 2, "quota", Some(folder.path())), 10);
    Ok(())
}

/// Half of a CPU under every other policy.
fn others() -> Result<Vec<String>, Failure> {
    let names = policy_native::policies().map(|(name, _)| name).filter(|name| *name != "rearguard");
    let under = |name: &str| {
        let mut loaded = scx::load(&PolicySpec::plain(name))?;
        let share = half(8)?;
        let wrong = if loaded.poll()? == Poll::InForce { "" } else { " (ended) WRONG" };
        Ok(line(&format!("half, {name}"), share, 0.49, 0.51) + wrong)
    };
    names.map(under).collect()
}

/// Half of a CPU for so many threads.
fn half(threads: u32) -> Result<f64, Failure> {
    let group = Group::new("half", "50000 100000")?;
    let spinner = group.spin(threads)?;
    let share = group.share(4);
    spinner.end()?;
    Ok(share)
}

/// Half of a CPU is due to a group of that quota, and to one beside it what it leaves of two CPUs.
fn due(loaded: &mut scx::Loaded) -> Result<[String; 2], Failure> {
    let (half, rest) = (Group::new("half", "50000 100000")?, Group::new("rest", "max 100000")?);
    let spinners = [half.spin(4)?, rest.spin(2)?];
    sleep(Duration::from_secs(1));
    let report = watched(loaded)?;
    spinners.into_iter().try_for_each(|spinner| spinner.end().map(drop))?;
    let due = |group: &str| report.groups.get(group).map_or(f64::NAN, |of| of.due_share * 2.0);
    Ok([line("due to half", due("/half"), 0.4, 0.51), line("to the rest", due("/rest"), 1.4, 1.6)])
}

/// A hundredth of a CPU for a hundred threads, which then are told to end.
fn tight(seconds: u64) -> Result<[String; 3], Failure> {
    let group = Group::new("tight", "max 100000")?;
    let spinner = group.spin(100)?;
    // A thread that begins under so small a quota takes a lock of its process to have a stack.
    let spins = |_: &i32| {
        sleep(Duration::from_secs(1));
        let used = spinner.used();
        used.len() == 100 && used.values().all(|used| *used > 0.01)
    };
    if (0..60).find(spins).is_none() {
        return Err(Failure::Run("a hundred threads do not spin after a minute".into()));
    }
    group.set("cpu.max", "1000 100000")?;
    let before = spinner.used();
    let share = group.share(seconds);
    let ran = spinner.used().into_iter().map(|(thread, used)| used - before[&thread]);
    let least = if before.len() == 100 { ran.fold(f64::INFINITY, f64::min) } else { f64::NAN };
    let died = spinner.end()?.as_secs_f64();
    Ok([
        line("tight", share, 0.0095, 0.0105),
        line("least of a hundred", least, 0.0001, 1.0),
        line("seconds to die", died, 0.0, 1.0),
    ])
}

fn nested() -> Result<[String; 2], Failure> {
    let outer = Group::new("outer", "60000 100000")?;
    outer.set("cgroup.subtree_control", "+cpu")?;
    let (a, b) = (Group::new("outer/a", "20000 100000")?, Group::new("outer/b", "max 100000")?);
    let spinners = [a.spin(4)?, b.spin(4)?];
    let (of_a, all) = (a.used(), outer.share(4));
    let of_a = (a.used() - of_a) / 5.0;
    spinners.into_iter().try_for_each(|spinner| spinner.end().map(drop))?;
    drop((a, b));
    Ok([line("nested", all, 0.58, 0.62), line("inner", of_a, 0.1, 0.21)])
}

/// A quota that changes while threads are held, and a process that leaves its group meanwhile.
fn changes() -> Result<[String; 4], Failure> {
    let group = Group::new("changes", "1000 1000000")?;
    let spinner = group.spin(2)?;
    let held = group.share(3);
    group.set("cpu.max", "25000 100000")?;
    let quarter = group.share(3);
    group.set("cpu.max", "max 100000")?;
    let free = group.share(2);
    group.set("cpu.max", "1000 1000000")?;
    sleep(Duration::from_secs(1));
    let refuge = Group::new("refuge", "max 100000")?;
    refuge.set("cgroup.procs", &spinner.id())?;
    let moved = refuge.share(2);
    spinner.end()?;
    Ok([
        line("held", held, 0.0, 0.01),
        line("a quarter", quarter, 0.24, 0.26),
        line("free", free, 1.8, 2.01),
        line("moved", moved, 1.8, 2.01),
    ])
}

/// A service that spins beside a group of 1%: of what it has alone, all but that.
fn beside() -> Result<String, Failure> {
    let (group, other) = (Group::new("little", "1000 100000")?, Group::new("other", "max 100000")?);
    let spinner = other.spin(2)?;
    let alone = other.share(3);
    let held = group.spin(20)?;
    let share = other.share(3);
    [spinner, held].into_iter().try_for_each(|spinner| spinner.end().map(drop))?;
    Ok(line("others, of what they have alone", share / alone, 0.985, 1.005))
}

/// An idle group that was there before the load: of two CPUs it has what the other leaves.
fn idle(group: &Group, other: &Group) -> Result<[String; 2], Failure> {
    let spinners = [group.spin(2)?, other.spin(2)?];
    let least = group.share(3);
    other.set("cpu.idle", "0")?;
    group.set("cpu.idle", "0")?;
    let equal = group.share(3);
    spinners.into_iter().try_for_each(|spinner| spinner.end().map(drop))?;
    // 6.18 does not tell of a change.
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").map_err(io)?;
    let least_equal = if release.starts_with("6.1") { 0.0 } else { 0.7 };
    Ok([line("idle", least, 0.0, 0.05), line("idle no more", equal, least_equal, 1.3)])
}

/// In the guest.
pub fn play() -> Result<Vec<String>, Failure> {
    let mut arguments = std::env::args().skip(3);
    let folder = arguments.next().unwrap_or_default();
    divide()?;
    let policy = PolicySpec::plain("rearguard");
    let (before, other) = (Group::new("before", "max 100000")?, Group::new("busy", "max 100000")?);
    before.set("cpu.idle", "1")?;
    let mut lines = vec![format!("kept: {}", scx::keeps_quotas(&policy))];
    // This kernel may lack callbacks that the policy has.
    let costs = scx::dry_run(&policy, Code::of(&policy)?, false)?.costs.len() as f64;
    lines.push(line("programs", costs, 18.0, 24.0));
    let mut loaded = scx::load(&policy)?;
    lines.push(line("half, one thread", half(1)?, 0.49, 0.51));
    lines.push(line("half, 64 threads", half(64)?, 0.49, 0.51));
    lines.extend(due(&mut loaded)?);
    lines.extend(nested()?);
    lines.extend(changes()?);
    lines.push(beside()?);
    lines.extend(idle(&before, &other)?);
    lines.extend(tight(60)?);
    let end = if loaded.poll()? == Poll::InForce { 1.0 } else { 0.0 };
    lines.push(line("in force", end, 1.0, 1.0));
    if end == 0.0 {
        lines.push(format!("{:?} WRONG", loaded.poll()?));
    }
    drop(loaded);
    lines.extend(others()?);
    let code = Code::object(fs::read(format!("{folder}/free")).map_err(io)?);
    let _free = scx::load_code(&PolicySpec::plain("./free.c"), code, None, Scope::Machine, None)?;
    lines.push(line("half, not kept", half(1)?, 0.9, 1.01));
    Ok(lines)
}
