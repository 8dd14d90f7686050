//! `rearguard explain`: where the time of slow requests went, the culprits, what helps.

use std::path::PathBuf;

use ::explain::{SLOWEST, Setting, explain};
use model::{Failure, Nanos, Scenario};
use report::explain::{EXPLAIN_SCHEMA, Explained};
use trace::{Header, Recorded};

use crate::output::{Output, signature};
use crate::tables::TableFiles;
use crate::traces;

/// Say where the time of a service's slow requests went, which programs are to blame, and what helps
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("subject").required(true).args(["trace", "port", "pid"]))]
pub struct Args {
    /// A trace with scheduling events, as `compare --trace` and `stages --trace` write them
    trace: Option<PathBuf>,
    /// Watch the service that listens at this port instead
    #[arg(long)]
    port: Option<u16>,
    /// Watch the service that this process is: it must listen at a port, a unix socket has no stages
    #[arg(long)]
    pid: Option<u32>,
    /// How long to watch
    #[arg(long, default_value = "10s", value_parser = model::units::duration)]
    duration: Nanos,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    tables: TableFiles,
}

#[cfg(feature = "bpf")]
impl Args {
    /// Gives up what watching does not take.
    pub fn keep_least(&self) -> Result<(), Failure> {
        let writes = self.output.report().is_some() || self.tables.are_wanted();
        let watches = self.trace.is_none();
        if watches { crate::stages::keep_least(writes) } else { Ok(()) }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let inputs = args.trace.as_deref();
    args.output.check(&["html", "md"], inputs.as_slice())?;
    args.tables.check(inputs.as_slice())?;
    let recorded = match (&args.trace, args.port, args.pid) {
        (Some(path), _, _) => traces::read(path)?,
        (None, port, pid) => watched(measure::port_of(port, pid)?, args.duration)?,
    };
    let explained = document(&recorded)?;
    args.tables.write(&explained)?;
    args.output.explained(&explained)
}

/// What was seen of the service at a port.
#[cfg(feature = "bpf")]
pub fn watched(port: u16, duration: Nanos) -> Result<Recorded, Failure> {
    crate::stages::watch(port, duration).map(|(_, recorded)| recorded)
}

/// As without hooks in the kernel.
#[cfg(not(feature = "bpf"))]
pub fn watched(_port: u16, _duration: Nanos) -> Result<Recorded, Failure> {
    Err(model::trace_session::unbuilt())
}

/// What there is to say of a trace.
pub fn document(recorded: &Recorded) -> Result<Explained, Failure> {
    let Recorded { header, trace } = recorded;
    check_chain(header)?;
    let setting = setting(header);
    let explanation = explain(trace, &setting)?;
    if explanation.services.is_empty() {
        return Err(Failure::Input(format!(
            "no request of this trace of `{}` was answered by a thread that its events name, so there is nothing to explain",
            header.scenario
        )));
    }
    let (command, version) = signature();
    Ok(Explained {
        schema: EXPLAIN_SCHEMA.to_string(),
        command,
        version,
        scenario: header.scenario.clone(),
        arm: header.arm.clone(),
        machine: header.machine.clone(),
        policy: header.policy.clone(),
        kernel: header.kernel.clone(),
        seed: header.seed,
        slow_proportion: SLOWEST,
        services: explanation.documents(),
    })
}

/// [`Failure::Input`] where requests go through several services: explained is what happens in one.
fn check_chain(header: &Header) -> Result<(), Failure> {
    let scenario = Scenario::read(&header.scenario_text, &header.scenario).ok();
    let Some((own, before)) = scenario.as_ref().and_then(Scenario::behind) else { return Ok(()) };
    Err(Failure::Input(format!(
        "in this trace of `{}` requests go from `{before}` on to `{own}`, and explained are those that one service answers",
        header.scenario
    )))
}

/// The scenario's, where the trace has one: it alone says where memory lies.
fn setting(header: &Header) -> Setting {
    let program = |(index, program): (usize, &trace::Program)| ::explain::Program {
        name: program.name.clone(),
        group: program.group.map(|index| header.groups[index].name.clone()),
        owner: program.owner.clone(),
        serves: program.kind == "service",
        descends: program.descends,
        process: index,
        memory: None,
    };
    let programs: Vec<::explain::Program> =
        header.programs.iter().enumerate().map(program).collect();
    let scenario = Scenario::read(&header.scenario_text, &header.scenario).ok();
    let same = |setting: &Setting| {
        setting.programs.len() == programs.len() && setting.machine == header.cpus
    };
    let known = scenario.map(|scenario| Setting::of(&scenario).with(&header.tables)).filter(same);
    known.unwrap_or(Setting { machine: header.cpus, programs })
}
