//! From load to end: what is in force when, which threads are refused, and what is left behind.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};

use libtest_mimic::{Failed, Trial};
use model::{Failure, Nanos, PolicySpec};

use crate::guest::under;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("a_policy_lives_from_load_to_its_end", life).with_ignored_flag(true),
        Trial::test("a_kernel_without_sched_ext_is_named", absent).with_ignored_flag(true),
        Trial::test("bad_input_is_refused_on_any_machine", refused),
    ]
}

const MINUTE: Duration = Duration::from_secs(60);

fn cts() -> PolicySpec {
    PolicySpec::plain("cts")
}

fn refused() -> Result<(), Failed> {
    for bad in ["no-such-policy", "cts:order=none"] {
        let code = scx::load(&PolicySpec::parse(bad).unwrap()).err().map(|f| f.exit_code());
        assert_eq!(code, Some(2), "{bad}");
    }
    Ok(())
}

fn absent() -> Result<(), Failed> {
    let (_, code, errors) = under("6.1", 1, "life");
    assert_eq!(code, 3, "{errors}");
    assert!(errors.contains("no sched_ext") && errors.contains("6.1"), "{errors}");
    Ok(())
}

fn life() -> Result<(), Failed> {
    let (lines, code, errors) = under("newest", 2, "life");
    assert_eq!(code, 0, "{errors}");
    assert_eq!(lines.join("\n"), EXPECTED.trim());
    Ok(())
}

