//! The other side of a program: this executable, run again as a child in one of the scenario's roles.
//!
//! Parent and child talk in JSON lines over the child's stdin and stdout, see [`order`]. A child never outlives its parent: the kernel
//! kills it when the parent dies (PR_SET_PDEATHSIG), and the end of its stdin says so too.

mod crew;
pub mod order;
mod server;
mod workers;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use model::trace::Window;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};

use crate::clock;
use crate::groups;
use crew::Crew;
use generator::thread::bind;
use order::{Go, Order, Reply, Work};
pub use server::serve_anybody;

/// The argument that makes an executable play a role.
pub const ROLE: &str = "__role";

/// Plays a role of the host arm if the arguments ask for one, and says how it ended; `None`: they do not.
///
/// It must be called before anything else in `main`: what stands before it runs in every program of a scenario.
pub fn role_main(args: impl IntoIterator<Item = String>) -> Option<ExitCode> {
    let role = args.into_iter().nth(1)?;
    if role == groups::ROLE {
        return Some(groups::guard_main());
    }
    (role == ROLE).then(|| match play() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A parent that is gone needs no message.
            let _ = say(&Reply::Failed { message: error.to_string() });
            ExitCode::FAILURE
        }
    })
}

fn play() -> io::Result<()> {
    let order: Order = hear()?;
    stay_with(order.parent)?;
    order.door.as_deref().map_or(Ok(()), groups::enter)?;
    bind(&order.cpus)?;
    order.class.enter()?;
    let crews = order.work.iter().map(hire).collect::<io::Result<Vec<Crew>>>()?;
    perform(&crews, matches!(order.work[..], [Work::Serve(_), ..]))
}

fn hire(work: &Work) -> io::Result<Crew> {
    match *work {
        Work::Serve(ref service) => server::hire(service),
        Work::Spin { threads } => workers::spin(threads),
        Work::Cycle { threads, run, sleep } => workers::cycle(threads, run, move |now| now + sleep),
        Work::Periodic { threads, run, period } => {
            workers::cycle(threads, run, move |now| now.next_multiple(period))
        }
        Work::ForkJoin { threads, work } => workers::fork_join(threads, work),
    }
}

/// Announces the threads, lets them begin at the common moment and ends with the process.
///
/// A server's threads begin at once, so that all are blocked in their reads when the first request comes.
fn perform(crews: &[Crew], serves: bool) -> io::Result<()> {
    say(&Reply::Ready { threads: crews.iter().map(|crew| crew.thread_ids.clone()).collect() })?;
    let go: Go = hear()?;
    let window = Window { start: go.window_start, end: go.window_end };
    crews.iter().for_each(|crew| crew.rounds.watch(window));
    crews[..usize::from(serves)].iter().for_each(|crew| crew.gate.open());
    clock::sleep_until(go.start);
    crews.iter().for_each(|crew| crew.gate.open());
    let mut rest = String::new();
    io::stdin().read_line(&mut rest)?;
    say(&Reply::Done { rounds: crews.iter().map(|crew| crew.rounds.count()).collect() })
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

/// The next line from the parent.
fn hear<T: serde::de::DeserializeOwned>() -> io::Result<T> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// A line to the parent.
fn say(reply: &Reply) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", serde_json::to_string(reply)?)?;
    stdout.flush()
}
