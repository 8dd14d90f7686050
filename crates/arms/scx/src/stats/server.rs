//! Statistics for any number of watchers, on the socket where scx_stats and its tools look for them.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use loader::{Group, Process, Queue, Report, SOCKET};
use model::Failure;
use scx_stats::prelude::*;

use crate::loaded::Loaded;

use super::meta::meta;
use super::names::Names;
use super::report::report;
use super::sample::Sample;

/// How long after a question a client counts as watching.
const WATCHING: Duration = Duration::from_secs(10);

/// How long a watcher waits for an answer, at most; the first one for as long as the server was told to
/// serve.
const STEP: Duration = Duration::from_millis(10);

/// How long a policy may be out of force before we look.
const PAUSE: Duration = Duration::from_millis(25);

/// Rates over less mean nothing.
const LEAST_SPAN: Duration = Duration::from_millis(250);

/// What the statistics are, a line each.
pub fn describe() -> String {
    let mut text = Vec::new();
    described().describe_meta(&mut text, None).expect("a Vec takes any text");
    String::from_utf8_lossy(&text).into_owned()
}

fn described() -> StatsServerData<(), Sample> {
    let mut report = meta("Report", Report::ABOUT, Report::FIELDS, "rearguard_", "");
    report.attrs.top = Some("true".into());
    StatsServerData::new()
        .add_meta(report)
        .add_meta(meta("Group", Group::ABOUT, Group::FIELDS, "group_", "group"))
        .add_meta(meta("Process", Process::ABOUT, Process::FIELDS, "process_", "pid"))
        .add_meta(meta("Queue", Queue::ABOUT, Queue::FIELDS, "queue_", "queue"))
}

/// Serves reports until it is dropped.
pub struct Server {
    server: StatsServer<(), Sample>,
    asked: Option<Instant>,
}

impl Server {
    /// Opens the socket, in place of one that a killed scheduler left.
    pub fn open() -> Result<Server, Failure> {
        let data = described().add_ops("top", StatsOps { open: Box::new(open), close: None });
        let server = StatsServer::new(data).launch().map_err(|error| {
            Failure::Machine(format!(
                "cannot serve statistics at {SOCKET}: {error:#}; run it with sudo, or make that folder this user's own"
            ))
        })?;
        Ok(Server { server, asked: None })
    }

    /// Answers questions about the policy that come within `wait`, while it is in force.
    ///
    /// It sleeps between looks at the questions: to wait at the channel spins before it blocks, which costs
    /// half a CPU where virtual CPUs take turns on one.
    pub fn serve(&mut self, wait: Duration, loaded: &mut Loaded) {
        let until = Instant::now() + wait;
        loop {
            self.answer(loaded);
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || loaded.has_ended() {
                break;
            }
            sleep(left.min(if self.is_watched() { STEP } else { PAUSE }));
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
        Ok(serde_json::to_value(report)?)
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