const EXPECTED: &str = "
before: None
loaded: Some(\"rearguard_cts\")
a second one: exit code 3, named: true
after a CPU went: in force again, within 300 ms: true
on one CPU: Some(\"rearguard_cts\")
after it came: in force again, within 300 ms: true
report: 2 CPUs, both busy: true, spinners even: true, cheap: true
after work: InForce
SysRq-S: disabled by sysrq-S, ejected: false
dropped: None
again: Some(\"rearguard_cts\")
killed: None
capabilities: 000000c000000000
with these: Some(\"rearguard_cts\"), went: in force again, within 300 ms: true, came: in force again, within 300 ms: true
kernel's warnings: []
";

/// This thread's effective ones, as the kernel writes them.
fn capabilities() -> String {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.unwrap_or("unknown").trim().to_string()
}

/// Loads, and again as CPUs go and come, with what programs in the kernel take and no more. Capabilities
/// are a thread's: this one ends with it.
fn least() -> Result<[String; 2], Failure> {
    scx::keep_least(&[])?;
    let mut loaded = scx::load(&cts())?;
    let name = scx::in_force()?;
    online(1, false)?;
    let went = restarted(&mut loaded)?;
    online(1, true)?;
    let came = restarted(&mut loaded)?;
    let all = format!("{name:?}, went: {went}, came: {came}");
    Ok([format!("capabilities: {}", capabilities()), format!("with these: {all}")])
}

/// In the guest, one step after the other.
pub fn play() -> Result<Vec<String>, Failure> {
    if std::env::args().nth(3).is_some() {
        return hold();
    }
    let mut lines = vec![format!("before: {:?}", scx::in_force()?)];
    let mut loaded = scx::load(&cts())?;
    lines.push(format!("loaded: {:?}", scx::in_force()?));
    let second = scx::load(&cts()).err().expect("one at a time");
    let named = second.to_string().contains("rearguard_cts");
    lines.push(format!("a second one: exit code {}, named: {named}", second.exit_code()));
    online(1, false)?;
    lines.push(format!("after a CPU went: {}", restarted(&mut loaded)?));
    lines.push(format!("on one CPU: {:?}", scx::in_force()?));
    online(1, true)?;
    lines.push(format!("after it came: {}", restarted(&mut loaded)?));
    lines.push(report(&mut loaded)?);
    lines.push(format!("after work: {:?}", loaded.poll()?));
    lines.push(format!("SysRq-S: {}", ended_from_outside(&mut loaded)?));
    drop(loaded);
    lines.push(format!("dropped: {:?}", scx::in_force()?));
    lines.extend(killed()?);
    lines.extend(std::thread::spawn(least).join().expect("no panic")?);
    lines.push(format!("kernel's warnings: {:?}", warnings()?));
    Ok(lines)
}

/// This executable again, to be killed: one that spins, or one that holds a policy.
fn hold() -> Result<Vec<String>, Failure> {
    if std::env::args().nth(3).is_some_and(|what| what == "load") {
        let _loaded = scx::load(&cts())?;
        loop {
            std::thread::park();
        }
    }
    // Not by PAUSE, at which QEMU leaves its loop each time: the guest's clock would all but stand still.
    let mut round = 0u64;
    loop {
        round = std::hint::black_box(round.wrapping_add(1));
    }
}

pub fn start(what: &str) -> Result<Child, Failure> {
    let own = std::env::current_exe().map_err(io)?;
    let mut command = Command::new(own);
    command.args(["__kernel_guest", "life", what]).stdout(Stdio::null()).spawn().map_err(io)
}

pub fn io(error: io::Error) -> Failure {
    Failure::Run(error.to_string())
}

pub fn online(cpu: u32, on: bool) -> Result<(), Failure> {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    fs::write(file, if on { "1" } else { "0" }).map_err(io)
}

/// What becomes of it, within so long.
pub fn awaited(loaded: &mut scx::Loaded, patience: Duration) -> Result<scx::Poll, Failure> {
    let deadline = Instant::now() + patience;
    loop {
        let poll = loaded.poll()?;
        if poll != scx::Poll::InForce || Instant::now() > deadline {
            return Ok(poll);
        }
        sleep(Duration::from_millis(20));
    }
}

/// The programs that the verifier took go into force again: it alone would take longer (of `cts` 1.9 s).
fn restarted(loaded: &mut scx::Loaded) -> Result<String, Failure> {
    let scx::Poll::Restarted { gap } = awaited(loaded, MINUTE)? else {
        return Ok("not again".into());
    };
    Ok(format!("in force again, within 300 ms: {}", gap < Nanos::from_millis(300)))
}

/// The administrator's emergency exit.
fn ended_from_outside(loaded: &mut scx::Loaded) -> Result<String, Failure> {
    fs::write("/proc/sys/kernel/sysrq", "1").map_err(io)?;
    fs::write("/proc/sysrq-trigger", "S").map_err(io)?;
    let scx::Poll::Ended(ending) = awaited(loaded, MINUTE)? else {
        return Ok("nothing ended".into());
    };
    Ok(format!("{}, ejected: {}", ending.reason, ending.ejected))
}

/// What a watcher is told of one and a half seconds.
pub fn watched(loaded: &mut scx::Loaded) -> Result<loader::Report, Failure> {
    let mut server = scx::stats::Server::open()?;
    let watcher = std::thread::spawn(|| {
        let mut client = loader::Client::connect()?;
        client.report()?;
        sleep(Duration::from_millis(1500));
        client.report()
    });
    while !watcher.is_finished() {
        server.serve(Duration::from_millis(50), loaded);
    }
    watcher.join().expect("no panic")
}

/// Three equal spinners on two CPUs: two thirds of a CPU each. Few, and not for long, because an emulated
/// second of work is dear.
fn report(loaded: &mut scx::Loaded) -> Result<String, Failure> {
    let spinners: Vec<Child> = (0..3).map(|_| start("spin")).collect::<Result<_, _>>()?;
    let report = watched(loaded)?;
    let share = |child: &Child| report.processes.get(&child.id()).map_or(0.0, |of| of.share);
    let even = spinners.iter().all(|child| (share(child) - 1.0 / 3.0).abs() < 0.05);
    let busy = report.groups["/"].share > 0.95;
    // The reader sleeps in between and is not counted as wanting a CPU. Spinning it took a quarter
    // of the machine; its looks take a twentieth of an emulated one.
    let own = &report.processes[&std::process::id()];
    let cheap = own.share < 0.12 && own.due_share == 0.0;
    for mut spinner in spinners {
        spinner.kill().and_then(|()| spinner.wait()).map_err(io)?;
    }
    Ok(format!(
        "report: {} CPUs, both busy: {busy}, spinners even: {even}, cheap: {cheap}",
        report.cpus
    ))
}

/// kill -9 of the process that holds the policy.
fn killed() -> Result<[String; 2], Failure> {
    let mut holder = start("load")?;
    let deadline = Instant::now() + MINUTE;
    while scx::in_force()?.is_none() && Instant::now() < deadline {
        sleep(Duration::from_millis(20));
    }
    let again = format!("again: {:?}", scx::in_force()?);
    holder.kill().and_then(|()| holder.wait()).map_err(io)?;
    Ok([again, format!("killed: {:?}", scx::in_force()?)])
}

/// What the kernel complains of.
pub fn warnings() -> Result<Vec<String>, Failure> {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    const O_NONBLOCK: i32 = 0o4000;
    let mut log =
        fs::OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open("/dev/kmsg").map_err(io)?;
    let mut found = Vec::new();
    let mut record = [0; 8192];
    while let Ok(length) = log.read(&mut record) {
        let text = String::from_utf8_lossy(&record[..length]).into_owned();
        if ["WARNING:", "BUG:", "Call Trace", "stall", "runtime error"]
            .iter()
            .any(|word| text.contains(word))
        {
            found.push(text);
        }
    }
    Ok(found)
}
