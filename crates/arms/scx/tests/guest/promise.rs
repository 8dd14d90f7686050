//! Promises to groups, kept by `rearguard` in a real kernel.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use model::{Failure, PolicySpec};
use scx::{Code, Loaded, Poll, Promised, Scope};

use crate::groups::{Group, divide, line};
use crate::guest::{compute, right, under};
use crate::life::{io, warnings};

/// Tests and what each plays.
const CASES: [(&str, &str); 2] =
    [("promises_are_kept", "promise"), ("promises_live", "promise_live")];

pub fn trials() -> Vec<Trial> {
    let trial = |(name, play): (&str, &'static str), kernel: &'static str| {
        Trial::test(format!("{name}_on_{kernel}"), move || kept(kernel, play))
            .with_ignored_flag(true)
    };
    CASES.iter().flat_map(|case| ["7.3", "6.18"].map(|kernel| trial(*case, kernel))).collect()
}

fn kept(kernel: &str, play: &str) -> Result<(), Failed> {
    let lines = right(under(kernel, 2, play), 7);
    assert!(lines.contains(&"kernel's warnings: []".to_string()), "{lines:?}");
    Ok(())
}

/// How often a cycle of the event loop is due, what it takes of a CPU, and what is promised.
const EVERY: Duration = Duration::from_millis(2);
const WORK: Duration = Duration::from_millis(1);
const PROMISED: Duration = Duration::from_millis(8);
/// Half of what the verifier takes.
pub const MOST_WALKED: f64 = 500_000.0;
/// How long it is watched.
const SPAN: Duration = Duration::from_secs(4);

/// In the guest: an event loop that wants half of a CPU, whose group is due a tenth of that of another.
pub fn play() -> Result<Vec<String>, Failure> {
    if std::env::args().nth(3).as_deref() == Some("loop") {
        println!("{}", cycles());
        return Ok(Vec::new());
    }
    let (little, batch) = (little()?, Group::new("batch", "max 100000")?);
    let mut lines = Vec::new();
    for (promise, least, most) in [("", 0.5, 1.0), ("/little: 8ms=1%, at most 60%", 0.0, 0.01)] {
        let mut loaded = load(promise)?;
        lines.push(line("instructions walked", walked(&mut loaded)?, 1.0, MOST_WALKED));
        let spinner = batch.spin(4)?;
        lines.push(line(&format!("late cycles, `{promise}`"), late(&little)?, least, most));
        spinner.end()?;
        lines.push(in_force(&mut loaded)?);
    }
    for (promise, least, most) in [("", 0.05, 0.13), ("/little: 2ms=1%, at most 40%", 0.39, 0.41)] {
        let mut loaded = load(promise)?;
        let spinners = [batch.spin(4)?, little.spin(4)?];
        lines.push(line(&format!("share, `{promise}`"), little.share(4) / 2.0, least, most));
        spinners.into_iter().try_for_each(|spinner| spinner.end().map(drop))?;
        lines.push(in_force(&mut loaded)?);
    }
    lines.push(format!("kernel's warnings: {:?}", warnings()?));
    Ok(lines)
}

/// The group that is due a tenth of what others are.
pub fn little() -> Result<Group, Failure> {
    divide()?;
    let little = Group::new("little", "max 100000")?;
    little.set("cpu.weight", "10")?;
    Ok(little)
}

fn load(promise: &str) -> Result<Loaded, Failure> {
    let words: Vec<String> =
        (!promise.is_empty()).then(|| promise.to_string()).into_iter().collect();
    let promised = Promised::all("--promise", &words)?;
    load_with((!promised.is_empty()).then_some(&promised))
}

/// With what keeps promises, or without.
pub fn load_with(promised: Option<&[Promised]>) -> Result<Loaded, Failure> {
    let policy = PolicySpec::plain("rearguard");
    scx::load_code(&policy, Code::of(&policy)?, None, Scope::Machine, promised)
}

/// What the verifier walked for the program that it walks longest.
pub fn walked(loaded: &mut Loaded) -> Result<f64, Failure> {
    Ok(loaded.costs()?.iter().map(|cost| cost.verified).max().map_or(f64::NAN, f64::from))
}

pub fn in_force(loaded: &mut Loaded) -> Result<String, Failure> {
    let ending = loaded.poll()?;
    let is = if ending == Poll::InForce { 1.0 } else { 0.0 };
    Ok(line(&format!("in force ({ending:?})"), is, 1.0, 1.0))
}

/// Of the cycles of an event loop in a group those that were done later than promised.
pub fn late(group: &Group) -> Result<f64, Failure> {
    let own = std::env::current_exe().map_err(io)?;
    let mut command = Command::new(own);
    command.args(["__kernel_guest", "promise", "loop"]).stdout(Stdio::piped());
    let child = command.spawn().map_err(io)?;
    group.set("cgroup.procs", &child.id().to_string())?;
    let output = child.wait_with_output().map_err(io)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.trim().parse().unwrap_or(f64::NAN))
}

/// The share of late cycles, after a second in which it comes into its group.
fn cycles() -> f64 {
    sleep(Duration::from_secs(1));
    let begin = Instant::now();
    let (mut due, mut all, mut late) = (Duration::ZERO, 0.0f64, 0.0);
    while begin.elapsed() < SPAN {
        sleep(due.saturating_sub(begin.elapsed()));
        compute(WORK);
        all += 1.0;
        late += f64::from(u8::from(begin.elapsed() > due + PROMISED));
        due += EVERY;
    }
    late / all
}
