//! PostgreSQL as Debian ships it, in a folder of its own: it trusts one user, and others have passwords.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use measure::{Setup, Target};
use model::Silent;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

use crate::{CONNECTIONS, all_answered, measured, setup};

/// It does not run as root.
const NOBODY: u32 = 65_534;
/// Users are named after how they prove who they are; all but the first with the same password.
const USERS: [&str; 4] = ["trust", "password", "md5", "scram-sha-256"];
const PASSWORD: &str = "top-secret";

/// Its programs, the newest that are installed.
pub fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin"));
    folders.filter(|folder| folder.join("initdb").exists()).max()
}

/// The server, gone with it.
struct Server {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGQUIT);
        let _ = self.child.wait();
    }
}

impl Server {
    fn start() -> Result<Server, Failed> {
        let folder = tempfile::tempdir()?;
        if geteuid().is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
        }
        let data = folder.path().join("data");
        let made =
            program("initdb", &data).args(["-U", "postgres", "-A", "trust", "-N"]).output()?;
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        create_users(&data)?;
        let line =
            |user: &&str| format!("local all {user} {user}\nhost all {user} 127.0.0.1/32 {user}\n");
        fs::write(data.join("pg_hba.conf"), USERS.iter().map(line).collect::<String>())?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = program("postgres", &data);
        command.args(["-p", &port.to_string(), "-h", "127.0.0.1", "-c", "fsync=off", "-k"]);
        let child = command.arg(folder.path()).stderr(Stdio::null()).spawn()?;
        let server = Server { child, port, folder };
        let is_ready = (0..400).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            server.is_ready()
        });
        if is_ready { Ok(server) } else { Err("it does not get ready".into()) }
    }

    /// It listens before it takes requests: until then it answers 57P03, which its own tool knows.
    fn is_ready(&self) -> bool {
        let mut tool = Command::new(programs().expect("it is installed").join("pg_isready"));
        tool.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        match tool.status() {
            Ok(status) => status.success(),
            Err(_) => is_taken(&self.target("trust", "SELECT 1")).is_ok(),
        }
    }

    fn target(&self, login: &str, query: &str) -> Target {
        let text = format!("postgresql://{login}@127.0.0.1:{}/postgres?query={query}", self.port);
        Target::parse(&text, None).expect("a target")
    }
}

fn program(name: &str, data: &Path) -> Command {
    let mut command = Command::new(programs().expect("it is installed").join(name));
    command.arg("-D").arg(data).current_dir("/").stdout(Stdio::null());
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn create_users(data: &Path) -> Result<(), Failed> {
    let mut command = Command::new(programs().expect("it is installed").join("postgres"));
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let quiet = command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    let mut single =
        quiet.arg("--single").arg("-D").arg(data).arg("postgres").stdin(Stdio::piped()).spawn()?;
    let mut input = single.stdin.take().expect("it is piped");
    for user in USERS {
        let hash = if user == "md5" { "md5" } else { "scram-sha-256" };
        writeln!(input, "SET password_encryption = '{hash}'")?;
        writeln!(input, "CREATE ROLE \"{user}\" LOGIN PASSWORD '{PASSWORD}'")?;
    }
    drop(input);
    assert!(single.wait()?.success());
    Ok(())
}

/// Whether a first request is answered; else the words of the refusal.
fn is_taken(target: &Target) -> Result<(), String> {
    match measure::first_loss(target, &setup(1), &Silent) {
        Ok(None) => Ok(()),
        Ok(Some(loss)) => Err(loss.word().to_string()),
        Err(failure) => Err(failure.to_string()),
    }
}

/// Each proof is given, and with another password none is.
pub fn proofs() -> Result<(), Failed> {
    let server = Server::start()?;
    for user in USERS {
        let target = |password: &str| server.target(&format!("{user}{password}"), "SELECT 1");
        is_taken(&target(":top-secret"))?;
        let others = [is_taken(&target(":other-secret")), is_taken(&target(""))];
        match others {
            [Ok(()), Ok(())] => assert_eq!(user, "trust", "the control"),
            [Err(other), Err(none)] => {
                assert!(other.contains("28P01") && !other.contains("-secret"), "{user}: {other}");
                assert!(none.contains("wants a password"), "{user}: {none}");
            }
            others => panic!("{user}: {others:?}"),
        }
    }
    let socket = format!("{}/.s.PGSQL.{}?db=postgres", server.folder.path().display(), server.port);
    is_taken(&Target::parse(&format!("postgresql+unix://trust@{socket}"), None)?)?;
    let absent = Target::parse(&format!("postgresql+unix://trust@{socket}x"), None)?;
    assert!(is_taken(&absent).unwrap_err().contains("3D000"));
    Ok(())
}

/// Queries are answered, errors are complaints, and the processes that serve are found, one a connection.
pub fn queries() -> Result<(), Failed> {
    let server = Server::start()?;
    let drawn = "SELECT generate_series(1, {random:5000}), repeat('x', 20)";
    let target = server.target("scram-sha-256:top-secret", drawn);
    let good = measured(&target, &setup(CONNECTIONS))?;
    all_answered(&good);
    assert_eq!(good.tally.opened, u64::from(CONNECTIONS));
    let used = good.used.expect("its processes are found");
    assert_eq!(used.processes.len(), 1 + CONNECTIONS as usize);
    assert!(used.processes.contains(&(server.child.id() as i32)));
    // Where a connection ends, so does its process, and what it used is not known.
    let mut ending = setup(CONNECTIONS);
    ending.limits.requests_per_connection = Some((5, 5));
    let reopened = measured(&target, &Setup { ..ending })?;
    all_answered(&reopened);
    assert!(reopened.tally.opened > u64::from(CONNECTIONS) && reopened.used.is_none());
    let wrong = measured(&server.target("trust", "SELECT 1; SELECT 1/0"), &setup(CONNECTIONS))?;
    assert_eq!(wrong.complaints.get("SQLSTATE 22xxx"), Some(&(wrong.records.len() as u64)));
    let absent = measured(&server.target("trust", "SELECT * FROM nowhere"), &setup(1))?;
    assert_eq!(absent.complaints.get("SQLSTATE 42P01"), Some(&(absent.records.len() as u64)));
    assert!(absent.losses.is_empty() && wrong.losses.is_empty());
    Ok(())
}
