//! Programs.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::chain::behind;
use super::mechanisms::memory_use;
use super::names::Names;
use super::service::{SERVICE_KEYS, service};
use super::table::Table;
use super::value::{DURATIONS, argument, name, path, span, whole, word};
use super::{Kind, Program, Wait};
use crate::Nanos;
use toml::de::DeValue;

pub(super) const KEYS: [&str; 8] =
    ["name", "count", "kind", "group", "nice", "process", "memory_bound", "working_set_bytes"];
/// The words of `kind` and the keys that each of them adds.
pub(super) const KINDS: [(&str, &[&str]); 7] = [
    ("service", &SERVICE_KEYS),
    ("batch", &["threads"]),
    ("daemon", &["threads", "run", "sleep"]),
    ("periodic", &["threads", "run", "period"]),
    ("replay", &["sleeps", "runs"]),
    ("command", &["command"]),
    ("fork-join", &["threads", "work", "wait"]),
];
/// The words of `wait`.
const WAITS: [&str; 2] = ["block", "yield"];
/// Threads or connections of one program.
pub(super) const MOST_THREADS: i64 = 65_536;
/// Programs that one table stands for.
const MOST_ALIKE: i64 = 4_096;
/// Threads and connections of all programs together, so that a slip ends in a message and not in swapping.
const MOST_TOGETHER: u64 = 1 << 18;

/// The programs of a file and what other tables say of them.
pub(super) struct Programs {
    /// In the file's order.
    pub(super) list: Vec<Program>,
    pub(super) names: Names,
    /// Whether all could be read, so that a name that is not there is a mistake.
    pub(super) are_whole: bool,
}

/// All programs; wrong ones are reported and left out.
pub(super) fn programs(top: &Table, groups: &Names, cpus: u32) -> Programs {
    let tables = top.tables("program");
    if tables.is_empty() {
        let list = |value: &DeValue| value.as_array().is_some_and(|items| items.is_empty());
        // Anything else was reported.
        if top.get("program").is_none_or(|value| list(value.get_ref())) {
            top.problems.add(0..0, "scenario: no program; expected at least one [[program]]");
        }
    }
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut all = Programs { list: Vec::new(), names: Names::new("program"), are_whole: true };
    let mut together = 0;
    for table in tables.iter().take_while(|_| !top.problems.are_enough()) {
        let own = named(table);
        if let Some(name) = own.iter().find(|name| seen.contains(*name)) {
            table.wrong("name", format!("`{name}` stands twice; expected different names"));
        }
        seen.extend(own.iter().cloned());
        let read = program(table, groups, &all, cpus);
        all.are_whole &= read.is_some() && !own.is_empty();
        let Some(program) = read else { continue };
        together += own.len() as u64 * u64::from(threads_and_connections(&program.kind));
        if together > MOST_TOGETHER {
            let key = if table.get("count").is_some() { "count" } else { "name" };
            table.wrong(key, format!("{together} threads and connections up to here; expected at most {MOST_TOGETHER} in all"));
            all.are_whole = false;
            break;
        }
        own.into_iter().for_each(|name| all.push(Program { name, ..program.clone() }));
    }
    all
}

impl Programs {
    fn push(&mut self, program: Program) {
        self.names.add(&program.name, self.list.len());
        self.list.push(program);
    }
}

fn threads_and_connections(kind: &Kind) -> u32 {
    match kind {
        Kind::Service(service) => service.threads().max(service.connections),
        _ => kind.threads(),
    }
}

/// The names of the programs that a table stands for: its own, or with `count` each with its number behind.
fn named(table: &Table) -> Vec<String> {
    let count = table.optional("count", whole(1, MOST_ALIKE));
    match (table.required("name", name), count) {
        (None, _) => Vec::new(),
        (Some(name), None) => vec![name],
        (Some(name), Some(count)) => (1..=count).map(|at: u32| format!("{name}-{at}")).collect(),
    }
}

