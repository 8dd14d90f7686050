//! Statistics for any number of watchers, on the socket where scx_stats and its tools look for them.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use model::Failure;
use scx_stats::prelude::*;

use crate::loaded::Loaded;

use super::names::Names;
use super::report::{Group, Process, Queue, Report, report};
use super::sample::Sample;

const SOCKET: &str = "/var/run/scx/root/stats";
/// How long after a question a client counts as watching.
const WATCHING: Duration = Duration::from_secs(10);

/// How long a watcher waits for an answer, at most; the first one for as long as the server was told to
/// serve.
const STEP: Duration = Duration::from_millis(10);

/// Rates over less mean nothing.
const LEAST_SPAN: Duration = Duration::from_millis(250);

/// Serves reports until it is dropped.
pub struct Server {
    server: StatsServer<(), Sample>,
    asked: Option<Instant>,
}

impl Server {
    /// Opens the socket, in place of one that a killed scheduler left.
    pub fn open() -> Result<Server, Failure> {
        let data = StatsServerData::new()
            .add_meta(Report::meta())
            .add_meta(Group::meta())
            .add_meta(Process::meta())
            .add_meta(Queue::meta())
            .add_ops("top", StatsOps { open: Box::new(open), close: None });
        let server = StatsServer::new(data).launch().map_err(|error| {
            Failure::Machine(format!(
                "cannot serve statistics at {SOCKET}: {error:#}; run it with sudo, or make that folder this user's own"
            ))
        })?;
        Ok(Server { server, asked: None })
    }

    /// Answers questions about the policy that come within `wait`.
    ///
    /// It sleeps between looks at the questions: to wait at the channel spins before it blocks, which costs
    /// half a CPU where virtual CPUs take turns on one.
    pub fn serve(&mut self, wait: Duration, loaded: &mut Loaded) {
        let until = Instant::now() + wait;
        loop {
            self.answer(loaded);
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            sleep(if self.is_watched() { left.min(STEP) } else { left });
        }
        loaded.snapshot(self.is_watched());
    }

    fn answer(&mut self, loaded: &mut Loaded) {
        let (answers, questions) = self.server.channels();
        while questions.try_recv().is_ok() {
            self.asked = Some(Instant::now());
            if let Some(sample) = loaded.look() {
                // A watcher that has gone needs no answer.
                let _ = answers.send(sample);
            }
        }
    }

    fn is_watched(&self) -> bool {
        self.asked.is_some_and(|asked| asked.elapsed() < WATCHING)
    }
}

type Channels<'a, 'b> = (&'a Sender<()>, &'b Receiver<Sample>);

/// A watcher comes: each has reports from its own last question to the present one.
fn open(channels: Channels) -> anyhow::Result<Box<dyn StatsReader<(), Sample>>> {
    let mut before = ask(channels)?;
    let mut names = Names::default();
    Ok(Box::new(move |_, channels| {
        sleep(LEAST_SPAN.saturating_sub(before.age()));
        let after = ask(channels)?;
        let report = report(&before, &after, &mut names);
        before = after;
        report.to_json()
    }))
}

fn ask((questions, answers): Channels) -> anyhow::Result<Sample> {
    questions.send(())?;
    Ok(answers.recv()?)
}

impl Drop for Server {
    fn drop(&mut self) {
        // The socket's folders stay: they are the ecosystem's, and empty.
        let _ = fs::remove_file(SOCKET);
    }
}

/// A watcher of the policy in force.
pub struct Client(StatsClient);

impl Client {
    /// [`Failure::Machine`] where no policy of ours is loaded, or its socket is not for this user.
    pub fn connect() -> Result<Client, Failure> {
        let client = StatsClient::new().connect(None).map_err(|_| {
            Failure::Machine(format!(
                "nothing to watch at {SOCKET}: put a policy into force with `sudo rearguard load`, and watch as the same user"
            ))
        })?;
        Ok(Client(client))
    }

    /// What happened since the last question; takes a quarter of a second at least.
    pub fn report(&mut self) -> Result<Report, Failure> {
        self.0.request("stats", Vec::new()).map_err(|error| {
            Failure::Run(format!(
                "the scheduler at {SOCKET} is gone, or is not one of ours: {error:#}"
            ))
        })
    }
}
