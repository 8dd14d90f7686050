//! Servers as Debian ships them, started, measured and ended on the loopback address. Counts are asserted,
//! never times.
//!
//! Servers are kept by this executable in another role, so it has a `main` of its own. A server that is not
//! installed is shown as ignored.

mod real {
    pub mod postgresql;
    pub mod thrift;
}

use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use generator::Limits;
use libtest_mimic::{Arguments, Failed, Trial};
use measure::protocol::http::HttpOptions;
use measure::{Kind, Load, Measurement, Placed, Setup, Started, Target};
use model::law::Law;
use model::{Failure, Nanos, Silent};

fn main() -> ExitCode {
    if let Some(code) = model::role::play(&[measure::ROLES], std::env::args_os()) {
        return code;
    }
    if let Some(code) = keep_until_killed() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    // All measure on the same CPUs.
    arguments.test_threads = Some(1);
    let trials = vec![
        served("memcached_in_ascii", Kind::Memcached, "memcached://127.0.0.1:0", 1),
        served("memcached_in_binary", Kind::Memcached, "memcached+binary://127.0.0.1:0", 1),
        served("memcached_in_datagrams", Kind::Memcached, "memcached+udp://127.0.0.1:0", 1),
        served("nginx_keeps_connections", Kind::Nginx, "http://127.0.0.1:0/index.html", 1),
        served("apache_keeps_connections", Kind::Apache2, "http://127.0.0.1:0/index.html", 1),
        served("redis", Kind::Redis, "redis://127.0.0.1:0", 1),
        Trial::test("redis_at_a_unix_socket", redis_at_a_unix_socket)
            .with_ignored_flag(!installed(Kind::Redis)),
        Trial::test("redis_with_a_password_a_database_and_pipelines", redis_with_a_password)
            .with_ignored_flag(!installed(Kind::Redis)),
        served("null_rpc", Kind::NullRpc, "null-rpc://127.0.0.1:0", 1),
        Trial::test("nginx_with_20_to_40_requests_a_connection", nginx_with_changing_connections),
        Trial::test("a_missing_page_is_a_complaint_and_no_loss", missing_page),
        Trial::test("nginx_asked_by_other_methods", other_methods),
        Trial::test("a_store_that_was_not_filled_misses", not_filled),
        Trial::test("ten_thousand_connections", ten_thousand_connections),
        Trial::test("postgresql_and_who_asks", real::postgresql::proofs)
            .with_ignored_flag(real::postgresql::programs().is_none()),
        Trial::test("postgresql_and_its_queries", real::postgresql::queries)
            .with_ignored_flag(real::postgresql::programs().is_none()),
        Trial::test("apache_thrift_framed", || real::thrift::served(true)),
        Trial::test("apache_thrift_buffered", || real::thrift::served(false)),
        Trial::test("capacity_is_found", capacity),
        Trial::test("a_server_that_cannot_start_says_why", cannot_start),
        Trial::test("a_killed_measurement_leaves_no_server", killed),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

const CONNECTIONS: u32 = 16;

/// With so many connections and a patience that outlasts a busy machine.
fn setup(connections: u32) -> Setup {
    let cpu = host::cpus().first().map_or(0, |cpu| cpu.id);
    let limits = Limits { timeout: Nanos::from_secs(20), requests_per_connection: None };
    Setup { connections, cpus: vec![cpu], limits, socket_timestamps: false }
}

/// 300 requests a second for a second.
fn light() -> Load {
    Load {
        rate_per_s: 300.0,
        law: Law::Exponential,
        stamps: None,
        warm_up: Nanos::from_millis(100),
        duration: Nanos::from_secs(1),
        seed: 1,
        outlier_threshold: Nanos::from_millis(10),
    }
}

fn start(kind: Kind, target: &str, connections: u32) -> Result<Started, Failed> {
    let cpus = host::cpus().iter().map(|cpu| cpu.id).collect();
    let target = Target::parse(target, None)?;
    Ok(Started::start(kind, target, &Placed { cpus, connections }, &Silent)?)
}

fn installed(kind: Kind) -> bool {
    let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    let names: &[&str] = match kind {
        Kind::NullRpc => return true,
        Kind::Memcached => &["memcached"],
        Kind::Nginx => &["nginx"],
        Kind::Apache2 => &["apache2"],
        Kind::Redis => &["redis-server"],
    };
    folders.iter().any(|folder| names.iter().any(|name| PathBuf::from(folder).join(name).exists()))
}

fn served(name: &'static str, kind: Kind, target: &'static str, opened: u64) -> Trial {
    let run = move || {
        let started = start(kind, target, CONNECTIONS)?;
        measure::fill(&started.target, &setup(CONNECTIONS), &Silent)?;
        let measured = measured(&started.target, &setup(CONNECTIONS))?;
        all_answered(&measured);
        assert_eq!(measured.tally.opened, u64::from(CONNECTIONS) * opened);
        assert!(measured.used.is_some(), "a server of this machine is found");
        if matches!(kind, Kind::Redis | Kind::Memcached) {
            is_not_roots(started.process());
        }
        let address = started.target.address.ip().expect("an address of the network");
        assert!(TcpStream::connect(address).is_ok());
        drop(started);
        assert!(TcpStream::connect(address).is_err(), "it has ended");
        Ok(())
    };
    Trial::test(name, run).with_ignored_flag(!installed(kind))
}

/// A server of the test's own, gone with it.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Redis at a socket in a folder that only this user can enter.
fn own_redis(folder: &Path, more: &[&str]) -> Result<Server, Failed> {
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--unixsocket"]);
    command.arg(folder.join("redis.sock")).args(more);
    let server = Server(command.current_dir(folder).stdout(Stdio::null()).spawn()?);
    let listens = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        UnixStream::connect(folder.join("redis.sock")).is_ok()
    });
    if listens { Ok(server) } else { Err("it does not listen".into()) }
}

