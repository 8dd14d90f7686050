//! Sockets that wait for clients, out of the kernel's tables in /proc.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use generator::{Transport, started_by};
use model::Failure;

use crate::local::numbers;

/// A server's socket: it listens, or it has been accepted, or it is bound for datagrams and not connected.
pub(crate) struct Bound {
    /// Its address, in the table's own hexadecimal digits.
    pub ip: String,
    pub port: u16,
    /// What links of /proc/PID/fd name it by.
    pub inode: String,
}

/// The kernel's numbers of the states of sockets that wait for clients: TCP_LISTEN, and TCP_CLOSE, which is a
/// datagram socket without a peer.
pub(crate) fn waiting(transport: Transport) -> &'static [&'static str] {
    match transport {
        Transport::Stream => &["0A"],
        Transport::Datagram => &["07"],
    }
}

/// Those of sockets that serve: TCP_ESTABLISHED, too, as a process a connection holds no other.
pub(crate) fn serving(transport: Transport) -> &'static [&'static str] {
    match transport {
        Transport::Stream => &["0A", "01"],
        Transport::Datagram => waiting(transport),
    }
}

/// Those of a kernel's `net` folder that wait for clients, of both versions of IP.
fn bound(folder: &str, transport: Transport) -> Vec<Bound> {
    in_states(folder, transport, waiting(transport))
}

/// Those in some states.
pub(crate) fn in_states(folder: &str, transport: Transport, states: &[&str]) -> Vec<Bound> {
    let name = match transport {
        Transport::Stream => "tcp",
        Transport::Datagram => "udp",
    };
    let tables = [format!("{folder}/{name}"), format!("{folder}/{name}6")];
    let texts = tables.iter().filter_map(|path| fs::read_to_string(path).ok());
    texts.flat_map(|text| rows(&text, states).collect::<Vec<_>>()).collect()
}

/// Those of one table: lines of a number, `0100007F:2BCB`, the peer, the state and more.
pub(crate) fn rows(table: &str, states: &[&str]) -> impl Iterator<Item = Bound> {
    table.lines().filter_map(move |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (state, inode) = (words.get(3)?, words.get(9)?);
        let (ip, port) = words[1].rsplit_once(':').filter(|_| states.contains(state))?;
        let port = u16::from_str_radix(port, 16).ok()?;
        Some(Bound { ip: ip.to_string(), port, inode: inode.to_string() })
    })
}

/// The inodes of unix sockets that a server has bound to a path or accepted there.
pub(crate) fn of_path(path: &Path) -> BTreeSet<String> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    unix_rows(&table, |bound| bound == path || is_same(bound, path)).collect()
}

/// Those of the kernel's table: address, three numbers, type, state, inode, path. A path may hold spaces.
fn unix_rows(table: &str, is_wanted: impl Fn(&Path) -> bool) -> impl Iterator<Item = String> {
    table.lines().filter_map(move |line| {
        let (before, path) = line.split_once(" /")?;
        let inode = before.rsplit(' ').next()?.to_string();
        is_wanted(Path::new(&format!("/{path}"))).then_some(inode)
    })
}

/// The kernel's flag of a unix socket that listens (__SO_ACCEPTCON).
const LISTENS: &str = "00010000";

/// The paths of these sockets at which clients are waited for; an abstract one begins with `@`.
fn listening_paths(table: &str, held: &[String]) -> impl Iterator<Item = String> {
    table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (flags, inode) = (words.get(3)?, words.get(6)?);
        let is_wanted = *flags == LISTENS && held.iter().any(|own| own == inode);
        is_wanted.then(|| words[7..].join(" ")).filter(|path| !path.is_empty())
    })
}

/// What a process without a port was found to have, and what would help.
fn portless(paths: &[String]) -> String {
    match paths {
        [] => {
            "it listens at no port: name the process that does, which `ss -lntup` shows".to_string()
        }
        _ => format!(
            "it listens at no port, but at the unix socket {}, over which no packet goes: let it listen at a port, \
             too, and send its requests there, or measure it from a client with `rearguard measure`",
            paths.join(", ")
        ),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    real(one).is_some_and(|one| real(other) == Some(one))
}

/// The inodes of the sockets that a process holds.
pub(crate) fn held(process: u32) -> io::Result<Vec<String>> {
    let inode = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_string())
    };
    Ok(fs::read_dir(format!("/proc/{process}/fd"))?.flatten().filter_map(inode).collect())
}

/// The port that was named, else the one of a process. [`Failure::Input`] where that has none, or several to
/// choose from.
pub fn port_of(port: Option<u16>, process: Option<u32>) -> Result<u16, Failure> {
    port.map_or_else(|| listening_port(process.unwrap_or(0)), Ok)
}

