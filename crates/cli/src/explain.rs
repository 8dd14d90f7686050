//! `rearguard explain`: where the time of slow requests went, who is to blame, what helps.

use std::path::PathBuf;

use ::explain::{Program, SLOWEST, Setting, explain};
use model::{Failure, Nanos, Scenario};
use report::explain::{EXPLAIN_SCHEMA, Explained};
use trace::{Header, Recorded};

use crate::output::{Output, signature};
use crate::traces;

/// Say where the time of a service's slow requests went, who is to blame, and what helps
#[derive(clap::Args)]
pub struct Args {
    /// A trace with scheduling events, as `compare --trace` and `stages --trace` write them
    #[arg(required_unless_present_any = ["port", "pid"], conflicts_with_all = ["port", "pid"])]
    trace: Option<PathBuf>,
    /// Watch the service that listens at this port instead
    #[arg(long)]
    port: Option<u16>,
    /// Watch the service that this process is
    #[arg(long, conflicts_with = "port")]
    pid: Option<u32>,
    /// How long to watch
    #[arg(long, default_value = "10s", value_parser = model::units::duration)]
    duration: Nanos,
    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.output.check_page()?;
    let recorded = match (&args.trace, args.port, args.pid) {
        (Some(path), _, _) => traces::read(path)?,
        (None, Some(port), _) => watched(port, args.duration)?,
        (None, None, pid) => watched(listens::port(pid.unwrap_or(0))?, args.duration)?,
    };
    args.output.explained(&document(&recorded)?)
}

#[cfg(feature = "kernel")]
fn watched(port: u16, duration: Nanos) -> Result<Recorded, Failure> {
    crate::stages::watch(port, duration).map(|(_, recorded)| recorded)
}

#[cfg(not(feature = "kernel"))]
fn watched(_port: u16, _duration: Nanos) -> Result<Recorded, Failure> {
    let remedy = "this rearguard was built without the kernel's part, which watches services: build it with its default features";
    Err(Failure::Machine(remedy.to_string()))
}

/// What there is to say of a trace.
fn document(recorded: &Recorded) -> Result<Explained, Failure> {
    let Recorded { header, trace } = recorded;
    let setting = setting(header);
    let explanation = explain(trace, &setting)?;
    if explanation.services.is_empty() {
        return Err(Failure::Input(format!(
            "no event of the trace says which thread served a request, so there is nothing to explain: traces of `--on sim` and of \
             `rearguard stages` with services say so, this one is of the arm {}",
            header.arm
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

/// The scenario's, where the trace has one: it alone says where memory lies.
fn setting(header: &Header) -> Setting {
    let program = |program: &trace::Program| Program {
        name: program.name.clone(),
        group: program.group.map(|index| header.groups[index].name.clone()),
        serves: program.kind == "service",
        memory: None,
    };
    let programs: Vec<Program> = header.programs.iter().map(program).collect();
    let scenario = Scenario::read(&header.scenario_text, &header.scenario).ok();
    let same = |setting: &Setting| setting.programs.len() == programs.len();
    let known = scenario.map(|scenario| Setting::of(&scenario)).filter(same);
    known.unwrap_or(Setting { machine: header.cpus, programs })
}

/// Ports at which a process listens.
mod listens {
    use std::fs;

    use model::Failure;

    /// The one port of a process. [`Failure::Input`] where it has none, or several to choose from.
    pub fn port(process: u32) -> Result<u16, Failure> {
        let sockets = sockets(process).map_err(|error| {
            Failure::Input(format!("--pid {process}: /proc/{process}/fd: {error}"))
        })?;
        let listens = |file: &str, state: &str| -> Vec<u16> {
            let text = fs::read_to_string(format!("/proc/{process}/net/{file}"));
            text.unwrap_or_default()
                .lines()
                .filter_map(|line| bound(line, state, &sockets))
                .collect()
        };
        // The kernel's numbers of states: 0A listens; 07 of UDP is not connected.
        let tables = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];
        let mut ports: Vec<u16> =
            tables.iter().flat_map(|(file, state)| listens(file, state)).collect();
        ports.sort_unstable();
        ports.dedup();
        match ports[..] {
            [port] => Ok(port),
            [] => Err(Failure::Input(format!("--pid {process}: it listens at no port"))),
            _ => Err(Failure::Input(format!(
                "--pid {process}: it listens at ports {ports:?}: choose one with --port"
            ))),
        }
    }

    /// The inodes of a process's sockets.
    fn sockets(process: u32) -> std::io::Result<Vec<String>> {
        let files = fs::read_dir(format!("/proc/{process}/fd"))?;
        let targets = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        let inode = |target: std::path::PathBuf| {
            let name = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_string();
            Some(name)
        };
        Ok(targets.filter_map(inode).collect())
    }

    /// The port of a line of /proc/net/tcp, if the socket is one of these and in this state.
    fn bound(line: &str, state: &str, sockets: &[String]) -> Option<u16> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_ours = words.get(3) == Some(&state)
            && sockets.iter().any(|s| words.get(9) == Some(&s.as_str()));
        let (_, port) = words.get(1).filter(|_| is_ours)?.rsplit_once(':')?;
        u16::from_str_radix(port, 16).ok()
    }

    #[cfg(test)]
    mod tests {
        use super::bound;

        #[test]
        fn a_listening_socket_is_known_by_its_inode_and_state() {
            let line = "   0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100 0 0 10 0";
            let ours = ["4711".to_string()];
            assert_eq!(bound(line, "0A", &ours), Some(11211));
            assert_eq!(bound(line, "0A", &["4712".to_string()]), None);
            assert_eq!(bound(line, "07", &ours), None);
        }
    }
}