fn redis_with_a_password() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let _server = own_redis(folder.path(), &["--requirepass", "top-secret"])?;
    let socket = format!("{}/redis.sock", folder.path().display());
    let target = |login: &str| {
        Target::parse(&format!("redis+unix://{login}{socket}?keys=100&db=3&pipeline=8"), None)
    };
    let good = target(":top-secret@")?;
    measure::fill(&good, &setup(CONNECTIONS), &Silent)?;
    let measured = measured(&good, &setup(CONNECTIONS))?;
    all_answered(&measured);
    assert_eq!(measured.tally.opened, u64::from(CONNECTIONS));
    // The controls: another password, and none.
    let refused = measure::fill(&target(":other-secret@")?, &setup(1), &Silent);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("WRONGPASS") && !refused.contains("-secret"), "{refused}");
    let none = measure::fill(&target("")?, &setup(1), &Silent).unwrap_err().to_string();
    assert!(none.contains("NOAUTH"), "{none}");
    Ok(())
}

fn redis_at_a_unix_socket() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("redis.sock");
    let target = Target::parse(&format!("redis+unix://{}?keys=100", path.display()), None)?;
    // The control: where there is no socket yet, that is said, and at once.
    let absent = measure::fill(&target, &setup(CONNECTIONS), &Silent).unwrap_err().to_string();
    assert!(absent.contains("redis.sock") && absent.contains("No such file"), "{absent}");
    let server = own_redis(folder.path(), &[])?;
    measure::fill(&target, &setup(CONNECTIONS), &Silent)?;
    let measured = measured(&target, &setup(CONNECTIONS))?;
    all_answered(&measured);
    assert_eq!(measured.tally.opened, u64::from(CONNECTIONS));
    let used = measured.used.expect("the server is found by its socket's path");
    assert_eq!(used.processes, [server.0.id() as i32]);
    Ok(())
}

/// What a guard has started is no process of root's.
fn is_not_roots(guard: u32) {
    let children = std::fs::read_to_string(format!("/proc/{guard}/task/{guard}/children"));
    let children = children.expect("it lives");
    assert!(!children.trim().is_empty(), "control: it has a child");
    for child in children.split_whitespace() {
        let status = std::fs::read_to_string(format!("/proc/{child}/status")).expect("it lives");
        let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).expect("a user");
        assert!(users.split_whitespace().all(|user| user != "0"), "{users}");
    }
}

/// One light run.
fn measured(target: &Target, setup: &Setup) -> Result<Measurement, Failure> {
    measure::measure(target, setup, &light(), None, None, &Silent)
}

/// As many requests as were drawn, each with the answer that was wanted.
fn all_answered(measured: &Measurement) {
    let due = measured.trace.programs[0].requests.len();
    assert!((230..430).contains(&due), "{due}");
    assert!(measured.losses.is_empty(), "{:?}", measured.losses);
    assert!(measured.complaints.is_empty(), "{:?}", measured.complaints);
    assert!(measured.records.iter().all(|record| record.received != Nanos::NEVER));
    assert_eq!(measured.self_check.missed, 0);
}

fn nginx_with_changing_connections() -> Result<(), Failed> {
    if !installed(Kind::Nginx) {
        return Ok(());
    }
    let started = start(Kind::Nginx, "http://127.0.0.1:0/index.html", 2)?;
    let mut few = setup(2);
    few.limits.requests_per_connection = Some((20, 40));
    let changing = measured(&started.target, &few)?;
    all_answered(&changing);
    let requests = changing.trace.programs[0].requests.len() as u64;
    let opened = changing.tally.opened;
    assert!((requests / 40..=requests / 20 + 4).contains(&opened), "{opened} for {requests}");
    Ok(())
}

