//! Traces of this machine, explained: the culprit of slow requests is found and named. Takes root and a
//! kernel with BTF; says so where it is skipped.
#![cfg(feature = "bpf")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;

use explain::{Culprit, Explained, Setting, Source, explain};
use model::Scenario;
use trace::Recorded;

const SERVICE: &str = "# Whose requests are slow.\nduration = \"3s\"\nwarm_up = \"500ms\"\n[machine]\ncpus = 1\n\
    [[program]]\nname = \"service\"\nkind = \"service\"\nconnections = 16\nservice_time = \"500us\"\n\
    arrivals = { law = \"poisson\", utilisation = 0.3 }\n[[program]]\nname = \"hog\"\n";
const HOG: &str = "kind = \"batch\"\nthreads = 4\n";
/// The control: it is there, and takes next to nothing.
const NO_HOG: &str = "kind = \"daemon\"\nthreads = 4\nrun = \"10us\"\nsleep = \"100ms\"\n";

/// Two runs beside each other would be each other's strangers.
static ALONE: Mutex<()> = Mutex::new(());

/// What runs the command: nothing, and what makes it see a container's numbers of threads instead of the
/// kernel's.
const PLAIN: &[&str] = &[];
const CONTAINED: &[&str] = &["unshare", "--pid", "--fork", "--mount-proc"];

fn rearguard(folder: &Path, within: &[&str], args: &[&str]) -> Output {
    let words = [within, &[env!("CARGO_BIN_EXE_rearguard")], args].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder).output().expect("the built command runs")
}

/// Where the time of all requests went; `None` where this machine cannot say.
struct Told {
    /// Made slow by the machine's other work alone.
    calm: Vec<Explained>,
    all: Vec<Explained>,
}

/// Runs the scenario here.
fn told(within: &[&str], hog: &str) -> Option<Told> {
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!("{SERVICE}{hog}");
    fs::write(folder.path().join("a.toml"), &text).expect("a file");
    let words = "compare a.toml --on host --policy default --seed 1 --trace a.trace";
    let output = rearguard(folder.path(), within, &words.split(' ').collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("no scheduling events")
        || said.contains("could not keep the schedule")
        || said.contains("needs 2 CPUs")
    {
        eprintln!("skipped: {said}");
        return None;
    }
    assert!(output.status.success(), "{said}");
    let bytes = fs::read(folder.path().join("a.trace")).expect("the trace");
    let Recorded { header, trace } = trace::read(&bytes, "a.trace").expect("a trace");
    let scenario = Scenario::read(&text, "a.toml").expect("a scenario");
    let setting = Setting::of(&scenario).with(&header.tables);
    let mut explained = explain(&trace, &setting).expect("events");
    let service = explained.services.pop().expect("requests");
    assert_eq!(service.unknown, 0, "every request's thread is known");
    let all = service.requests;
    let is_calm = |one: &&Explained| strangers(one) * 10 < one.latency.0;
    Some(Told { calm: all.iter().filter(is_calm).cloned().collect(), all })
}

fn by(one: &Explained, who: impl Fn(Culprit) -> bool) -> u64 {
    let own = one.blames.iter().filter(|b| b.source == Source::Background && who(b.culprit));
    own.map(|blame| blame.ns).sum()
}

fn hogs(one: &Explained) -> u64 {
    by(one, |culprit| culprit == Culprit::Program(1))
}

/// What this machine's other work took.
fn strangers(one: &Explained) -> u64 {
    by(one, |culprit| matches!(culprit, Culprit::Program(other) if other > 1))
}

impl Told {
    /// The hog's part of all latency that the scenario itself made.
    fn part(&self) -> f64 {
        let sum = |of: &dyn Fn(&Explained) -> u64| self.all.iter().map(of).sum::<u64>() as f64;
        sum(&hogs) / sum(&|one: &Explained| one.latency.0 - strangers(one))
    }
}

#[test]
fn a_hog_on_this_machine_is_named_and_none_is_where_there_is_none() {
    let Some(beside) = told(PLAIN, HOG) else { return };
    assert!(beside.part() > 0.5, "the hog's part is {}", beside.part());
    let mut slow = beside.calm;
    slow.sort_by_key(|one| std::cmp::Reverse(one.latency));
    slow.truncate(slow.len().div_ceil(100));
    let named =
        slow.iter().filter(|one| one.worst() == Some((Source::Background, Culprit::Program(1))));
    let count = named.count();
    assert!(count as f64 >= 0.95 * slow.len() as f64, "{count} of {} name the hog", slow.len());
    let Some(alone) = told(PLAIN, NO_HOG) else { return };
    assert!(alone.part() < 0.1, "the control: the hog's part is {}", alone.part());
}

#[test]
fn threads_are_known_in_a_namespace_of_their_own() {
    let Some(beside) = told(CONTAINED, HOG) else { return };
    assert!(beside.part() > 0.5, "the hog's part is {}", beside.part());
}

#[test]
fn a_port_where_nobody_listens_is_said_at_once() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("its address").port().to_string();
    drop(free);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let begin = std::time::Instant::now();
    let output = command.args(["explain", "--port", &port, "--duration", "60s"]).output();
    let output = output.expect("the built command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no process of this machine listens there"), "{said}");
    assert!(begin.elapsed() < std::time::Duration::from_secs(30), "it did not watch for a minute");
}
