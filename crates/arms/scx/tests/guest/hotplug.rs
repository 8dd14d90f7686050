//! CPUs that go and come under load: for how long no policy is in force, and what it keeps afterwards.

use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use model::{Failure, PolicySpec};
use scx::{Loaded, Poll};

use crate::groups::{Group, divide, line};
use crate::guest::{right, under};
use crate::life::{awaited, online, warnings};

pub fn trials() -> Vec<Trial> {
    let trial = |kernel: &'static str| {
        let name = format!("cpus_come_and_go_under_load_on_{kernel}");
        Trial::test(name, move || held(kernel)).with_ignored_flag(true)
    };
    ["newest", "6.18"].map(trial).into()
}

fn held(kernel: &str) -> Result<(), Failed> {
    let lines = right(under(kernel, 6, "hotplug"), 6);
    assert!(lines.contains(&"kernel's warnings: []".to_string()), "{lines:?}");
    Ok(())
}

/// In the guest: ten spinners, and a group of half a CPU, on six CPUs of which two go and come ten times.
pub fn play() -> Result<Vec<String>, Failure> {
    divide()?;
    let begin = Instant::now();
    let mut loaded = scx::load(&PolicySpec::plain("rearguard"))?;
    let loading_ms = begin.elapsed().as_secs_f64() * 1e3;
    let (half, free) = (Group::new("half", "50000 100000")?, Group::new("free", "max 100000")?);
    let (held, spinner) = (half.spin(4)?, free.spin(10)?);
    let mut gaps_ms = Vec::new();
    for on in [false, true].into_iter().cycle().take(20) {
        gaps_ms.extend(switched(&mut loaded, on)?);
    }
    let (longest_ms, before) = (gaps_ms.iter().copied().fold(0.0, f64::max), spinner.used());
    let share = half.share(4);
    let ran = spinner.used().into_iter().map(|(thread, used)| used - before[&thread]);
    let least = ran.fold(f64::INFINITY, f64::min);
    let lines = vec![
        line("times in force again", gaps_ms.len() as f64, 20.0, 40.0),
        line("longest gap in ms", longest_ms, 1.0, 300.0),
        // What the gap would be if the verifier looked at the programs again.
        line("gaps in the time of a load", loading_ms / longest_ms, 4.0, 1000.0),
        line("half of a CPU", share, 0.49, 0.51),
        line("least of ten spinners in s", least, 2.0, 3.0),
        line("in force", f64::from(loaded.poll()? == Poll::InForce), 1.0, 1.0),
        format!("kernel's warnings: {:?}", warnings()?),
    ];
    [held, spinner].into_iter().try_for_each(|spinner| spinner.end().map(drop))?;
    Ok(lines)
}

/// Two CPUs go or come. The second may while the policy is about to go into force again.
fn switched(loaded: &mut Loaded, on: bool) -> Result<Vec<f64>, Failure> {
    let switch = move || [2, 4].into_iter().try_for_each(|cpu| online(cpu, on));
    let switching = std::thread::spawn(switch);
    let mut gaps_ms = Vec::new();
    loop {
        let is_done = switching.is_finished();
        match awaited(loaded, Duration::from_millis(300))? {
            Poll::Restarted { gap } => gaps_ms.push(gap.0 as f64 / 1e6),
            _ if is_done => break,
            _ => (),
        }
    }
    switching.join().expect("no panic")?;
    Ok(gaps_ms)
}
