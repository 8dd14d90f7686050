//! Signals, command by command: each ends a command within a second, with the code of that signal, and leaves
//! neither a temporary file, nor a process, nor half of an output. The machine may be busy, so the bound here
//! is wider.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

/// What a signal may take to end a command here.
const BOUND: Duration = Duration::from_secs(10);
/// What a command may take until it is where the signal shall meet it.
const PATIENCE: Duration = Duration::from_secs(120);
/// Marks processes that a command started, whichever their parent is by then.
const MARK: &str = "RG_TEST_OF_SIGNALS";

const SCENARIO: &str = "# A service on two CPUs.\nduration = \"50ms\"\nseeds = [1, 2, 3]\n\
    [machine]\ncpus = 2\n[[program]]\nname = \"web\"\nkind = \"service\"\n\
    architecture = \"thread-per-connection\"\nconnections = 64\n\
    service_time = { law = \"exponential\", mean = \"200us\" }\n\
    arrivals = { law = \"poisson\", utilisation = 0.5 }\n";
const PLAN: &str = "# Long runs.\nscenario = \"long.toml\"\npolicies = [\"cts\"]\n";
const COMMAND: &str = "# A command.\ncommand = [\"sleep\", \"600\"]\nseeds = [1]\n";
const CLUSTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../clusters/dispatch.toml");
const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../policy/examples/fifo.c");

/// When a signal is sent.
enum When {
    /// After so many milliseconds: it computes for minutes.
    After(u64),
    /// Once a process of that name was started.
    Started(&'static str),
    /// Once it reads the pipe of that name, which never says anything.
    Reads(&'static str),
    /// Once it has begun with a file.
    Writes,
}
use When::{After, Reads, Started, Writes};

/// A command in a folder, what it is to begin with, and how it ends.
struct Case {
    words: &'static str,
    when: When,
    /// `None`: 128 and the signal's number.
    code: Option<i32>,
}

const fn case(words: &'static str, when: When) -> Case {
    Case { words, when, code: None }
}

/// A folder with a file for every purpose, and one for temporary files.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let long = SCENARIO.replace("50ms", "3600s");
    for (name, text) in [
        ("web.toml", SCENARIO),
        ("long.toml", &long),
        ("plan.toml", PLAN),
        ("command.toml", COMMAND),
    ] {
        fs::write(at(name), text).expect("a file");
    }
    fs::copy(CLUSTER, at("cluster.toml")).expect("there");
    fs::copy(POLICY, at("mine.c")).expect("there");
    for name in ["tmp", "bin", "home"] {
        fs::create_dir(at(name)).expect("a folder");
    }
    for name in ["cc", "apt-get"] {
        fs::write(at("bin").join(name), "#!/bin/sh\nexec sleep 600\n").expect("a file");
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(at("bin").join(name), all).expect("ours");
    }
    mkfifo(&at("pipe"), Mode::S_IRWXU).expect("a pipe");
    let traced = "compare web.toml --policy cts --duration 20s --seed 1 --trace a.trace";
    for words in [traced, "compare web.toml --policy cts --json"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
        let output = command.args(words.split(' ')).current_dir(folder.path()).output();
        let output = output.expect("the built command runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::write(at("a.json"), output.stdout).expect("a file");
    }
    folder
}

/// A process that ends with the test, and all that it started.
struct Running(Child, PathBuf);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        for (process, _) in marked(&self.1) {
            let _ = kill(process, Signal::SIGKILL);
        }
    }
}

fn start(folder: &Path, words: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(words.split(' ')).current_dir(folder).env(MARK, folder);
    for (key, name) in [("TMPDIR", "tmp"), ("HOME", "home"), ("RG_LAB_DIR", "lab")] {
        command.env(key, folder.join(name));
    }
    let path = format!("{}:{}", folder.join("bin").display(), env!("PATH"));
    command.env("PATH", path).stdin(Stdio::null()).stdout(Stdio::null());
    let said = fs::File::create(folder.join("said")).expect("a file");
    Running(command.stderr(said).spawn().expect("the built command runs"), folder.to_path_buf())
}

/// Processes that commands in a folder started, themselves among them, with their names.
fn marked(folder: &Path) -> Vec<(Pid, String)> {
    let mark = format!("{MARK}={}", folder.display());
    let marked = |pid: i32| {
        let of = |file: &str| fs::read(format!("/proc/{pid}/{file}")).ok();
        let environment = of("environ")?;
        let is_marked = environment.split(|byte| *byte == 0).any(|one| one == mark.as_bytes());
        let name = String::from_utf8_lossy(&of("comm")?).trim().to_string();
        is_marked.then(|| (Pid::from_raw(pid), name))
    };
    let processes = fs::read_dir("/proc").expect("mounted").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(marked).collect()
}

/// Waits for something; the running command must not end before.
fn await_in(running: &mut Running, what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        let ended = running.0.try_wait().expect("a child");
        let said = || fs::read_to_string(running.1.join("said")).unwrap_or_default();
        assert!(ended.is_none(), "{what}: it has ended before: {ended:?} {}", said());
        assert!(begin.elapsed() < PATIENCE, "{what}: not in time");
        sleep(Duration::from_micros(500));
    }
}

/// Names in a folder and in those below it.
fn names(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        all.push(entry.file_name().to_string_lossy().into_owned());
        all.extend(names(&entry.path()));
    }
    all
}

fn is_on_the_way(name: &str) -> bool {
    name.contains(".rearguard-") || name.starts_with("rearguard-") || name.starts_with(".tmp")
}

