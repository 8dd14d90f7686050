//! Promises that are set and dropped while `rearguard` is in force, as `rearguard promise` does.

use std::os::unix::net::UnixStream;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use loader::{Answer, Ask, CONTROL, PromiseStatus, ask};
use model::Failure;
use scx::{Control, Loaded, Poll};

use crate::groups::{Group, line};
use crate::life::{io, online, warnings};
use crate::promise::{MOST_WALKED, in_force, late, little, load_with, walked};

const LOOP: &str = "/little: 8ms=1%, at most 60%";
const SPINNERS: &str = "/little: 2ms=1%, at most 40%";

/// A policy in force that takes promises, with its socket.
struct Live {
    loaded: Loaded,
    control: Control,
}

impl Live {
    /// What the loader answers, whose loop this is.
    fn ask(&mut self, question: Ask) -> Result<Answer, Failure> {
        let client = thread::spawn(move || ask(&question));
        while !client.is_finished() {
            self.control.serve(|ask| self.loaded.answer(ask));
            sleep(Duration::from_millis(10));
        }
        client.join().expect("no panic")
    }

    fn set(&mut self, promise: &str) -> Result<(), Failure> {
        self.ask(Ask::Set(promise.into())).map(drop)
    }

    fn drop_promise(&mut self) -> Result<(), Failure> {
        self.ask(Ask::Drop("/little".into())).map(drop)
    }

    fn list(&mut self) -> Result<Vec<PromiseStatus>, Failure> {
        match self.ask(Ask::List)? {
            Answer::Promises(kept) => Ok(kept),
            other => Err(Failure::Run(format!("{other:?}"))),
        }
    }

    /// Late cycles of an event loop beside spinning threads.
    fn late(&mut self, name: &str, of: &Group, promised: bool) -> Result<String, Failure> {
        let (least, most) = if promised { (0.0, 0.01) } else { (0.5, 1.0) };
        Ok(line(&format!("late cycles, {name}"), late(of)?, least, most))
    }
}

/// In the guest: as with promises at the load, but one after the other under one policy.
pub fn play() -> Result<Vec<String>, Failure> {
    let mut live = Live { loaded: load_with(Some(&[]))?, control: Control::open()? };
    let (group, batch) = (little()?, Group::new("batch", "max 100000")?);
    let mut lines = vec![line("instructions walked", walked(&mut live.loaded)?, 1.0, MOST_WALKED)];
    lines.extend(refusals(&mut live)?);
    lines.extend(shares(&mut live, &group, &batch)?);
    let spinner = batch.spin(4)?;
    lines.extend(changes(&mut live, group)?);
    spinner.end()?;
    lines.push(in_force(&mut live.loaded)?);
    lines.push(format!("kernel's warnings: {:?}", warnings()?));
    Ok(lines)
}

/// What is no promise changes nothing, and a client that says nothing keeps no other for long.
fn refusals(live: &mut Live) -> Result<Vec<String>, Failure> {
    let _silent = UnixStream::connect(CONTROL).map_err(io)?;
    let begin = Instant::now();
    let mut lines = Vec::new();
    for bad in ["/little", "/none: 8ms=1%", "/little: 8ms", "/little: 8ms=1%, at most 96%"] {
        let code = live.set(bad).map_or_else(|failure| failure.exit_code(), |()| 0);
        lines.push(line(&format!("exit code, {bad}"), code.into(), 2.0, 2.0));
    }
    let code = live.drop_promise().map_or_else(|failure| failure.exit_code(), |()| 0);
    lines.push(line("exit code, nothing to drop", code.into(), 2.0, 2.0));
    lines.push(line("seconds", begin.elapsed().as_secs_f64(), 0.0, 10.0));
    lines.push(line("promises", live.list()?.len() as f64, 0.0, 0.0));
    Ok(lines)
}

/// Threads that spin all the while learn of a promise, and of its end. To make it again and again is no more
/// than to make it once: with a full budget each time they would have 0.33.
fn shares(live: &mut Live, group: &Group, batch: &Group) -> Result<Vec<String>, Failure> {
    let spinners = [batch.spin(4)?, group.spin(4)?];
    let mut lines = vec![line("share", group.share(3) / 2.0, 0.05, 0.13)];
    live.set(SPINNERS)?;
    lines.push(line("share, set", group.share(4) / 2.0, 0.39, 0.41));
    let used = live.list()?.first().map_or(f64::NAN, |kept| kept.budget_used);
    lines.push(line("budget used", used, 0.38, 0.45));
    lines.push(line("share, set again and again", again_and_again(live, group)?, 0.05, 0.25));
    live.drop_promise()?;
    lines.push(line("share, dropped", group.share(3) / 2.0, 0.05, 0.13));
    spinners.into_iter().try_for_each(|spinner| spinner.end().map(drop))?;
    Ok(lines)
}

fn again_and_again(live: &mut Live, group: &Group) -> Result<f64, Failure> {
    let (begin, used) = (Instant::now(), group.used());
    while begin.elapsed() < Duration::from_secs(4) {
        live.drop_promise()?;
        live.set(SPINNERS)?;
        sleep(Duration::from_millis(50));
    }
    Ok((group.used() - used) / begin.elapsed().as_secs_f64() / 2.0)
}

/// An event loop is on time while there is a promise, through a restart of its unit and of the policy.
fn changes(live: &mut Live, group: Group) -> Result<Vec<String>, Failure> {
    let mut lines = vec![live.late("none set", &group, false)?];
    live.set(LOOP)?;
    lines.push(live.late("set", &group, true)?);
    let kept = live.list()?;
    let share = kept.first().and_then(PromiseStatus::late_share).unwrap_or(f64::NAN);
    lines.push(line("late wake-ups", share, 0.0, 0.01));
    drop(group);
    live.loaded.follow_promises()?;
    let there = live.list()?.iter().filter(|kept| kept.present).count();
    lines.push(line("in force without its group", there as f64, 0.0, 0.0));
    let group = little()?;
    lines.push(live.late("restarted, not looked at yet", &group, false)?);
    live.loaded.follow_promises()?;
    lines.push(live.late("restarted", &group, true)?);
    lines.push(restart(live)?);
    lines.push(live.late("loaded again", &group, true)?);
    live.drop_promise()?;
    lines.push(live.late("dropped", &group, false)?);
    Ok(lines)
}

/// A CPU goes and comes back, so the policy is loaded again.
fn restart(live: &mut Live) -> Result<String, Failure> {
    let mut restarts = 0.0;
    for on in [false, true] {
        online(1, on)?;
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(30) {
            if matches!(live.loaded.poll()?, Poll::Restarted { .. }) {
                restarts += 1.0;
                break;
            }
            sleep(Duration::from_millis(100));
        }
    }
    Ok(line("loaded again", restarts, 2.0, 2.0))
}