/// A program without its name. `None` only where a problem was reported.
fn program(table: &Table, groups: &Names, earlier: &Programs, cpus: u32) -> Option<Program> {
    let words = KINDS.map(|(word, _)| word);
    let kind = table.required("kind", word(&words));
    let mut of_kind: Vec<&str> = match kind {
        Some(kind) => KINDS[kind].1.to_vec(),
        None => KINDS.iter().flat_map(|(_, keys)| *keys).copied().collect(),
    };
    // Several kinds have the same key.
    let mut seen = BTreeSet::new();
    of_kind.retain(|key| seen.insert(*key));
    table.expect_keys(&[&KEYS, &of_kind[..]].concat());
    let group = table.optional("group", path).map(|name| groups.find(&name));
    if let Some(Err(text)) = &group {
        table.wrong("group", text);
    }
    let nice = table.optional("nice", whole(-20, 19)).unwrap_or(0);
    let (kind, behind) = match words[kind?] {
        "service" => {
            let before = behind(table, earlier);
            if before.is_none() && table.get("behind").is_some() {
                return None;
            }
            let service = service(table, before.map(|(_, before)| before), cpus)?;
            (Kind::Service(service), before.map(|(place, _)| place))
        }
        word => (read_kind(table, word)?, None),
    };
    let (group, memory) = (group.and_then(Result::ok), memory_use(table));
    let own = Program { group, nice, memory, behind, ..Program::new("", kind) };
    Some(join(table, own, earlier))
}

/// The program as a part of the process that it names, if it names one.
fn join(table: &Table, own: Program, earlier: &Programs) -> Program {
    let Some(wanted) = table.optional("process", name) else { return own };
    let programs = &earlier.list;
    let Some(process) = earlier.names.place(&wanted) else {
        let hint = earlier.names.hint(&wanted, |place| programs[place].process.is_none());
        table
            .wrong("process", format!("no program `{wanted}` before this one; expected one{hint}"));
        return own;
    };
    let host = &programs[process];
    if let Some(first) = host.process {
        let first = &programs[first].name;
        table.wrong(
            "process",
            format!("`{wanted}` is itself in the process of `{first}`: name that"),
        );
    }
    if matches!(own.kind, Kind::Service(_)) {
        table.wrong("process", "a service has a process of its own: let the other program name it");
    }
    if [&own.kind, &host.kind].iter().any(|kind| matches!(kind, Kind::Command { .. })) {
        table.wrong("process", "a command has processes of its own: leave `process` out");
    }
    if table.get("group").is_some() {
        table.wrong("group", format!("it is that of the process, `{wanted}`: leave it out"));
    }
    let nice = if table.get("nice").is_some() { own.nice } else { host.nice };
    Program { group: host.group, nice, process: Some(process), ..own }
}

fn read_kind(table: &Table, kind: &str) -> Option<Kind> {
    let count = whole(1, MOST_THREADS);
    let threads = || table.optional("threads", &count).unwrap_or(1);
    match kind {
        "batch" => Some(Kind::Batch { threads: threads() }),
        "daemon" => {
            let (run, sleep) = (table.required("run", span), table.required("sleep", span));
            Some(Kind::Daemon { threads: threads(), run: run?, sleep: sleep? })
        }
        "periodic" => {
            let (run, period) = (table.required("run", span), table.required("period", span));
            Some(Kind::Periodic { threads: threads(), run: run?, period: period? })
        }
        "replay" => replay(table),
        "command" => command(table),
        _ => {
            let (threads, work) = (table.required("threads", &count), table.required("work", span));
            let wait = match table.optional("wait", word(&WAITS)) {
                Some(1) => Wait::Yield,
                _ => Wait::Block,
            };
            Some(Kind::ForkJoin { threads: threads?, work: work?, wait })
        }
    }
}

/// A list of words, which no shell reads.
fn command(table: &Table) -> Option<Kind> {
    const KEY: &str = "command";
    if table.get(KEY).is_none() {
        table.missing(&[KEY]);
    }
    const EXAMPLE: &str = "[\"hackbench\", \"-g\", \"4\"]";
    let words = table.list(KEY, EXAMPLE, argument)?.into_iter().map(|(word, _)| word);
    Some(Kind::Command { command: words.collect() })
}

/// Two lists of spans, as long as each other.
fn replay(table: &Table) -> Option<Kind> {
    let spans = |key| {
        if table.get(key).is_none() {
            table.required(key, span);
        }
        let spans = table.list(key, DURATIONS, span)?.into_iter().map(|(span, _)| span);
        Some(spans.collect::<Arc<[Nanos]>>())
    };
    let (sleeps, runs) = (spans("sleeps"), spans("runs"));
    let (sleeps, runs) = (sleeps?, runs?);
    if sleeps.len() != runs.len() {
        let (found, expected) = (runs.len(), sleeps.len());
        table.wrong("runs", format!("found {found} for {expected} sleeps; expected as many"));
        return None;
    }
    Some(Kind::Replay { sleeps, runs })
}
