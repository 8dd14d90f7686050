//! The scheduler under test: loaded, in force, unloaded, as a user would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sched_ext::File;

const SAID: &str = "/tmp/loader.log";

/// How long loading and unloading may take in a busy guest on a busy machine: two minutes beside compilers.
const PATIENCE: Duration = Duration::from_secs(300);
/// Lines of the loader's that a fault shows.
const LAST_LINES: usize = 10;

/// How often to look.
const LOOK: Duration = Duration::from_millis(10);

/// A restart begins within this.
const SETTLING: Duration = Duration::from_secs(3);

/// The policy that is nothing but the kernel's own class.
pub const DEFAULT: &str = "default";

/// What loads a policy: nothing for the default class, a rival's own executable (`scx_...`, see
/// tools/rivals), else `scx_rearguard`.
pub fn command(policy: &str, loader: &Path) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    match policy {
        DEFAULT => Vec::new(),
        rival if rival.starts_with("scx_") => vec![text(&rivals().join("bin").join(rival))],
        ours => vec![text(loader), ours.into()],
    }
}

/// Where tools/rivals puts them.
fn rivals() -> PathBuf {
    let of = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = of("HOME").unwrap_or_default().join(".cache");
    of("RG_RIVALS_DIR")
        .unwrap_or_else(|| of("XDG_CACHE_HOME").unwrap_or(home).join("rearguard/rivals"))
}

/// The scheduler of a run.
pub struct Scheduler {
    command: Vec<String>,
    loader: Option<Child>,
    name: String,
    sequence: String,
}

impl Scheduler {
    /// Loads it by a command, unless that is empty: the kernel's default class.
    pub fn start(command: Vec<String>) -> Result<Scheduler, String> {
        let (name, sequence) = (String::new(), String::new());
        let mut scheduler = Scheduler { command, loader: None, name, sequence };
        scheduler.load()?;
        Ok(scheduler)
    }

    /// Whether there is anything to load.
    pub fn is_loaded(&self) -> bool {
        !self.command.is_empty()
    }

    /// The loader's process.
    pub fn loader(&self) -> Option<u32> {
        self.loader.as_ref().map(Child::id)
    }

    /// Loads it and waits until it is in force.
    pub fn load(&mut self) -> Result<(), String> {
        let Some((program, args)) = self.command.split_first() else { return Ok(()) };
        let log = fs::File::create(SAID).map_err(|error| error.to_string())?;
        let before = read(File::Enablings);
        let loader = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(|error| error.to_string())?)
            .stderr(log)
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        self.loader = Some(loader);
        self.await_state("enabled")?;
        // The kernel counts after it has changed the state.
        while read(File::Enablings) == before {
            sleep(LOOK);
        }
        (self.name, self.sequence) = (read(File::Name), read(File::Enablings));
        Ok(())
    }

    /// Waits until it is in force (again).
    pub fn await_enabled(&mut self) -> Result<(), String> {
        if !self.is_loaded() {
            return Ok(());
        }
        self.await_state("enabled")?;
        self.sequence = read(File::Enablings);
        Ok(())
    }

    /// Waits until it is in force and stays so: a restart that was on its way is over.
    pub fn await_settled(&mut self) -> Result<(), String> {
        sleep(SETTLING);
        self.await_enabled()
    }

    /// Ends it as Ctrl-C does. It must end well, and be in force no longer.
    pub fn unload(&mut self) -> Result<(), String> {
        let Some(status) = self.end_loader(Signal::SIGINT)? else { return Ok(()) };
        if !status.success() {
            return Err(format!("the loader ended with {status}: {}", said()));
        }
        self.await_state("disabled")
    }

    /// Kills it as nothing can foresee. It must be in force no longer.
    pub fn kill(&mut self) -> Result<(), String> {
        if self.end_loader(Signal::SIGKILL)?.is_none() {
            return Ok(());
        }
        self.await_state("disabled")
    }

    /// What is wrong now: not in force, another one, restarted, or a thread refused.
    pub fn faults(&self) -> Vec<String> {
        if !self.is_loaded() {
            return Vec::new();
        }
        let mut faults = Vec::new();
        let mut expect = |what: &str, is: String, wanted: &str| {
            if is != wanted {
                faults.push(format!("{what} is `{is}`, not `{wanted}`"));
            }
        };
        expect("the state of sched_ext", read(File::State), "enabled");
        expect("the scheduler in force", read(File::Name), &self.name);
        expect("the count of its enablings", read(File::Enablings), &self.sequence);
        expect("the count of refused threads", read(File::Refused), "0");
        if !faults.is_empty() {
            faults.push(format!("the loader said: {}", said()));
        }
        faults
    }

    /// The kernel's counts of what it had to mend, those above zero.
    pub fn events(&self) -> String {
        let text = read(File::Events);
        let counted = text.lines().filter(|line| !line.ends_with(" 0"));
        counted.map(str::to_lowercase).collect::<Vec<_>>().join(", ")
    }

    fn end_loader(&mut self, signal: Signal) -> Result<Option<ExitStatus>, String> {
        let Some(mut loader) = self.loader.take() else { return Ok(None) };
        let _ = kill(Pid::from_raw(loader.id() as i32), signal);
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Some(status) = loader.try_wait().map_err(|error| error.to_string())? {
                return Ok(Some(status));
            }
            sleep(LOOK);
        }
        Err(format!("the loader did not end within {PATIENCE:?} of {signal}"))
    }

    fn await_state(&mut self, wanted: &str) -> Result<(), String> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if read(File::State) == wanted {
                return Ok(());
            }
            let ended = self.loader.as_mut().and_then(|loader| loader.try_wait().ok().flatten());
            if let Some(status) = ended {
                return Err(format!("the loader ended with {status}: {}", said()));
            }
            sleep(LOOK);
        }
        let (state, said) = (read(File::State), said());
        Err(format!("sched_ext is {state}, not {wanted}, after {PATIENCE:?}: {said}"))
    }
}

/// The loader's last lines: it may have been told to show all that the verifier says.
fn said() -> String {
    let text = fs::read_to_string(SAID).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

fn read(file: File) -> String {
    sched_ext::read(file).ok().flatten().unwrap_or_default()
}
