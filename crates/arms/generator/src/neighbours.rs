//! Programs, interrupts and the host that share CPUs with this process, as /proc tells it.

use std::collections::BTreeMap;
use std::fs;

use crate::processes::{numbers, started_by};

/// One thread's CPU time so far, in the kernel's ticks of 10 ms.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Used {
    name: String,
    ticks: u64,
}

/// Looks at the CPUs' users again and again.
#[derive(Debug)]
pub struct Neighbours {
    cpus: Vec<usize>,
    first: Times,
    last: Times,
    threads: BTreeMap<u32, Used>,
    by_name: BTreeMap<String, u64>,
    /// Whether what this process started is none of them.
    of_strangers: bool,
}

/// What a set of CPUs did, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    all: u64,
    idle: u64,
    interrupts: u64,
    stolen: u64,
}

/// How CPUs were shared between two moments; shares are of their time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sharing {
    /// The CPUs.
    pub cpus: Vec<usize>,
    /// What this process did not use, and was not idle.
    pub others: f64,
    /// Of that, interrupts and softirqs.
    pub interrupts: f64,
    /// Of that, what the host took.
    pub stolen: f64,
    /// Other programs' threads that were seen on these CPUs, by program, the greatest first.
    pub programs: Vec<(String, f64)>,
}

/// A smaller share of the CPUs' time delays nobody much.
const LEAST_SAID: f64 = 0.01;
/// As many of those who had the time are named.
const MOST_SAID: usize = 3;

impl Sharing {
    /// Who had 1% of the CPUs' time or more beside this process, the greatest first, as a sentence; empty
    /// where nobody had.
    pub fn said(&self) -> String {
        let host = ("the host of this virtual machine".to_string(), self.stolen);
        let interrupts = ("interrupts".to_string(), self.interrupts);
        let mut all = [self.programs.clone(), vec![host, interrupts]].concat();
        all.retain(|(_, share)| *share >= LEAST_SAID);
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let of = |(who, share): &(String, f64)| format!("{who} ({:.0}%)", 100.0 * share);
        let all: Vec<String> = all.iter().take(MOST_SAID).map(of).collect();
        if all.is_empty() { String::new() } else { format!("Its CPU went to {}. ", all.join(", ")) }
    }
}

impl Neighbours {
    /// Begins to look.
    pub fn new(cpus: &[usize]) -> Neighbours {
        Neighbours::beginning(cpus, false)
    }

    /// The same but for all that this process started, and what that did.
    pub fn of_strangers(cpus: &[usize]) -> Neighbours {
        Neighbours::beginning(cpus, true)
    }

    fn beginning(cpus: &[usize], of_strangers: bool) -> Neighbours {
        let first = times(cpus);
        let mut neighbours = Neighbours {
            cpus: cpus.to_vec(),
            first,
            last: first,
            threads: BTreeMap::new(),
            by_name: BTreeMap::new(),
            of_strangers,
        };
        neighbours.look();
        neighbours.by_name.clear();
        neighbours
    }

    /// Looks again: a thread's time since the last look counts for the CPU on which it is found.
    pub fn look(&mut self) {
        self.last = times(&self.cpus);
        let seen = threads(self.of_strangers);
        for (id, (cpu, used)) in &seen {
            let before = self.threads.get(id).map_or(0, |before| before.ticks);
            let more = used.ticks.saturating_sub(before);
            if more > 0 && self.cpus.contains(cpu) {
                *self.by_name.entry(used.name.clone()).or_default() += more;
            }
        }
        self.threads = seen.into_iter().map(|(id, (_, used))| (id, used)).collect();
    }

    /// What was seen since the beginning, where this process used `own` of the CPUs' time.
    pub fn sharing(&self, own: f64) -> Sharing {
        let of = |pick: fn(&Times) -> u64| pick(&self.last).saturating_sub(pick(&self.first));
        let all = of(|times| times.all).max(1) as f64;
        let share = |ticks: u64| ticks as f64 / all;
        let busy = 1.0 - share(of(|times| times.idle));
        let mut programs: Vec<(String, f64)> =
            self.by_name.iter().map(|(name, ticks)| (name.clone(), share(*ticks))).collect();
        programs.sort_by(|a, b| b.1.total_cmp(&a.1));
        Sharing {
            cpus: self.cpus.clone(),
            others: (busy - own).max(0.0),
            interrupts: share(of(|times| times.interrupts)),
            stolen: share(of(|times| times.stolen)),
            programs,
        }
    }
}

