//! The other side of a program: this executable, run again as a child in one of the scenario's roles.
//!
//! Parent and child talk in JSON lines over the child's stdin and stdout, see [`order`]. A child never
//! outlives its parent: the kernel kills it when the parent dies (PR_SET_PDEATHSIG), and the end of its stdin
//! says so too.

mod command;
pub mod order;
mod server;
mod thread_pool;
mod workers;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use model::role::Role;
use model::trace::Window;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};

use crate::clock;
use crate::groups;
use generator::thread::bind;
use order::{Go, Order, Reply, Work};
pub use server::serve_until_killed;
use thread_pool::ThreadPool;

/// The argument that makes an executable a program of a scenario.
pub const ROLE: &str = "__role";

/// The roles of the host arm.
pub const ROLES: &[Role] = &[(ROLE, play), (groups::ROLE, |_| groups::guard_main())];

fn play(_: &[String]) -> ExitCode {
    match obey() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A parent that is gone needs no message.
            let _ = say(&Reply::Failed { message: error.to_string() });
            ExitCode::FAILURE
        }
    }
}

fn obey() -> io::Result<()> {
    let order: Order = serde_json::from_str(&read_line()?.unwrap_or_default())?;
    stay_with(order.parent)?;
    order.door.as_deref().map_or(Ok(()), groups::enter)?;
    bind(&order.cpus)?;
    order.class.enter()?;
    while perform(&order.work)? && order.work.iter().all(Work::ends) {}
    Ok(())
}

fn spawn(work: &Work) -> io::Result<ThreadPool> {
    match *work {
        Work::Serve(ref service) => server::spawn(service),
        Work::Spin { threads } => workers::spin(threads),
        Work::Cycle { threads, run, sleep } => workers::cycle(threads, run, move |now| now + sleep),
        Work::Periodic { threads, run, period } => {
            workers::cycle(threads, run, move |now| now.next_multiple(period))
        }
        Work::Command { ref command } => command::again(command.clone()),
        Work::Replay { ref sleeps, ref runs } => workers::replay(sleeps.clone(), runs.clone()),
        Work::ForkJoin { threads, work, wait } => workers::fork_join(threads, work, wait),
        Work::PingPong => workers::ping_pong(),
    }
}

/// Announces the threads, lets them begin at the common moment and counts until the window is over. `false`:
/// the parent wants no window.
///
/// A server's threads begin at once, so that all are blocked in their reads when the first request comes.
fn perform(work: &[Work]) -> io::Result<bool> {
    let pools = work.iter().map(spawn).collect::<io::Result<Vec<ThreadPool>>>()?;
    let serves = matches!(work, [Work::Serve(_), ..]);
    say(&Reply::Ready { threads: pools.iter().map(|pool| pool.thread_ids.clone()).collect() })?;
    let Some(go) = read_line()? else { return Ok(false) };
    let go: Go = serde_json::from_str(&go)?;
    let window = Window { start: go.window_start, end: go.window_end };
    pools.iter().for_each(|pool| pool.rounds.watch(window));
    pools[..usize::from(serves)].iter().for_each(|pool| pool.gate.open());
    clock::sleep_until(go.start);
    pools.iter().for_each(|pool| pool.gate.open());
    read_line()?;
    let runs = pools.iter().map(ThreadPool::runs).collect::<io::Result<Vec<_>>>()?.concat();
    let rounds = pools.iter().map(|pool| pool.rounds.count()).collect();
    say(&Reply::Done { rounds, runs })?;
    Ok(true)
}

/// Dies with the parent, also if it has died already.
fn stay_with(parent: i32) -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    if getppid() == Pid::from_raw(parent) {
        Ok(())
    } else {
        Err(io::Error::other("the parent is gone"))
    }
}

/// The next line from the parent; `None`: there is none to come.
fn read_line() -> io::Result<Option<String>> {
    let mut line = String::new();
    let bytes = io::stdin().lock().read_line(&mut line)?;
    Ok((bytes > 0).then_some(line))
}

/// A line to the parent.
fn say(reply: &Reply) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", serde_json::to_string(reply)?)?;
    stdout.flush()
}
