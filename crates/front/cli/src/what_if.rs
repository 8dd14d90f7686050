//! `rearguard what-if`: what another policy, weight or machine would have made of a trace's requests.

use std::path::PathBuf;

use model::edit::Edit;
use model::{Arm, Failure, PolicySpec, Scenario};
use sim::SimArm;
use sim::costs::Costs;
use trace::Header;
use whatif::{Change, Found, Question, foretell, release, scenario, usual};

use crate::files;
use crate::output::{Output, signature};
use crate::terminal::Terminal;
use crate::traces::read;

/// Simulate a trace's requests and what ran beside them, under another policy, weight, quota or machine
#[derive(clap::Args)]
pub struct Args {
    /// A trace with scheduling events, as `compare --trace` and `stages --trace` write them
    trace: PathBuf,
    /// Policies to foretell; the one that ran, unless given
    #[arg(long, value_delimiter = ',', value_parser = PolicySpec::parse)]
    policy: Vec<PolicySpec>,
    /// Another value for a key of the scenario that the trace is taken for (--scenario shows it), for example
    /// machine.cpus=4 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Edit>,
    /// A program that shall not be there: of the scenario, or a process that the trace saw (repeatable)
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// Foretell the changes that are tried first, and say what each costs: other policies, nice -20, ten
    /// times the weight, absent neighbours, a CPU more
    #[arg(long, conflicts_with_all = ["policy", "set", "without"])]
    best: bool,
    /// The policy that ran when the trace was made, where it does not say
    #[arg(long, value_parser = PolicySpec::parse)]
    now: Option<PolicySpec>,
    /// How many seeds: they draw what costs differ by, the requests are the same
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..))]
    seeds: u16,
    /// Write the scenario that the trace is taken for, too
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.output.check(&["html", "md"], &[&args.trace])?;
    if let Some(path) = &args.scenario {
        files::check_apart(path, &[&args.trace])?;
        files::check_writable(path)?;
    }
    let recorded = read(&args.trace)?;
    let found = scenario(&recorded, Costs::DEFAULT.switch)?;
    if let Some(path) = &args.scenario {
        files::write(path, &found.text)?;
    }
    let now = now(args, &recorded.header, &found)?;
    let changes = changes(args, &found, &now, &recorded.header.scenario)?;
    let question =
        Question { now, changes: &changes, seeds: (1..=u64::from(args.seeds)).collect() };
    let watch = Terminal::on(&SimArm, "what-if");
    let mut document = foretell(&recorded, &found, &question, &SimArm, &watch)?;
    (document.command, document.version) = signature();
    args.output.foretold(&document)
}

/// The usual ones, or under each policy the user's own.
fn changes(
    args: &Args,
    found: &Found,
    now: &PolicySpec,
    file: &str,
) -> Result<Vec<Change>, Failure> {
    if args.best {
        return usual(found, now, file);
    }
    let asked = if args.policy.is_empty() { std::slice::from_ref(now) } else { &args.policy };
    let change = |policy: &PolicySpec| Change {
        edits: args.set.clone(),
        without: args.without.clone(),
        ..Change::to(policy.clone())
    };
    Ok(asked.iter().map(change).collect())
}

/// The default class, in traces of real kernels; `measure` sets no class.
const DEFAULT: [&str; 2] = ["default", "measured"];
/// The first release whose default class is EEVDF.
const EEVDF_SINCE: (u32, u32) = (6, 6);

/// What ran: as it was said, as the trace says, or the default class of its kernel.
fn now(args: &Args, header: &Header, found: &Found) -> Result<PolicySpec, Failure> {
    if let Some(now) = &args.now {
        return Ok(now.clone());
    }
    let scenario = Scenario::read(&found.text, &header.scenario)?;
    // A trace is data: a file that it names as its policy is not run.
    if let Ok(own) = PolicySpec::parse(&header.policy)
        && own.file().is_none()
        && SimArm.check(&scenario, &own).is_ok()
    {
        return Ok(own);
    }
    let class = default_class(&header.policy, header.kernel.as_deref()).ok_or_else(|| {
        let policy = &header.policy;
        Failure::Input(format!(
            "the trace ran under `{policy}`: say what to take it for, as --now eevdf"
        ))
    })?;
    PolicySpec::parse(class)
}

fn default_class(policy: &str, kernel: Option<&str>) -> Option<&'static str> {
    let release = kernel.filter(|_| DEFAULT.contains(&policy)).and_then(release)?;
    Some(if release >= EEVDF_SINCE { "eevdf" } else { "cfs" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_real_kernel_ran_is_told_by_its_release() {
        for (policy, kernel, class) in [
            ("default", Some("6.18.5"), Some("eevdf")),
            ("measured", Some("6.18.5"), Some("eevdf")),
            ("measured", Some("6.1.0-31-amd64"), Some("cfs")),
            ("measured", None, None),
            ("mine", Some("6.18.5"), None),
        ] {
            assert_eq!(default_class(policy, kernel), class, "{policy} on {kernel:?}");
        }
    }
}