fn times(cpus: &[usize]) -> Times {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    cpus.iter().filter_map(|cpu| line(&text, *cpu)).fold(Times::default(), |sum, one| Times {
        all: sum.all + one.all,
        idle: sum.idle + one.idle,
        interrupts: sum.interrupts + one.interrupts,
        stolen: sum.stolen + one.stolen,
    })
}

/// A CPU's line: user, nice, system, idle, iowait, irq, softirq, steal.
fn line(text: &str, cpu: usize) -> Option<Times> {
    let name = format!("cpu{cpu}");
    let line = text.lines().find(|line| line.split(' ').next() == Some(&name))?;
    let numbers = line.split_whitespace().skip(1).take(8).map(str::parse);
    let [user, nice, system, idle, waiting, irq, softirq, stolen] =
        numbers.collect::<Result<Vec<u64>, _>>().ok()?.try_into().ok()?;
    let idle = idle + waiting;
    let interrupts = irq + softirq;
    Some(Times { all: user + nice + system + idle + interrupts + stolen, idle, interrupts, stolen })
}

/// All threads but this process's own, and perhaps those of its descendants: by id the CPU that each was last
/// on, and what it used.
fn threads(of_strangers: bool) -> BTreeMap<u32, (usize, Used)> {
    let mut own = if of_strangers { started_by(std::process::id()) } else { Vec::new() };
    own.push(std::process::id());
    let processes = numbers("/proc").into_iter().filter(|pid| !own.contains(pid));
    let threads = processes.flat_map(|pid| {
        let folder = format!("/proc/{pid}/task");
        numbers(&folder).into_iter().map(move |tid| (tid, format!("{folder}/{tid}/stat")))
    });
    threads
        .filter_map(|(tid, path)| Some((tid, thread(&fs::read_to_string(path).ok()?)?)))
        .collect()
}

/// A thread's line: `4711 (a name) S ...`, of which the 14th and 15th field are its time and the 39th is its
/// CPU.
fn thread(text: &str) -> Option<(usize, Used)> {
    let (before, after) = text.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_string();
    let fields: Vec<&str> = after.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some((number(39)? as usize, Used { name, ticks: number(14)? + number(15)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpus_line_is_read() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu1 1 2 3 40 5 6 7 8 0 0\n";
        let times = Times { all: 72, idle: 45, interrupts: 13, stolen: 8 };
        assert_eq!(line(text, 1), Some(times));
        assert_eq!(line(text, 2), None);
    }

    #[test]
    fn those_who_had_the_time_are_said_and_nobody_else() {
        let programs = [("cc1", 0.12), ("sshd", 0.009)].map(|(name, x)| (name.to_string(), x));
        let sharing = Sharing { programs: programs.to_vec(), stolen: 0.071, ..Sharing::default() };
        assert_eq!(
            sharing.said(),
            "Its CPU went to cc1 (12%), the host of this virtual machine (7%). "
        );
        assert_eq!(Sharing::default().said(), "");
    }

    #[test]
    fn a_threads_line_is_read_whatever_its_name() {
        let mut fields = vec!["0"; 50];
        (fields[11], fields[12], fields[36]) = ("70", "7", "3");
        let text = format!("12 (a) b) {}", fields.join(" "));
        assert_eq!(thread(&text), Some((3, Used { name: "a) b".into(), ticks: 77 })));
        assert_eq!(thread("12 (a) S 1"), None);
    }

    #[test]
    fn a_program_at_work_on_a_cpu_is_named_and_one_elsewhere_is_not() {
        let cpus: Vec<usize> = (0..1_024).collect();
        let mut all = Neighbours::new(&cpus);
        let mut none = Neighbours::new(&[]);
        let mut child = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .expect("a shell");
        // A tick is 10 ms: until it had some of them, however busy the machine is.
        let name = |neighbours: &Neighbours| {
            neighbours.sharing(0.0).programs.iter().any(|(name, _)| name == "sh")
        };
        for _ in 0..200 {
            std::thread::sleep(std::time::Duration::from_millis(50));
            all.look();
            none.look();
            if name(&all) {
                break;
            }
        }
        let mut strangers = Neighbours::of_strangers(&cpus);
        let own = child.id();
        let is_child = |(pid, of): (&u32, &(usize, Used))| *pid == own && of.1.name == "sh";
        assert!(threads(false).iter().any(is_child), "the control");
        assert!(!threads(true).iter().any(is_child), "this process started it");
        strangers.look();
        child.kill().and_then(|()| child.wait()).expect("its end");
        assert!(name(&all) && !name(&none) && !strangers.threads.contains_key(&own));
    }
}