/// Whether a process has come so far that SIGTERM has a handler.
fn handles_signals(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask >> (Signal::SIGTERM as i32 - 1) & 1 == 1)
}

/// Brings a command to where it is to meet the signal. What it returns is kept until then.
fn bring(running: &mut Running, when: &When) -> Option<fs::File> {
    let folder = running.1.clone();
    match when {
        After(milliseconds) => {
            let pid = running.0.id();
            await_in(running, "handled", || handles_signals(pid));
            sleep(Duration::from_millis(*milliseconds));
            await_in(running, "alive", || true);
            None
        }
        Started(name) => {
            await_in(running, name, || marked(&folder).iter().any(|(_, own)| own == name));
            None
        }
        Reads(name) => {
            let mut pipe = None;
            let options = || {
                let mut options = fs::OpenOptions::new();
                options.write(true).custom_flags(nix::libc::O_NONBLOCK);
                options
            };
            await_in(running, name, || {
                pipe = options().open(folder.join(name)).ok();
                pipe.is_some()
            });
            pipe
        }
        Writes => {
            await_in(running, "an output", || {
                names(&folder).iter().any(|name| is_on_the_way(name))
            });
            // What it has begun must not be whole before the signal is there.
            kill(Pid::from_raw(running.0.id() as i32), Signal::SIGSTOP).expect("it lives");
            None
        }
    }
}

/// Runs a case with one of the signals.
fn ends(folder: &Path, case: &Case, signal: Signal) {
    let mut running = start(folder, case.words);
    let held = bring(&mut running, &case.when);
    let pid = Pid::from_raw(running.0.id() as i32);
    let begin = Instant::now();
    kill(pid, signal).expect("it lives");
    kill(pid, Signal::SIGCONT).expect("it lives");
    let mut status = None;
    while status.is_none() && begin.elapsed() < BOUND {
        status = running.0.try_wait().expect("a child");
        sleep(Duration::from_millis(5));
    }
    drop(held);
    let said = fs::read_to_string(folder.join("said")).expect("there");
    let at = format!("{} by {signal}: {said}", case.words);
    assert!(status.is_some(), "{at} it goes on");
    assert!(begin.elapsed() < BOUND, "{at} it took {:?}", begin.elapsed());
    let code = case.code.unwrap_or(128 + signal as i32);
    assert_eq!(status.and_then(|status| status.code()), Some(code), "{at}");
    leaves_nothing(folder, &at);
}

fn leaves_nothing(folder: &Path, at: &str) {
    let begin = Instant::now();
    // Signals to processes that it started may be on their way.
    while !marked(folder).is_empty() && begin.elapsed() < BOUND {
        sleep(Duration::from_millis(20));
    }
    assert_eq!(marked(folder), [], "{at} processes are left");
    let left: Vec<String> = names(folder).into_iter().filter(|name| is_on_the_way(name)).collect();
    assert!(left.is_empty(), "{at} files are left: {left:?}");
    let temporary = names(&folder.join("tmp"));
    assert!(temporary.is_empty(), "{at} temporary files are left: {temporary:?}");
}

fn all_end(cases: &[Case]) {
    let folder = folder();
    for case in cases {
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            ends(folder.path(), case, signal);
        }
    }
}

#[test]
fn what_computes_in_simulation() {
    all_end(&[
        case("compare long.toml --policy cts", After(700)),
        case("compare long.toml --policy cts --trace out --seed 1", After(700)),
        case("capacity long.toml --slo 1ms=1% --policy cts", After(700)),
        case("gate record --policy cts --scenarios long.toml --output out", After(700)),
        case("sweep plan.toml", After(700)),
        case("ideal --requests 100G --service exponential", After(700)),
        case(
            "fanout --requests 100G --service exponential --threshold 1ms --servers 10",
            After(700),
        ),
        case("cluster cluster.toml --duration 2000s", After(700)),
    ]);
}

#[test]
fn what_waits_for_its_input() {
    let readers = [
        "check pipe",
        "cluster pipe",
        "compare pipe --policy cts",
        "capacity pipe --slo 1ms=1%",
        "sweep pipe",
        "explain pipe",
        "what-if pipe",
        "diff pipe a.json",
        "diff a.json pipe",
        "trace show pipe",
        "trace export pipe --to csv out",
        "ideal --trace pipe --service-time 1us",
        "fanout pipe --servers 10",
        "gate check pipe --policy cts",
    ];
    all_end(&readers.map(|words| case(words, Reads("pipe"))));
}

/// Its own programs of these names sleep.
#[test]
fn what_waits_for_other_programs() {
    all_end(&[
        case("sweep command.toml --allow-own-policies", Started("sleep")),
        case(
            "bisect --versions v1,v2 --build=sleep${IFS}600 --policy ./mine.c --scenarios web.toml",
            Started("sleep"),
        ),
        case("compare web.toml --policy ./mine.c", Started("sleep")),
        case("lab fetch 6.1", Started("sleep")),
    ]);
}

#[test]
fn what_writes_for_long() {
    all_end(&[
        case("trace export a.trace --to csv out", Writes),
        case("trace export a.trace --to parquet out", Writes),
    ]);
}

#[test]
fn what_has_servers() {
    let measure =
        "measure --target null-rpc://127.0.0.1:0 --start null-rpc --rate 100/s --duration 600s";
    all_end(&[
        Case { code: Some(0), ..case("serve null-rpc", After(1_500)) },
        case(measure, After(2_500)),
    ]);
}
