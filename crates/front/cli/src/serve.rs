//! `rearguard serve`: a server to be measured, until it is interrupted.

use std::thread;
use std::time::Duration;

use model::{Failure, Watch};

use ::measure::{Placed, Started, Target};

use crate::measure::{Startable, check_cpus};
use crate::terminal::Terminal;

/// How often to look whether the server has ended, or the user wants it to.
const LOOK: Duration = Duration::from_millis(50);

/// Start a server as `measure --start` does, and keep it until Ctrl-C: to turn knobs for it between
/// measurements
///
/// Its first line says where it is and which process keeps it, for `measure --target` and `tune --pid`.
#[derive(clap::Args)]
pub struct Args {
    /// The server: memcached, nginx, apache2, redis or null-rpc
    #[arg(value_name = "NAME", value_parser = Startable::from_user)]
    server: Startable,
    /// Its protocol and address, as of `measure --target`, on 127.0.0.1 [default: the server's own at a free
    /// port]
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    /// Its CPUs [default: all]
    #[arg(long, value_name = "CPU,...", value_delimiter = ',')]
    cpus: Vec<usize>,
    /// Connections that it must be able to hold
    #[arg(long, value_name = "N", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    check_cpus("--cpus", &args.cpus)?;
    let watch = Terminal::new("serve");
    let kind = args.server.0;
    let target = Target::parse(args.target.as_deref().unwrap_or(kind.usual_target()), None)?;
    let all = || host::cpus().iter().map(|cpu| cpu.id).collect();
    let cpus = if args.cpus.is_empty() { all() } else { args.cpus.clone() };
    let placed = Placed { cpus, connections: args.connections };
    let mut started = Started::start(kind, target, &placed, &watch)?;
    stdout::line(format_args!("{} process {}", started.target.text, started.process()))?;
    while !watch.cancelled() {
        started.check_alive()?;
        thread::sleep(LOOK);
    }
    Ok(())
}
