//! `rearguard explain`: where the time of slow requests went, who is to blame, what helps.

use std::path::PathBuf;

use ::explain::{Program, SLOWEST, Setting, explain};
use model::Failure;
use report::explain::{EXPLAIN_SCHEMA, Explained};
use trace::{Header, Recorded};

use crate::output::{Output, signature};
use crate::traces;

/// Say where the time of a service's slow requests went, who is to blame, and what helps
#[derive(clap::Args)]
pub struct Args {
    /// A trace with scheduling events, as `compare --trace` writes them
    trace: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.output.check_page()?;
    let recorded = traces::read(&args.trace)?;
    args.output.explained(&document(&recorded)?)
}

/// What there is to say of a trace.
fn document(recorded: &Recorded) -> Result<Explained, Failure> {
    let Recorded { header, trace } = recorded;
    let setting = setting(header);
    let explanation = explain(trace, &setting)?;
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

fn setting(header: &Header) -> Setting {
    let program = |program: &trace::Program| Program {
        name: program.name.clone(),
        group: program.group.map(|index| header.groups[index].name.clone()),
        serves: program.kind == "service",
        memory_node: None,
    };
    Setting { machine: header.cpus, programs: header.programs.iter().map(program).collect() }
}
