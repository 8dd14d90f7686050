//! What ran beside the services, as programs of a scenario.

use std::collections::{BTreeMap, BTreeSet};

use model::{Nanos, Trace};
use trace::Header;

use crate::activity::Activity;
use crate::service::list;

/// Threads that had less of a CPU than this are left out.
const LEFT_OUT: f64 = 0.000_2;
/// Threads and runs at most: so many are simulated within seconds.
const MOST_THREADS: usize = 200;
const MOST_RUNS: usize = 200_000;
/// What was given a CPU so often, and only ever some, is taken to be pinned there.
const SURELY_PINNED: usize = 20;

/// Tables for the end of a scenario, and what they rest on.
#[derive(Debug, Default)]
pub struct Others {
    pub text: String,
    /// Threads that are in it.
    pub threads: usize,
    /// Threads that are not, and their CPU time.
    pub left_out: (usize, Nanos),
}

/// The threads of the programs from `known` on, and of `helped` (by program, the service's name) those that
/// serve no request. `groups` are the scenario's own.
pub fn others(
    header: &Header,
    trace: &Trace,
    activities: &[Activity],
    (known, helped): (usize, &BTreeMap<usize, String>),
    groups: &mut BTreeSet<String>,
) -> Others {
    let is_other = |thread: &usize| {
        let program = trace.threads[*thread].program;
        let helps = helped.contains_key(&program) && !activities[*thread].serves;
        activities[*thread].ran > Nanos::ZERO
            && (helps || program >= known && !helped.contains_key(&program))
    };
    let mut threads: Vec<usize> = (0..activities.len()).filter(is_other).collect();
    threads.sort_by_key(|thread| (std::cmp::Reverse(activities[*thread].ran), *thread));
    let kept = worth_it(&threads, activities, trace.window.end);
    let mut found = Others { threads: kept, ..Others::default() };
    let rest = &threads[kept..];
    let ran = rest.iter().map(|thread| activities[*thread].ran);
    found.left_out = (rest.len(), ran.fold(Nanos::ZERO, Nanos::saturating_add));
    let mut writer = Writer { header, groups, processes: BTreeMap::new(), text: String::new() };
    for thread in &threads[..kept] {
        let program = trace.threads[*thread].program;
        writer.thread(&activities[*thread], program, helped.get(&program));
    }
    found.text = writer.text;
    found
}

/// How many of these threads, the busiest first, are simulated.
fn worth_it(threads: &[usize], activities: &[Activity], until: Nanos) -> usize {
    let mut runs = 0;
    let enough = |thread: &&usize| {
        let one = &activities[**thread];
        runs += one.cycles.len();
        one.ran.0 as f64 >= LEFT_OUT * until.0 as f64 && runs <= MOST_RUNS
    };
    threads.iter().take_while(enough).take(MOST_THREADS).count()
}

struct Writer<'a> {
    header: &'a Header,
    groups: &'a mut BTreeSet<String>,
    /// By program, the name of the first thread's table and how many follow it.
    processes: BTreeMap<usize, (String, usize)>,
    text: String,
}

impl Writer<'_> {
    fn thread(&mut self, one: &Activity, program: usize, helps: Option<&String>) {
        let own = named(&self.header.programs[program].name, program);
        let first = helps.map_or(own, String::clone);
        let (name, host) = match self.processes.get_mut(&program) {
            Some((host, more)) => {
                *more += 1;
                (format!("{host}-t{more}"), Some(host.clone()))
            }
            None if helps.is_some() => {
                self.processes.insert(program, (first.clone(), 1));
                (format!("{first}-t1"), Some(first))
            }
            None => {
                self.processes.insert(program, (first.clone(), 1));
                (first, None)
            }
        };
        let place = match host {
            Some(host) => format!("process = \"{host}\"\n"),
            None => self.place(program),
        };
        let what = what(one, Nanos(self.header.window_end_ns));
        self.text += &format!("\n[[program]]\nname = \"{name}\"\n{place}{what}");
        self.text += &pinned(&name, std::iter::once(one), self.header.cpus.cpus);
    }

    /// The group of a program; its table first, where there is none yet.
    fn place(&mut self, program: usize) -> String {
        let Some(group) = self.header.programs[program].group else { return String::new() };
        let path = group_path(&self.header.groups[group].name);
        self.text += &group_tables(&path, self.groups);
        if path.is_empty() { path } else { format!("group = \"{path}\"\n") }
    }
}

/// The change that pins a program where all of its threads were, if that is fewer CPUs than there are.
pub fn pinned<'a>(name: &str, threads: impl Iterator<Item = &'a Activity>, cpus: u32) -> String {
    let (mut seen, mut begun) = (BTreeSet::new(), 0);
    for one in threads {
        seen.extend(one.cpus.iter().map(|cpu| cpu.0));
        begun += one.begun;
    }
    if seen.is_empty() || seen.len() >= cpus as usize || begun < SURELY_PINNED {
        return String::new();
    }
    let seen: Vec<String> = seen.iter().map(u32::to_string).collect();
    format!("\n[[change]]\nat = \"0ns\"\nprogram = \"{name}\"\ncpus = [{}]\n", seen.join(", "))
}

fn what(one: &Activity, end: Nanos) -> String {
    if one.spins(end) {
        return "kind = \"batch\"\n".to_string();
    }
    let (sleeps, runs): (Vec<Nanos>, Vec<Nanos>) = one.cycles.iter().copied().unzip();
    let sleeps: Vec<Nanos> = sleeps.into_iter().map(|sleep| sleep.max(Nanos(1))).collect();
    format!("kind = \"replay\"\nsleeps = {}\nruns = {}\n", list(&sleeps), list(&runs))
}

/// The `[[group]]` of a path and of all above it, as far as there are none.
pub fn group_tables(path: &str, known: &mut BTreeSet<String>) -> String {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let new = ends.map(|end| path[..end].to_string()).filter(|own| !own.is_empty());
    let new = new.filter(|own| known.insert(own.clone()));
    new.map(|own| format!("\n[[group]]\nname = \"{own}\"\n")).collect()
}

/// A cgroup's path as scenarios have it.
pub fn group_path(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty()).map(plain);
    parts.collect::<Vec<_>>().join("/")
}

/// A program's name as scenarios have it; the number keeps two alike apart.
pub fn named(name: &str, program: usize) -> String {
    format!("{}-p{program}", plain(name).chars().take(40).collect::<String>())
}

pub(crate) fn plain(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = name.chars().map(|c| if fits(c) { c } else { '-' }).take(64).collect();
    name.trim_matches('-').to_string()
}
