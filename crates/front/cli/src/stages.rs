//! `rearguard stages`: a running service watched from the kernel, without touching it.

mod overhead;
pub mod ran;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use model::event::What;
use model::scenario::Machine;
use model::trace::{Request, Stages, Trace};
use model::{Failure, Nanos, Watch};
use report::stages::{
    AROUND, AT_IT, CLIENT, SERVER_STAGES, STAGES_SCHEMA, Stage, StagesDocument, WHOLE,
};
use trace::{Header, Program, Recorded};
use tracer::{Observed, Scheduling, Tracer, Wanted, observe};

use crate::files::{check_writable, write_with};
use crate::output::{Output, signature};
use crate::tables::TableFiles;
use crate::terminal::Terminal;
use ran::Ran;

/// Watch a running service: the stages T1 to T6 of every request, and the holders of the CPUs
#[derive(clap::Args)]
pub struct Args {
    /// The port at which the service listens
    #[arg(long, required_unless_present = "overhead")]
    port: Option<u16>,
    /// Say what watching adds to a null RPC on this machine instead, in CPU time and in instructions
    #[arg(long, conflicts_with_all = ["port", "duration", "trace"])]
    overhead: bool,
    /// How long to watch
    #[arg(long, default_value = "10s", value_parser = model::units::duration)]
    duration: Nanos,
    /// Write a trace to this file, for `rearguard explain` and `rearguard trace`
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    tables: TableFiles,
}

/// How often the user's wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(50);

impl Args {
    /// Gives up what watching does not take.
    pub fn keep_least(&self) -> Result<(), Failure> {
        let writes =
            self.trace.is_some() || self.output.report().is_some() || self.tables.are_wanted();
        self.port.map_or(Ok(()), |_| keep_least(writes))
    }
}

/// Gives up root's capabilities but those that watching takes, and what files take where some are to be
/// written.
pub fn keep_least(writes: bool) -> Result<(), Failure> {
    let all = [tracer::SOCKETS, tracer::FILES];
    tracer::keep_least(if writes { &all } else { &all[..1] })
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.output.check(&["html"], &[])?;
    args.tables.check(&[])?;
    args.trace.as_deref().map_or(Ok(()), check_writable)?;
    let Some(port) = args.port else {
        let document = overhead::measure()?;
        args.tables.write(&document)?;
        return args.output.overhead(&document);
    };
    let (observed, recorded) = watch(port, args.duration)?;
    if let Some(path) = &args.trace {
        write(path, &recorded)?;
    }
    let document = document(port, &observed);
    args.tables.write(&document)?;
    args.output.staged(&document)
}

/// Watches the service at a port. [`Failure::Run`] where its requests' stages are not complete.
pub fn watch(port: u16, duration: Nanos) -> Result<(Observed, Recorded), Failure> {
    measure::check_listening(port)?;
    let scheduling = Scheduling::Everywhere;
    let tracer = Tracer::start(Wanted { ports: vec![port], scheduling })?;
    let terminal = Terminal::new(&format!("port {port}"));
    let (begun, whole) = (Instant::now(), Duration::from_nanos(duration.0));
    while begun.elapsed() < whole && !terminal.cancelled() {
        thread::sleep(LOOK.min(whole));
        terminal.progress(begun.elapsed().as_secs_f64() / whole.as_secs_f64());
    }
    let observed = observe(&tracer.stop()?)?;
    let recorded = recorded(port, &observed);
    Ok((observed, recorded))
}

/// A service that was watched as a trace with its header.
pub fn recorded(port: u16, observed: &Observed) -> Recorded {
    let trace = observed.trace.clone();
    let mut groups = Vec::new();
    let kinds = std::iter::once("service").chain(std::iter::repeat("process"));
    let programs = observed.programs.iter().zip(kinds);
    let programs =
        programs.map(|(process, kind)| Program::of(process, kind, &mut groups)).collect();
    let (command, version) = signature();
    let header = Header {
        scenario: format!("port {port}"),
        scenario_text: String::new(),
        arm: "host".to_string(),
        machine: format!("{} CPUs, watched by tracepoints", observed.cpus),
        cpus: Machine { cpus: observed.cpus, ..Machine::ONE_CPU },
        policy: trace.policy.clone(),
        kernel: trace.kernel.clone(),
        seed: trace.seed,
        replay: command.join(" "),
        version,
        window_start_ns: trace.window.start.0,
        window_end_ns: trace.window.end.0,
        groups,
        programs,
        threads: trace.threads.iter().map(|thread| thread.program).collect(),
        events: true,
        tables: trace.tables.clone(),
    };
    Recorded { header, trace }
}

