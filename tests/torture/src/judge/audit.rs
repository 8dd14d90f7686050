//! Every thread of the machine, the kernel's own too: the ones that want a CPU, and since when they have had
//! none.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// The threads that waited at the last look.
#[derive(Default)]
pub struct Audit {
    waiting: BTreeMap<u32, Waiting>,
}

struct Waiting {
    /// CPU time and number of slices so far: no change, no CPU.
    received: String,
    since: Instant,
}

impl Audit {
    /// Looks at all threads: the thread that has wanted a CPU for longest, and its wait.
    pub fn longest_wait(&mut self) -> Option<(Duration, String)> {
        let mut before = std::mem::take(&mut self.waiting);
        let mut longest: Option<(Duration, u32)> = None;
        for (thread, received) in runnable_threads() {
            let since = before
                .remove(&thread)
                .filter(|then| then.received == received)
                .map_or_else(Instant::now, |then| then.since);
            let wait = since.elapsed();
            if longest.is_none_or(|(most, _)| wait > most) {
                longest = Some((wait, thread));
            }
            self.waiting.insert(thread, Waiting { received, since });
        }
        longest.map(|(wait, thread)| (wait, describe(thread)))
    }
}

/// All threads in state R, with what they have received.
fn runnable_threads() -> Vec<(u32, String)> {
    let processes = numbers("/proc").into_iter();
    let threads = processes.flat_map(|process| {
        let tasks = format!("/proc/{process}/task");
        numbers(&tasks).into_iter().map(move |thread| (process, thread))
    });
    threads.filter_map(|(process, thread)| Some((thread, received(process, thread)?))).collect()
}

fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// CPU time and slices of a thread that wants a CPU; `None`: it does not, or is gone.
fn received(process: u32, thread: u32) -> Option<String> {
    let folder = format!("/proc/{process}/task/{thread}");
    let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
    if state(&stat)? != 'R' {
        return None;
    }
    let schedstat = fs::read_to_string(format!("{folder}/schedstat")).ok()?;
    of_schedstat(&schedstat)
}

/// The state stands behind the name, which may hold anything.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(") ")?.1.chars().next()
}

/// CPU time, time waited, slices: the second grows only when a wait ends.
fn of_schedstat(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let (ran, slices) = (words.next()?, words.nth(1)?);
    Some(format!("{ran} {slices}"))
}

/// The nice value and the class's number (`SCHED_`): proc(5) counts them as the 19th and 41st, the state as
/// the third.
fn nice_and_class(stat: &str) -> Option<(String, String)> {
    let words: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
    Some((words.get(19 - 3)?.to_string(), words.get(41 - 3)?.to_string()))
}

fn describe(thread: u32) -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/{thread}/{name}"));
    let name = read("comm").unwrap_or_default();
    let status = read("status").unwrap_or_default();
    let wanted = ["Tgid:", "State:", "Cpus_allowed_list:"];
    let lines = status.lines().filter(|line| wanted.iter().any(|key| line.starts_with(key)));
    let about: Vec<String> = lines.map(|line| line.replace('\t', " ")).collect();
    let (nice, class) = nice_and_class(&read("stat").unwrap_or_default()).unwrap_or_default();
    format!("thread {thread} ({}; {}; nice {nice}, class {class})", name.trim(), about.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lines_are_read() {
        assert_eq!(state("12 (a) R (b)) S 1 2"), Some('S'));
        assert_eq!(state("12 (x) R 1 2"), Some('R'));
        assert_eq!(of_schedstat("100 7 3\n"), Some("100 3".into()));
        assert_eq!(of_schedstat(""), None);
    }

    #[test]
    fn the_reading_thread_has_a_cpu_and_does_not_wait() {
        let mut audit = Audit::default();
        audit.longest_wait();
        let me = nix::unistd::gettid().as_raw() as u32;
        let spin = Instant::now();
        while spin.elapsed() < Duration::from_millis(50) {}
        audit.longest_wait();
        let wait = audit.waiting.get(&me).map(|waiting| waiting.since.elapsed());
        assert!(wait.is_none_or(|wait| wait < Duration::from_millis(40)), "{wait:?}");
    }
}
