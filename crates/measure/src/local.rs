//! The server's processes, where it runs on this machine: their CPU time and the CPUs that they may use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use generator::{Reading, Transport, clock};
use model::Nanos;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;

/// A thread serves if it uses at least this part of what the busiest one does.
const SERVES: f64 = 0.05;
/// The state of a listening socket, and of a bound UDP socket, in /proc/net.
const LISTENING: &str = "0A";
const BOUND: &str = "07";

/// The processes that listen at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Their ids.
    pub processes: Vec<i32>,
}

/// What they have used so far.
pub struct Usage {
    cpu: Nanos,
    threads: BTreeMap<i32, Nanos>,
    cpus: usize,
}

/// What they used between two moments.
#[derive(Clone, Debug, PartialEq)]
pub struct Used {
    /// Their ids.
    pub processes: Vec<i32>,
    /// CPU time of all threads.
    pub cpu: Nanos,
    /// How many requests they could serve at a time: CPUs that they may use, or threads that served if those are fewer.
    pub workers: u32,
}

impl Local {
    /// The processes that listen there; `None` where it is another machine, or they are another user's.
    pub fn find(address: SocketAddr, transport: Transport) -> Option<Local> {
        // Only an address of this machine can be bound.
        UdpSocket::bind((address.ip(), 0)).ok()?;
        let sockets = sockets(address, transport);
        let own = std::process::id() as i32;
        let holds =
            |pid: &i32| *pid != own && open_sockets(*pid).iter().any(|s| sockets.contains(s));
        let processes: Vec<i32> = numbers("/proc").into_iter().filter(holds).collect();
        (!processes.is_empty()).then_some(Local { processes })
    }

    /// What they have used up to now.
    pub fn usage(&self) -> Usage {
        let cpu = self.processes.iter().map(|pid| process_cpu(*pid).0).sum();
        let tasks = self.processes.iter().flat_map(|pid| {
            let folder = format!("/proc/{pid}/task");
            numbers(&folder).into_iter().map(move |tid| (tid, format!("{folder}/{tid}/schedstat")))
        });
        let threads: BTreeMap<i32, Nanos> = tasks
            .filter_map(|(tid, path)| Some((tid, Reading::parse(&fs::read(path).ok()?)?.cpu)))
            .collect();
        let cpus: BTreeSet<usize> = threads.keys().flat_map(|tid| allowed(*tid)).collect();
        Usage { cpu: Nanos(cpu), threads, cpus: cpus.len() }
    }

    /// What they used between two readings.
    pub fn used(&self, before: &Usage, after: &Usage) -> Used {
        let grown = after.threads.iter().map(|(tid, cpu)| {
            cpu.saturating_sub(before.threads.get(tid).copied().unwrap_or_default()).0
        });
        let grown: Vec<u64> = grown.collect();
        let busiest = grown.iter().copied().max().unwrap_or(0) as f64;
        let serve = grown.iter().filter(|cpu| **cpu as f64 >= SERVES * busiest).count();
        Used {
            processes: self.processes.clone(),
            cpu: after.cpu.saturating_sub(before.cpu),
            workers: after.cpus.min(serve).max(1) as u32,
        }
    }
}

/// CPU time of a process, of threads that have ended, too; the clock is exact.
fn process_cpu(pid: i32) -> Nanos {
    let clock = clock_getcpuclockid(Pid::from_raw(pid)).and_then(|clock| clock.now());
    clock.map_or(Nanos::ZERO, clock::from_timespec)
}

fn allowed(tid: i32) -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(tid)).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect()
}

/// The inodes of sockets that listen at the address, or at its port on all addresses.
fn sockets(address: SocketAddr, transport: Transport) -> BTreeSet<String> {
    let (name, state) = match transport {
        Transport::Stream => ("tcp", LISTENING),
        Transport::Datagram => ("udp", BOUND),
    };
    let tables = [name.to_string(), format!("{name}6")];
    let texts = tables.iter().filter_map(|t| fs::read_to_string(format!("/proc/net/{t}")).ok());
    texts.flat_map(|text| listening(&text, address, state)).collect()
}

fn listening(table: &str, address: SocketAddr, state: &str) -> Vec<String> {
    let lines = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let here = |words: &Vec<&str>| {
        words.len() > 9 && words[3] == state && serves(words[1], address).unwrap_or(false)
    };
    lines.filter(here).map(|words| words[9].to_string()).collect()
}

/// Whether a local address of the kernel's table, `0100007F:2BCB`, takes what is sent to an address.
fn serves(local: &str, address: SocketAddr) -> Option<bool> {
    let (ip, port) = local.split_once(':')?;
    if u16::from_str_radix(port, 16).ok()? != address.port() {
        return Some(false);
    }
    let is_all = ip.bytes().all(|digit| digit == b'0');
    let same = match address.ip() {
        // The table shows the address as a number of the machine's own byte order.
        IpAddr::V4(v4) => u32::from_str_radix(ip, 16).ok() == Some(u32::from_ne_bytes(v4.octets())),
        IpAddr::V6(_) => ip.len() == 32,
    };
    Some(is_all || same)
}

fn open_sockets(pid: i32) -> Vec<String> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let inode = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_string())
    };
    links.filter_map(inode).collect()
}

/// The entries of a folder that are numbers.
fn numbers(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
        0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0\n   \
        1: 00000000:2BCC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0\n   \
        2: 0100007F:2BCB 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0\n";

    #[test]
    fn the_kernels_table_tells_who_listens() {
        let at = |text: &str| listening(TABLE, text.parse().unwrap(), LISTENING);
        assert_eq!(at("127.0.0.1:11211"), ["4711"]);
        assert_eq!(at("127.0.0.2:11211"), Vec::<String>::new());
        assert_eq!(at("127.0.0.2:11212"), ["4712"]);
    }

    #[test]
    fn this_process_is_no_server_of_others() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(Local::find(listener.local_addr().unwrap(), Transport::Stream), None);
        assert!(!sockets(listener.local_addr().unwrap(), Transport::Stream).is_empty());
    }
}