fn missing_page() -> Result<(), Failed> {
    if !installed(Kind::Nginx) {
        return Ok(());
    }
    let started = start(Kind::Nginx, "http://127.0.0.1:0/nothing", CONNECTIONS)?;
    let measured = measured(&started.target, &setup(CONNECTIONS))?;
    assert_eq!(measured.complaints.get("HTTP 404"), Some(&(measured.records.len() as u64)));
    assert!(measured.losses.is_empty());
    Ok(())
}

fn other_methods() -> Result<(), Failed> {
    if !installed(Kind::Nginx) {
        return Ok(());
    }
    let started = start(Kind::Nginx, "http://127.0.0.1:0/index.html", CONNECTIONS)?;
    let with = |options| measured(&started.target.clone().with_http(options)?, &setup(CONNECTIONS));
    let head = HttpOptions { method: Some("HEAD".parse()?), ..HttpOptions::default() };
    all_answered(&with(head)?);
    // A page of a file may not be written: nginx reads the body, and keeps the connection.
    let post = HttpOptions { body: Some(vec![b'x'; 100_000]), ..HttpOptions::default() };
    let refused = with(post.clone())?;
    assert_eq!(refused.complaints.get("HTTP 4xx"), Some(&(refused.records.len() as u64)));
    assert!(refused.losses.is_empty(), "{:?}", refused.losses);
    all_answered(&with(HttpOptions { expected: Some("405".parse()?), ..post })?);
    Ok(())
}

fn not_filled() -> Result<(), Failed> {
    if !installed(Kind::Memcached) {
        return Ok(());
    }
    let started = start(Kind::Memcached, "memcached://127.0.0.1:0?reads=1", CONNECTIONS)?;
    let empty = measured(&started.target, &setup(CONNECTIONS))?;
    assert_eq!(empty.complaints.get("miss"), Some(&(empty.records.len() as u64)));
    measure::fill(&started.target, &setup(CONNECTIONS), &Silent)?;
    all_answered(&measured(&started.target, &setup(CONNECTIONS))?);
    Ok(())
}

fn ten_thousand_connections() -> Result<(), Failed> {
    const MANY: u32 = 10_000;
    if !installed(Kind::Memcached) {
        return Ok(());
    }
    let started = start(Kind::Memcached, "memcached://127.0.0.1:0?keys=100", MANY)?;
    measure::fill(&started.target, &setup(MANY), &Silent)?;
    let measured = measured(&started.target, &setup(MANY))?;
    all_answered(&measured);
    assert_eq!(measured.tally.opened, u64::from(MANY));
    Ok(())
}

fn capacity() -> Result<(), Failed> {
    let started = start(Kind::NullRpc, "null-rpc://127.0.0.1:0?service=2ms", 4)?;
    let found = measure::saturate(&started.target, &setup(4), Some(1), &Silent)?;
    assert!(found.throughput_per_s > 0.0 && found.steps.len() == 3, "{found:?}");
    // One connection can do no more than one request in 2 ms.
    let (connections, rate) = found.steps[0];
    assert!(connections == 1 && rate > 0.0 && rate < 505.0, "{found:?}");
    Ok(())
}

fn cannot_start() -> Result<(), Failed> {
    if !installed(Kind::Memcached) {
        return Ok(());
    }
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let target = format!("memcached+udp://{}", taken.local_addr()?);
    // It accepts connections, but the server's own end is what counts: fill has no peer.
    let failed = start(Kind::Redis, &target, 1);
    assert!(
        matches!(failed, Err(ref failed) if failed.message().is_some_and(|m| m.contains("does not speak")))
    );
    let nowhere = Target::parse("redis://127.0.0.2:0", None)?;
    let placed = Placed { cpus: vec![0], connections: 1 };
    assert!(matches!(
        Started::start(Kind::Redis, nowhere, &placed, &Silent),
        Err(Failure::Input(_))
    ));
    Ok(())
}

/// The argument of a process that starts a server and waits to be killed.
const SUPERVISOR: &str = "__keep-until-killed";

fn keep_until_killed() -> Option<ExitCode> {
    if std::env::args().nth(1)? != SUPERVISOR {
        return None;
    }
    let started = start(Kind::Memcached, "memcached://127.0.0.1:0", 1).ok()?;
    println!("{}", started.target.address.ip()?.port());
    std::thread::sleep(Duration::from_secs(60));
    Some(ExitCode::FAILURE)
}

fn killed() -> Result<(), Failed> {
    use std::io::{BufRead, BufReader};
    if !installed(Kind::Memcached) {
        return Ok(());
    }
    let mut supervisor =
        Command::new("/proc/self/exe").arg(SUPERVISOR).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(supervisor.stdout.take().expect("piped")).read_line(&mut line)?;
    let address = format!("127.0.0.1:{}", line.trim());
    assert!(TcpStream::connect(&address).is_ok(), "{address}");
    supervisor.kill()?;
    supervisor.wait()?;
    let gone = || TcpStream::connect(&address).is_err();
    assert!((0..200).any(|_| gone() || {
        std::thread::sleep(Duration::from_millis(50));
        false
    }));
    Ok(())
}
