//! A running service watched, as a user meets it: a hog beside a memcached on one CPU is named. Takes root, a kernel with BTF, memcached; says so where it
//! is skipped.
#![cfg(feature = "kernel")]

use std::io::{Read, Seek, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A process that ends with the test.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A command on the machine's last CPU; `None` where it is not there.
fn on_one_cpu(words: &[&str]) -> Option<Kept> {
    let last = std::thread::available_parallelism().ok()?.get() - 1;
    let mut command = Command::new("taskset");
    command.args(["-c", &last.to_string()]).args(words).stdout(Stdio::null());
    Some(Kept(command.stderr(Stdio::null()).spawn().ok()?))
}

fn memcached() -> Option<(Kept, SocketAddr)> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = free.expect("a port");
    let port = address.port().to_string();
    // The kernel lets a sleeper go before hogs at once, but not this one.
    let server = on_one_cpu(&[
        "nice",
        "-n",
        "19",
        "memcached",
        "-u",
        "root",
        "-t",
        "1",
        "-l",
        "127.0.0.1",
        "-p",
        &port,
    ])?;
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        if begun.elapsed() > Duration::from_secs(5) {
            return None;
        }
        sleep(Duration::from_millis(20));
    }
    Some((server, address))
}

/// Asks for nothing a few hundred times, one after the other, until the watch is over.
fn ask(address: SocketAddr, watch: &mut Child) {
    let mut connection = TcpStream::connect(address).expect("a connection");
    connection.set_nodelay(true).expect("no delay");
    while watch.try_wait().expect("a child").is_none() {
        connection.write_all(b"get nothing\r\n").expect("a request");
        connection.read_exact(&mut [0; 5]).expect("END");
        sleep(Duration::from_millis(3));
    }
}

/// The document of `rearguard explain --port` while requests come; `None` where this machine cannot.
fn explained(address: SocketAddr) -> Option<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let port = address.port().to_string();
    command.args(["explain", "--json", "--duration", "3s", "--port", &port]);
    // Into a file: nobody reads a pipe before the watch is over.
    let mut document = tempfile::tempfile().expect("a file");
    let copy = document.try_clone().expect("a second handle");
    let mut watch = command.stdout(copy).stderr(Stdio::piped()).spawn().expect("it runs");
    ask(address, &mut watch);
    let output = watch.wait_with_output().expect("an end");
    if !output.status.success() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    document.rewind().expect("a file");
    Some(serde_json::from_reader(document).expect("JSON"))
}

/// The part of a process of that name in what all sources took of the slow requests.
fn part(document: &Value, name: &str) -> f64 {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let findings = document["services"][0]["findings"].as_array().into_iter().flatten();
    let of = |finding: &Value| {
        let culprits = finding["culprits"].as_array().into_iter().flatten();
        let own = culprits.filter(|one| one["name"].as_str().is_some_and(|n| n.starts_with(name)));
        number(&finding["share"]) * own.map(|one| number(&one["share"])).sum::<f64>()
    };
    findings.map(of).sum()
}

#[test]
fn a_hog_beside_a_server_is_named_and_without_it_nobody_is() {
    let Some((_server, address)) = memcached() else {
        eprintln!("skipped: no memcached here (apt-get install memcached)");
        return;
    };
    let Some(alone) = explained(address) else { return };
    assert!(part(&alone, "yes") == 0.0, "the control: {}", alone["services"][0]["findings"]);
    let hogs: Vec<Option<Kept>> = (0..4).map(|_| on_one_cpu(&["yes"])).collect();
    // The slowest thousandth is one request, which something else of this machine may have delayed.
    let blames = |_| {
        let beside = explained(address)?;
        let findings = &beside["services"][0]["findings"];
        eprintln!("{findings}");
        Some(findings[0]["source"] == "background" && part(&beside, "yes") > 0.1)
    };
    let mut watches = (0..3).map_while(blames).peekable();
    if watches.peek().is_none() {
        return;
    }
    assert!(watches.any(|is_to_blame| is_to_blame), "the hogs are to blame");
    drop(hogs);
}
