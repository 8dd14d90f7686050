//! The vm arm as other crates see it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use host::Placement;
use lab::{Cost, Counting, Entry, Job, Kernel, Lab, OWN_PROGRAM, Outcome};
use loader::Scheduler;
use model::scenario::Kind;
use model::trace_session::unbuilt;
use model::{Arm, Events, Failure, Nanos, PolicySpec, Scenario, Trace, Watch};

use crate::guest::kernel_tracer;
use crate::guest_output::GuestOutput;
use crate::needs::{Kernels, Needs, kernel, needs};
use crate::order::{OBJECT, ORDER, Order, REPORT, ROLE, Report};

/// A CPU that wakes up waits until those before it have had their turns: so long at most, see [`Counting`].
const ROUND: Nanos = Nanos::from_micros(50);
/// Where nothing waits for an answer, a wake-up that is late by some turns changes nothing.
const LONG_TURN: Nanos = Nanos::from_micros(100);
/// From so many CPUs on an instruction takes 4 ns: they share the instructions of a second, and a run takes a
/// quarter of the time.
const MANY_CPUS: u32 = 16;
/// Shorter turns cost the host more than what runs in them.
const SHORTEST_TURN: Nanos = Nanos::from_micros(10);
/// Memory of a guest, and what each thread adds: its stack, the kernel's, and its connection's buffers.
const MEMORY_MIB: u32 = 768;
const THREADS_A_MIB: u32 = 4;
/// Real time for a boot on a machine that is busy, and for a second of the guest with all CPUs computing.
const BOOT: Duration = Duration::from_secs(180);
const REAL_SECONDS_A_SECOND: u32 = 40;

/// Runs scenarios in guests of the VM lab, each policy under the kernel that it needs.
pub struct VmArm {
    lab: Lab,
    programs: Vec<PathBuf>,
    /// The kernel of all guests; `None`: each policy's own.
    kernel: Option<Kernel>,
    tell: Option<fn(&str)>,
}

impl VmArm {
    /// An arm on the user's lab; `programs` are schedulers to look for before PATH, `kernel` is the lab's for
    /// all guests. `tell` is called with a line on each run: the kernel, and how late an idle CPU woke up.
    pub fn new(
        programs: Vec<PathBuf>,
        kernel: Option<&str>,
        tell: Option<fn(&str)>,
    ) -> Result<VmArm, Failure> {
        if let Some(absent) = programs.iter().find(|path| !path.is_file()) {
            let path = absent.display();
            return Err(Failure::Input(format!("--with {path}: there is no such program")));
        }
        let lab = Lab::of_user()?;
        let kernel = kernel.map(|name| lab.find(name)).transpose()?;
        Ok(VmArm { lab, programs, kernel, tell })
    }

    fn kernels(&self) -> Kernels<'_> {
        self.kernel.as_ref().map_or(Kernels::Any(&self.lab), Kernels::One)
    }

    fn tell(&self, order: &Order, kernel: &str, report: &Report, cost: Cost) {
        let Some(tell) = self.tell else { return };
        let seeds: Vec<String> = order.seeds.iter().map(u64::to_string).collect();
        let late = report.wakeups.map_or("one CPU".to_string(), |late| late.to_string());
        let (policy, seeds) = (&order.policy, seeds.join(", "));
        tell(&format!("{policy}, seed {seeds}: Linux {kernel}, {late}; {cost}"));
    }
}