fn write(path: &Path, recorded: &Recorded) -> Result<(), Failure> {
    write_with(path, |mut out| trace::write(&recorded.header, &recorded.trace, &mut out))
}

/// How long each stage in the server's kernel takes, of the requests that arrived inside the measured part.
pub fn figures(trace: &Trace) -> Vec<Stage> {
    let seen = seen(trace);
    let inside = |seen: &&Seen| trace.window.contains(seen.stages.arrived);
    let inside: Vec<&Seen> = seen.iter().filter(inside).collect();
    let mut stages = server_stages(&inside);
    stages.push(row(WHOLE, &inside, |seen| seen.stages.latency()));
    stages
}

/// How long each stage takes of the requests that were intended inside the measured part: with the waits in
/// the client and on the way they sum to the latency.
pub fn whole_figures(trace: &Trace) -> Vec<Stage> {
    let seen = seen(trace);
    let inside =
        |seen: &&Seen| trace.window.contains(seen.request.intended) && !seen.request.is_lost();
    let inside: Vec<&Seen> = seen.iter().filter(inside).collect();
    let [to_server, back, latency] = AROUND;
    // The client's stamps are on another clock than the server's, a few nanoseconds apart.
    let sent = |seen: &Seen| seen.request.sent.clamp(seen.request.intended, seen.stages.arrived);
    let received = |seen: &Seen| seen.request.received.max(seen.stages.transmitted);
    let mut stages = vec![
        row(CLIENT, &inside, |seen| sent(seen) - seen.request.intended),
        row(to_server, &inside, |seen| seen.stages.arrived - sent(seen)),
    ];
    stages.extend(server_stages(&inside));
    stages.extend([
        row(back, &inside, |seen| received(seen) - seen.stages.transmitted),
        row(WHOLE, &inside, |seen| seen.stages.latency()),
        row(latency, &inside, |seen| received(seen) - seen.request.intended),
    ]);
    stages
}

/// A request with all of its stages.
struct Seen<'a> {
    request: &'a Request,
    stages: &'a Stages,
    /// For how long its thread had a CPU from T4 to T5.
    ran: Nanos,
}

fn seen(trace: &Trace) -> Vec<Seen<'_>> {
    let events = trace.events.as_deref().unwrap_or_default();
    let ran = Ran::new(trace.threads.len(), events);
    let program = &trace.programs[0];
    let mut threads = vec![None; program.requests.len()];
    for event in events {
        if let What::Start { thread, request } = event.what
            && trace.threads[thread.index()].program == 0
        {
            threads[request as usize] = Some(thread);
        }
    }
    let all = program.requests.iter().zip(&program.stages).zip(threads);
    let all = all.filter(|((request, stages), _)| {
        stages.is_complete() && request.intended <= stages.arrived
    });
    all.map(|((request, stages), thread)| {
        let ran = thread.map(|thread| ran.between(thread, stages.read, stages.sends));
        Seen { request, stages, ran: ran.unwrap_or_default() }
    })
    .collect()
}

fn row(names: (&str, &str), seen: &[&Seen], span: impl Fn(&Seen) -> Nanos) -> Stage {
    ::measure::stage(names, seen.iter().map(|seen| span(seen)).collect())
}

/// T1-T2 to T5-T6, and what T4-T5 consists of.
fn server_stages(seen: &[&Seen]) -> Vec<Stage> {
    let part = |n: usize| row(SERVER_STAGES[n], seen, |seen| seen.stages.spans()[n]);
    let at_it = |seen: &Seen| seen.stages.sends - seen.stages.read;
    let [on, off] = AT_IT;
    let mut stages: Vec<Stage> = (0..4).map(part).collect();
    stages.extend([
        row(on, seen, |seen| seen.ran),
        row(off, seen, |seen| at_it(seen) - seen.ran),
        part(4),
    ]);
    stages
}

fn document(port: u16, observed: &Observed) -> StagesDocument {
    let trace = &observed.trace;
    let (command, version) = signature();
    StagesDocument {
        schema: STAGES_SCHEMA.to_string(),
        command,
        version,
        service: observed.programs[0].name.clone(),
        port,
        kernel: trace.kernel.clone(),
        requests: observed.requests,
        complete: observed.complete,
        stages: figures(trace),
    }
}
