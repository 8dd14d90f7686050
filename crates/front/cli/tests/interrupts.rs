//! Ctrl-C and SIGTERM: every command that works for long ends within a second, the second signal ends it at
//! once. The machine may be busy, so the bounds here are wider, and far below what the commands would take.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
/// What a signal may take to end a command here.
const BOUND: Duration = Duration::from_secs(10);
/// What the process needs to begin with its work.
const START: Duration = Duration::from_millis(1_500);

fn start(folder: &Path, words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(words).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the built command runs");
    sleep(START);
    let ended = child.try_wait().expect("a child");
    assert_eq!(ended, None, "control: {words:?} works for longer");
    child
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).expect("it lives");
}

/// How long a process goes on; it is killed after [`BOUND`].
fn end(mut child: Child) -> (Duration, Option<i32>) {
    let begin = Instant::now();
    while begin.elapsed() < BOUND {
        if let Some(status) = child.try_wait().expect("a child") {
            return (begin.elapsed(), status.code());
        }
        sleep(Duration::from_millis(5));
    }
    child.kill().expect("it lives");
    child.wait().expect("a child");
    (BOUND, None)
}

/// With 128 and the signal's number, or with one of these codes.
fn ends(words: &[&str], codes: &[i32]) {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let child = start(Path::new(ROOT), words);
        send(&child, signal);
        let (took, code) = end(child);
        let is_meant =
            code.is_some_and(|code| code == 128 + signal as i32 || codes.contains(&code));
        assert!(took < BOUND && is_meant, "{words:?}: {signal} {took:?} {code:?}");
    }
}

/// No run looks for a signal: each is shorter than its turn to do so.
#[test]
fn a_comparison_of_many_short_runs() {
    let scenario = "scenarios/null-rpc.toml";
    let short = ["--set", "warm_up=1ms", "--duration", "2ms", "--seeds", "40000"];
    ends(&[&["compare", scenario, "--policy", "cfs,cts"][..], &short].concat(), &[]);
}

#[test]
fn long_computations() {
    ends(&["ideal", "--requests", "100G", "--service", "exponential"], &[]);
    ends(&["cluster", "clusters/ten-thousand.toml", "--duration", "2000s"], &[]);
    ends(&["compare", "scenarios/null-rpc.toml", "--policy", "cts", "--duration", "3600s"], &[]);
}

#[test]
fn servers_that_are_kept() {
    ends(&["serve", "null-rpc"], &[0]);
}

/// A policy of one's own that never returns: nothing in the process looks for signals any more.
#[test]
fn a_policy_that_loops_and_the_second_signal_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = std::fs::read_to_string(format!("{ROOT}/policy/examples/fifo.c")).expect("there");
    let head = "RG_CALLBACK void rg_enqueue(struct task_struct *t, u64 flags)\n{\n";
    let looping = fifo.replace(head, &format!("{head}\tfor (;;)\n\t\t(void)rg_now();\n"));
    assert_ne!(looping, fifo, "control: the loop is in it");
    std::fs::write(folder.path().join("mine.c"), looping).expect("a file");
    let scenario = format!("{ROOT}/scenarios/null-rpc.toml");
    let words = ["compare", &scenario, "--policy", "./mine.c", "--seeds", "1"];
    let looping = || {
        let child = start(folder.path(), &words);
        // A compiler runs first.
        sleep(START);
        child
    };
    let once = looping();
    send(&once, Signal::SIGINT);
    let (grace, code) = end(once);
    assert!(grace < BOUND && code == Some(130), "{grace:?} {code:?}");
    // A busy machine may delay one, not three of them.
    let twice = |_| {
        let child = looping();
        send(&child, Signal::SIGINT);
        sleep(Duration::from_millis(50));
        send(&child, Signal::SIGINT);
        end(child).0
    };
    assert!((0..3).map(twice).any(|took| took < grace / 2), "the first took {grace:?}");
}
