//! The flight recorder beside a server: a hog that comes and goes is named in what is kept.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use crate::child_guard::ChildGuard;
use crate::server::{LAST, Server, on_last_cpu};
use crate::{ALONE, rearguard};

const BURSTS: usize = 4;
const BURST: Duration = Duration::from_millis(100);

/// What is kept of a server's requests over 3 ms while bursts of this come; `None` where it cannot be
/// watched.
fn kept(server: &Server, folder: &Path, hog: Option<&str>) -> Option<String> {
    let folder = folder.display().to_string();
    let (port, metrics) = (server.port(), folder.clone() + "-metrics");
    let words =
        ["watch", "--port", &port, "--slower-than", "3ms", "--keep", &folder, "--for", "5s"];
    // Whatever else this machine does in that minute takes no place.
    let more = ["--worst", "100", "--metrics", &metrics];
    let mut watch = rearguard(&[&words[..], &more].concat());
    let mut watch = watch.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    std::thread::scope(|scope| {
        let bursts = scope.spawn(|| {
            sleep(Duration::from_secs(1));
            for hog in hog.iter().cycle().take(BURSTS * hog.iter().len()) {
                let hogs: Vec<ChildGuard> = (0..4).map(|_| on_last_cpu(&[hog])).collect();
                sleep(BURST);
                drop(hogs);
                sleep(4 * BURST);
            }
        });
        server.ask_until(|| watch.try_wait().expect("its state").is_some());
        bursts.join().expect("no panic");
    });
    let output = watch.wait_with_output().expect("it has ended");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(3) {
        eprintln!("skipped: {said}");
        return None;
    }
    assert!(output.status.success(), "{said}");
    let text = std::fs::read_to_string(metrics).expect("metrics");
    let counted = format!("rearguard_watch_requests_total{{port=\"{port}\"}} ");
    let counted = text.lines().find_map(|line| line.strip_prefix(&*counted)?.parse::<u64>().ok());
    assert!(counted.is_some_and(|count| count > 100), "{text}");
    let listed = rearguard(&["watch", "list", &folder]).output().expect("it runs");
    Some(String::from_utf8(listed.stdout).expect("UTF-8"))
}

#[test]
fn a_hog_that_comes_and_goes_is_named_in_what_is_kept() {
    let _alone = ALONE.lock();
    let Some(server) = Server::start(LAST, "memcached", "get nothing\r\n") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let hog = folder.path().join("test-hog");
    std::fs::copy("/usr/bin/yes", &hog).expect("a copy");
    let calm = folder.path().join("calm");
    let Some(alone) = kept(&server, &calm, None) else { return };
    assert!(!alone.contains("test-hog"), "the control: {alone}");
    let hogs = hog.display().to_string();
    // Of three, since other programs of this machine may delay more than hogs of our own.
    let look = |n: u32| {
        let beside = folder.path().join(format!("disturbed-{n}"));
        (kept(&server, &beside, Some(&hogs)).expect("it was watched before"), beside)
    };
    let is_named = |told: &str| told.contains("neighbours by background: test-hog");
    let (told, beside) = (0..3).map(look).find(|(told, _)| is_named(told)).expect("it is named");
    let named = told.lines().find(|line| line.contains("test-hog")).expect("just found");
    let id = named.split_whitespace().next().expect("an id");
    let beside = beside.display().to_string();
    let shown = rearguard(&["watch", "show", &beside, id]).output().expect("it runs");
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.status.success() && text.contains("test-hog"), "{text}");
    let out = folder.path().join("a.pftrace").display().to_string();
    let exported = rearguard(&["watch", "export", &beside, id, &out]).output().expect("it runs");
    assert!(exported.status.success() && std::fs::metadata(&out).expect("there").len() > 0);
    let missing = rearguard(&["watch", "show", &beside, "../x"]).output().expect("it runs");
    assert_eq!(missing.status.code(), Some(2));
}

/// Answers so many requests at a port.
pub fn serve(port: u16, requests: usize) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("it was free just now");
    let client = std::thread::spawn(move || {
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
        for _ in 0..requests {
            client.write_all(&[1; 10]).expect("a request");
            client.read_exact(&mut [0; 10]).expect("an answer");
        }
    });
    let (mut server, _) = listener.accept().expect("a client");
    while server.read_exact(&mut [0; 10]).is_ok() {
        server.write_all(&[2; 10]).expect("it waits for it");
    }
    client.join().expect("no panic");
}

#[test]
fn services_that_come_later_are_followed_each_by_its_port() {
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().expect("a folder");
    let keep = folder.path().join("kept").display().to_string();
    let free = [0; 2].map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
    let mut ports = free.map(|own| own.local_addr().expect("an address").port());
    // It tells them in this order.
    ports.sort_unstable();
    let [first, second] = ports;
    let (one, two) = (first.to_string(), second.to_string());
    let words = ["--port", &one, "--port", &two, "--slower-than", "1s", "--keep", &keep];
    let words = [&["watch"], &words[..], &["--for", "6s"]].concat();
    let mut watch = rearguard(&words);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut said =
        BufReader::new(watch.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let waits = |port: &str, line: &str| line.starts_with(&format!("port {port}: no process"));
    if !said.any(|line| waits(&one, &line)) {
        eprintln!("skipped: this machine cannot");
        watch.wait().expect("it has ended");
        return;
    }
    assert!(said.any(|line| waits(&two, &line)), "the control: both are not there");
    serve(first, 20);
    serve(second, 30);
    let output = watch.wait_with_output().expect("it has ended");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in [format!("port {one}: 20 requests, 0 slow"), format!("port {two}: 30 requests")] {
        assert!(told.contains(&line), "{line} in {told}");
    }
}