impl Arm for VmArm {
    fn name(&self) -> &'static str {
        "vm"
    }

    fn machine(&self) -> String {
        "a guest of QEMU that has the scenario's CPUs, whose clock counts instructions".to_string()
    }

    fn kernel(&self, policy: &PolicySpec) -> Result<String, Failure> {
        Ok(kernel(self.kernels(), policy)?.release)
    }

    fn exclusive(&self) -> bool {
        false
    }

    fn check(&self, scenario: &Scenario, policy: &PolicySpec) -> Result<(), Failure> {
        lab::check_machine(&scenario.machine, has_services(scenario))?;
        host::check_scenario(scenario)?;
        located(scenario)?;
        needs(self.kernels(), &self.programs, scenario, policy).map(|_| ())
    }

    /// Every kernel of the lab has what recording takes.
    fn has_events(&self) -> Result<(), Failure> {
        kernel_tracer().ok_or_else(unbuilt).map(|_| ())
    }

    fn run(
        &self,
        scenario: &Scenario,
        policy: &PolicySpec,
        seed: u64,
        events: Events,
        watch: &dyn Watch,
    ) -> Result<Trace, Failure> {
        let mut traces = self.run_seeds(scenario, policy, &[seed], events, watch)?;
        traces.pop().ok_or_else(|| Failure::Run("the guest's report is empty".to_string()))
    }

    fn shares_preparation(&self) -> bool {
        true
    }

    /// All in one guest, under a scheduler that is put into force once.
    fn run_seeds(
        &self,
        scenario: &Scenario,
        policy: &PolicySpec,
        seeds: &[u64],
        events: Events,
        watch: &dyn Watch,
    ) -> Result<Vec<Trace>, Failure> {
        let needs = needs(self.kernels(), &self.programs, scenario, policy)?;
        let (located, files) = located(scenario)?;
        let order = Order {
            scenario: located,
            policy: policy.to_string(),
            scheduler: needs.scheduler.clone(),
            services: needs.services,
            placement: placement(scenario),
            seeds: seeds.to_vec(),
            events: events == Events::Recorded,
        };
        let kernel = needs.kernel.release.clone();
        let mut job = job(scenario, needs, &order)?;
        job.put.extend(files);
        let mut output = GuestOutput::new(watch);
        let outcome = self.lab.run(&job, &mut output)?;
        let cost = outcome.cost;
        let report = report(outcome, output.complaint())?;
        self.tell(&order, &kernel, &report, cost);
        Ok(report.traces)
    }
}

fn job(scenario: &Scenario, needs: Needs, order: &Order) -> Result<Job, Failure> {
    let text = serde_json::to_vec(order).expect("strings and finite numbers");
    let mut files = vec![Entry { name: ORDER.to_string(), mode: 0o644, content: text }];
    let mut put = Vec::new();
    if let Scheduler::Program(command) = &order.scheduler {
        put.extend(command.first().map(PathBuf::from));
        files.push(configuration(&needs.kernel)?);
    }
    files.extend(needs.object.map(|object| Entry {
        name: OBJECT.to_string(),
        mode: 0o644,
        content: object,
    }));
    let threads: u32 = scenario.programs.iter().map(|program| program.kind.threads()).sum();
    Ok(Job {
        kernel: needs.kernel,
        machine: scenario.machine,
        apart: has_apart(scenario),
        counting: Some(counting(scenario)),
        real_time: None,
        memory_mib: MEMORY_MIB + threads / THREADS_A_MIB,
        timeout: timeout(scenario, order.seeds.len()),
        put,
        files,
        get: vec![REPORT.to_string()],
        command: vec![OWN_PROGRAM.to_string(), ROLE.to_string()],
    })
}

/// The scenario with the paths of its commands and of the files among their arguments, and all of these:
/// guests have them from this machine.
fn located(scenario: &Scenario) -> Result<(Scenario, Vec<PathBuf>), Failure> {
    let (mut scenario, mut files) = (scenario.clone(), Vec::new());
    for program in &mut scenario.programs {
        let Kind::Command { command } = &mut program.kind else { continue };
        let own = lab::locate(&command[0])?;
        let words = command[1..].iter().map(|word| (word.clone(), file(word)));
        let all = [(String::new(), Some(own))].into_iter().chain(words);
        let word = |(word, path): (String, Option<PathBuf>)| {
            files.extend(path.clone());
            path.map_or(word, |path| path.to_string_lossy().into_owned())
        };
        *command = all.map(word).collect();
    }
    Ok((scenario, files))
}

/// The file that an argument names, if it begins as a path.
fn file(word: &str) -> Option<PathBuf> {
    let path = std::path::absolute(word).ok()?;
    (word.starts_with("./") || word.starts_with('/')).then_some(path).filter(|path| path.is_file())
}