/// The one port at which a process waits for clients, or one that it started.
fn listening_port(process: u32) -> Result<u16, Failure> {
    let mut held = held(process)
        .map_err(|error| Failure::Input(format!("--pid {process}: /proc/{process}/fd: {error}")))?;
    for below in started_by(process) {
        held.extend(self::held(below).unwrap_or_default());
    }
    let net = format!("/proc/{process}/net");
    let all = [Transport::Stream, Transport::Datagram].map(|transport| bound(&net, transport));
    let mut ports: Vec<u16> = ports(all.into_iter().flatten(), &held).collect();
    ports.sort_unstable();
    ports.dedup();
    match ports[..] {
        [port] => Ok(port),
        [] => {
            let table = fs::read_to_string(format!("{net}/unix")).unwrap_or_default();
            let paths: Vec<String> = listening_paths(&table, &held).collect();
            Err(Failure::Input(format!("--pid {process}: {}", portless(&paths))))
        }
        _ => Err(Failure::Input(format!(
            "--pid {process}: it listens at ports {ports:?}: choose one with --port"
        ))),
    }
}

/// Whether a process of this machine waits for clients at a port, in whichever network namespace.
/// [`Failure::Input`] where none does.
pub fn check_listening(port: u16) -> Result<(), Failure> {
    let mut namespaces = BTreeMap::from([(PathBuf::new(), "/proc/net".to_string())]);
    for process in numbers("/proc") {
        if let Ok(namespace) = fs::read_link(format!("/proc/{process}/ns/net")) {
            namespaces.entry(namespace).or_insert(format!("/proc/{process}/net"));
        }
    }
    let kinds = [Transport::Stream, Transport::Datagram];
    let mut folders = namespaces.values().flat_map(|net| kinds.map(|kind| bound(net, kind)));
    if folders.any(|sockets| sockets.iter().any(|socket| socket.port == port)) {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "--port {port}: no process of this machine listens there: start the service first, or see the ports with `ss -lntup`"
    )))
}

fn ports(bound: impl Iterator<Item = Bound>, held: &[String]) -> impl Iterator<Item = u16> {
    bound.filter(|socket| held.contains(&socket.inode)).map(|socket| socket.port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_socket_is_known_by_its_inode_and_state() {
        let line = "   0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100 0 0 10 0";
        let port = |transport, inode: &str| {
            ports(rows(line, waiting(transport)), &[inode.to_string()]).next()
        };
        assert_eq!(port(Transport::Stream, "4711"), Some(11211));
        assert_eq!(port(Transport::Stream, "4712"), None);
        assert_eq!(port(Transport::Datagram, "4711"), None);
    }

    #[test]
    fn a_unix_socket_is_known_by_its_path() {
        const TABLE: &str = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 30838 /run/a b.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 30840 /run/a b.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 30841\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 30842 @/run/a b.sock\n";
        let of = |wanted: &str| {
            let inodes = unix_rows(TABLE, |path| path == Path::new(wanted));
            inodes.collect::<Vec<_>>()
        };
        assert_eq!(of("/run/a b.sock"), ["30838", "30840"]);
        assert_eq!(of("/run/a"), [""; 0]);
    }

    #[test]
    fn a_socket_of_this_process_is_found_under_each_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("s"), folder.path().join("link"));
        assert_eq!(of_path(&path), BTreeSet::new());
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let held = held(std::process::id()).unwrap();
        let found = of_path(&path);
        assert!(found.len() == 1 && found.iter().all(|inode| held.contains(inode)), "{found:?}");
        assert_eq!(of_path(&link), found);
        let _client = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let _accepted = listener.accept().unwrap();
        assert_eq!(of_path(&path).len(), 2);
    }

    #[test]
    fn a_process_without_a_port_is_told_of_its_unix_socket() {
        const TABLE: &str = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 38 /run/a b.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 39 /run/a b.sock\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 40 @abstract\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 41 /run/other.sock\n";
        let of = |inodes: &[&str]| {
            let held: Vec<String> = inodes.iter().map(ToString::to_string).collect();
            listening_paths(TABLE, &held).collect::<Vec<_>>()
        };
        assert_eq!(of(&["38", "39", "40"]), ["/run/a b.sock", "@abstract"]);
        assert_eq!(of(&["39"]), [""; 0], "the control: it is accepted and does not listen");
        let (found, none) = (portless(&of(&["38"])), portless(&[]));
        assert!(found.contains("/run/a b.sock") && found.contains("let it listen at a port"));
        assert!(
            none.contains("`ss -lntup` shows") && !none.contains("unix"),
            "the control: {none}"
        );
    }

    #[test]
    fn a_port_where_none_listens_is_refused() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(check_listening(port), Ok(()));
        drop(listener);
        assert!(matches!(check_listening(port), Err(Failure::Input(_))));
    }
}
