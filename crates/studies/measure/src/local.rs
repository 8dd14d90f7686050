//! The server's processes, where it runs on this machine: their CPU time and the CPUs that they may use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, SocketAddr};

use generator::{Address, Reading, Transport, clock};
use model::Nanos;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;

use crate::sockets::{self, Bound};

/// A thread serves if it uses at least this part of what the busiest one does.
const SERVES: f64 = 0.05;

/// The processes that listen at an address, or hold a connection that was accepted there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Their ids.
    pub processes: Vec<i32>,
}

/// What they have used so far.
pub struct Usage {
    /// Unknown once one of them has ended: its time is gone.
    cpu: Option<Nanos>,
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
    /// How many requests they could serve at a time: CPUs that they may use, or threads that served if those
    /// are fewer.
    pub workers: u32,
}

impl Local {
    /// The processes that serve there; `None` where it is another machine, or they are another user's.
    pub fn find(address: &Address, transport: Transport) -> Option<Local> {
        let sockets = match address {
            _ if !address.is_here() => return None,
            Address::Ip(address) => sockets(*address, transport),
            Address::Unix(path) => sockets::of_path(path),
        };
        let own = std::process::id() as i32;
        let holds = |pid: &i32| {
            let held = || sockets::held(*pid as u32).unwrap_or_default();
            *pid != own && held().iter().any(|inode| sockets.contains(inode))
        };
        let processes: Vec<i32> = numbers("/proc").into_iter().filter(holds).collect();
        (!processes.is_empty()).then_some(Local { processes })
    }

    /// CPU time of all threads up to now, if none of the processes has ended.
    pub fn cpu(&self) -> Option<Nanos> {
        self.processes.iter().map(|pid| Some(process_cpu(*pid)?.0)).sum::<Option<u64>>().map(Nanos)
    }

    /// What they have used up to now.
    pub fn usage(&self) -> Usage {
        let cpu = self.cpu();
        let tasks = self.processes.iter().flat_map(|pid| {
            let folder = format!("/proc/{pid}/task");
            numbers(&folder).into_iter().map(move |tid| (tid, format!("{folder}/{tid}/schedstat")))
        });
        let threads: BTreeMap<i32, Nanos> = tasks
            .filter_map(|(tid, path)| Some((tid, Reading::parse(&fs::read(path).ok()?)?.cpu)))
            .collect();
        let cpus: BTreeSet<usize> = threads.keys().flat_map(|tid| allowed(*tid)).collect();
        Usage { cpu, threads, cpus: cpus.len() }
    }

    /// What they used between two readings; `None` where one of them ended before the second: a process a
    /// connection does, where connections end.
    pub fn used(&self, before: &Usage, after: &Usage) -> Option<Used> {
        let cpu = after.cpu?.saturating_sub(before.cpu?);
        let grown = after.threads.iter().map(|(tid, cpu)| {
            cpu.saturating_sub(before.threads.get(tid).copied().unwrap_or_default()).0
        });
        let grown: Vec<u64> = grown.collect();
        let busiest = grown.iter().copied().max().unwrap_or(0) as f64;
        let serve = grown.iter().filter(|cpu| **cpu as f64 >= SERVES * busiest).count();
        let workers = after.cpus.min(serve).max(1) as u32;
        Some(Used { processes: self.processes.clone(), cpu, workers })
    }
}

/// CPU time of a process, of threads that have ended, too; the clock is exact.
fn process_cpu(pid: i32) -> Option<Nanos> {
    let clock = clock_getcpuclockid(Pid::from_raw(pid)).and_then(|clock| clock.now());
    clock.map(clock::from_timespec).ok()
}

fn allowed(tid: i32) -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(tid)).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect()
}

/// The inodes of sockets that listen at the address, or at its port on all addresses, and of those that were
/// accepted there.
fn sockets(address: SocketAddr, transport: Transport) -> BTreeSet<String> {
    let states = sockets::serving(transport);
    let bound = sockets::in_states("/proc/net", transport, states).into_iter();
    bound.filter(|socket| serves(socket, address)).map(|socket| socket.inode).collect()
}

/// Whether a socket takes what is sent to an address.
fn serves(socket: &Bound, address: SocketAddr) -> bool {
    let is_all = socket.ip.bytes().all(|digit| digit == b'0');
    let same = match address.ip() {
        // The table shows the address as a number of the machine's own byte order.
        IpAddr::V4(v4) => {
            u32::from_str_radix(&socket.ip, 16).ok() == Some(u32::from_ne_bytes(v4.octets()))
        }
        IpAddr::V6(_) => socket.ip.len() == 32,
    };
    socket.port == address.port() && (is_all || same)
}

/// The entries of a folder that are numbers.
pub(crate) fn numbers(folder: &str) -> Vec<i32> {
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
    fn the_kernels_table_tells_serving_processes() {
        let at = |text: &str| -> Vec<String> {
            let rows = sockets::rows(TABLE, sockets::serving(Transport::Stream));
            let here = rows.filter(|socket| serves(socket, text.parse().unwrap()));
            here.map(|socket| socket.inode).collect()
        };
        assert_eq!(at("127.0.0.1:11211"), ["4711", "4713"]);
        assert_eq!(at("127.0.0.2:11211"), Vec::<String>::new());
        assert_eq!(at("127.0.0.2:11212"), ["4712"]);
    }

    #[test]
    fn this_process_is_no_server_of_others() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(Local::find(&address.into(), Transport::Stream), None);
        assert!(!sockets(address, Transport::Stream).is_empty());
    }
}