/// The kernel's configuration where distributions have it: some schedulers refuse to start without.
fn configuration(kernel: &Kernel) -> Result<Entry, Failure> {
    let path = kernel.config();
    let content = fs::read(&path)
        .map_err(|error| Failure::Machine(format!("{}: {error}", path.display())))?;
    Ok(Entry { name: format!("/boot/config-{}", kernel.release), mode: 0o644, content })
}

fn report(outcome: Outcome, complaint: String) -> Result<Report, Failure> {
    match outcome.code {
        0 => {}
        2 => return Err(Failure::Input(complaint)),
        3 => return Err(Failure::Machine(complaint)),
        code => return Err(Failure::Run(format!("the guest's run failed ({code}): {complaint}"))),
    }
    let content = outcome.files.first().map(|file| file.content.as_slice()).unwrap_or_default();
    postcard::from_bytes(content)
        .map_err(|error| Failure::Run(format!("the guest's report is broken: {error}")))
}

/// What sends requests has a CPU of its own, and so has what reads the threads' clocks, unless there is one
/// CPU: with two the guest would take turns.
fn has_apart(scenario: &Scenario) -> bool {
    scenario.machine.cpus > 1 || has_services(scenario)
}

fn has_services(scenario: &Scenario) -> bool {
    scenario.programs.iter().any(|program| matches!(program.kind, Kind::Service(_)))
}

/// The scenario's CPUs come first; the generator's is the one apart, where there is one.
fn placement(scenario: &Scenario) -> Placement {
    let cpus = scenario.machine.cpus as usize;
    let generator = if has_apart(scenario) { cpus } else { 0 };
    Placement { generator, scenario: (0..cpus).collect() }
}

/// A single CPU takes no turns.
fn counting(scenario: &Scenario) -> Counting {
    let answers = has_services(scenario) || scenario.of_kernels_alone().is_some();
    let others = scenario.machine.cpus - 1 + u32::from(has_apart(scenario));
    let turn = match others {
        0 => return Counting { shift: 0, turn: None },
        _ if answers => Nanos(ROUND.0 / u64::from(others)).max(SHORTEST_TURN),
        _ => LONG_TURN,
    };
    Counting { shift: if scenario.machine.cpus < MANY_CPUS { 0 } else { 2 }, turn: Some(turn) }
}

/// Real time until a guest that still runs has failed: for each run warm-up and window, and as long for what
/// is outstanding.
fn timeout(scenario: &Scenario, runs: usize) -> Duration {
    let guest = Duration::from_nanos((scenario.warm_up + scenario.duration + scenario.duration).0);
    BOOT + guest * REAL_SECONDS_A_SECOND * runs as u32
}

#[cfg(test)]
mod tests {
    use model::scenario::Program;

    use super::*;

    #[test]
    fn commands_and_the_files_that_they_are_given_come_along() {
        let here = tempfile::tempdir().unwrap();
        let file = here.path().join("work.json").display().to_string();
        std::fs::write(&file, "{}").unwrap();
        let words = ["sh", "-c", &file, "/dev/null", "./absent", "Cargo.toml"];
        let command = words.iter().map(|word| word.to_string()).collect();
        let text = "# A.\nduration = \"1s\"\n[machine]\ncpus = 1\n[[program]]\nname = \"a\"\n\
            kind = \"batch\"\n";
        let mut scenario = Scenario::read(text, "a.toml").unwrap();
        scenario.programs = vec![Program::new("a", Kind::Command { command })];
        let (found, files) = located(&scenario).unwrap();
        let Kind::Command { command } = &found.programs[0].kind else { panic!("a command") };
        assert!(command[0].ends_with("/sh") && command[1..] == words[1..], "{command:?}");
        assert_eq!(files, [PathBuf::from(&command[0]), PathBuf::from(&file)]);
        scenario.programs =
            vec![Program::new("a", Kind::Command { command: ["no-such".to_string()].into() })];
        assert!(matches!(located(&scenario), Err(Failure::Input(_))));
    }
}
