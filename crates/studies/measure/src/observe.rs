//! Requests sent and watched: threads of generators, the server's CPU time beside them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use generator::{
    Generator, GeneratorUsage, Limits, LiveCounters, Neighbours, Peer, Plan, Protocol, Reading,
    Record, Sharing, Tally, clock,
};
use model::law::Law;
use model::scenario::{Architecture, Arrivals, Service};
use model::trace::Window;
use model::workload::Planned;
use model::{Failure, Nanos, Watch};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::local::{Local, Usage, Used};
use crate::target::Target;
use crate::tls::refusal;

/// From the moment when all connections are there to the first request.
const LEAD: Nanos = Nanos::from_millis(100);
/// How long the server may take to accept all connections.
const CONNECTING: Nanos = Nanos::from_secs(30);
/// How often the conductor looks around.
const LOOK: Duration = Duration::from_millis(10);
/// How often it looks at what else uses the generator's CPUs.
const LOOK_AROUND: Nanos = Nanos::from_millis(500);
/// Open files beside the connections.
const OTHER_FILES: u64 = 64;

/// With what a server is measured.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Connections, or UDP sockets, at least one.
    pub connections: u32,
    /// The generator's CPUs, a thread each; at least one.
    pub cpus: Vec<usize>,
    /// What the client puts up with.
    pub limits: Limits,
    /// Whether the client's kernel is to stamp what passes it.
    pub socket_timestamps: bool,
}

/// Requests to make.
pub(crate) struct Job<'a> {
    /// In the order of their moments.
    pub requests: &'a [Planned],
    /// The protocol of each thread's client.
    pub protocol: &'a dyn Fn() -> Box<dyn Protocol>,
    /// Connections to make them over.
    pub connections: u32,
    /// When the server's CPU time counts.
    pub window: Window,
    /// When what is outstanding is given up.
    pub until: Nanos,
    /// The observer.
    pub live: Option<Arc<LiveCounters>>,
}

/// What was seen.
pub(crate) struct Observed {
    /// One record a request, in the order of their moments.
    pub records: Vec<Record>,
    /// Of all connections.
    pub tally: Tally,
    /// What the generator's threads used.
    pub own: GeneratorUsage,
    /// What the server used in the window, where it runs here.
    pub used: Option<Used>,
    /// What else used the generator's CPUs in the window.
    pub sharing: Sharing,
    /// When the first moment was, on CLOCK_MONOTONIC and by the calendar.
    pub begin: (Nanos, SystemTime),
}

/// Makes the requests and watches.
pub(crate) fn observe(
    target: &Target,
    setup: &Setup,
    job: &Job,
    watch: &dyn Watch,
) -> Result<Observed, Failure> {
    allow_open_files(job.connections)?;
    let mut generators = prepare(target, setup, job).map_err(broken)?;
    let stop = AtomicBool::new(false);
    connect(target, &mut generators, watch)?;
    let local = Local::find(&target.address, target.transport());
    let (start, started) = (clock::now() + LEAD, SystemTime::now() + Duration::from_nanos(LEAD.0));
    let until = start + job.until;
    thread::scope(|scope| {
        let cpus = setup.cpus.iter().cycle();
        let send = |(generator, cpu): (Generator, &usize)| {
            let (stop, cpu) = (&stop, *cpu);
            scope.spawn(move || send(generator, cpu, (start, until), stop))
        };
        let threads: Vec<_> = generators.into_iter().zip(cpus).map(send).collect();
        let finished = || threads.iter().all(|thread| thread.is_finished());
        let mut around = Around::new(&setup.cpus[..setup.cpus.len().min(threads.len())]);
        let used = mind(local.as_ref(), start, job, (&finished, &mut around), watch);
        stop.store(watch.cancelled(), Ordering::Relaxed);
        let ran = threads.into_iter().map(|t| t.join().expect("the generator does not panic"));
        // Connections end only here, when the server has been looked at: with them a process may end.
        let sent = ran.map(|ran| ran.map(Ran::finish));
        let sent = sent.collect::<io::Result<Vec<Sent>>>().map_err(broken)?;
        if watch.cancelled() {
            return Err(Failure::Interrupted);
        }
        Ok(merged(sent, used, around, (start, started)))
    })
}

/// What one generator's thread brings back.
struct Ran {
    generator: Generator,
    cpu: Nanos,
    wait: Nanos,
    wall: Nanos,
}

impl Ran {
    /// Closes the connections.
    fn finish(self) -> Sent {
        let Ran { generator, cpu, wait, wall } = self;
        let (records, tally) = generator.finish().pop().unwrap_or_default();
        Sent { records, tally, cpu, wait, wall }
    }
}

/// What it did.
struct Sent {
    records: Vec<Record>,
    tally: Tally,
    cpu: Nanos,
    wait: Nanos,
    wall: Nanos,
}

/// A generator a thread, each with its share of connections and every so-many-th request.
fn prepare(target: &Target, setup: &Setup, job: &Job) -> io::Result<Vec<Generator>> {
    let threads = setup.cpus.len().min(job.connections as usize).max(1);
    let peer = || Peer { transport: target.transport(), address: target.address.clone() };
    let one = |thread: usize| {
        let first = job.connections as usize * thread / threads;
        let connections = (job.connections as usize * (thread + 1) / threads - first) as u32;
        let requests: Vec<Planned> =
            job.requests.iter().skip(thread).step_by(threads).copied().collect();
        let plan = Plan {
            service: &service(connections, 1.0),
            requests: &requests,
            protocol: (job.protocol)(),
            limits: setup.limits,
            live: job.live.clone(),
            socket_timestamps: setup.socket_timestamps,
        };
        let mut generator = Generator::new()?;
        generator.add(plan, peer());
        Ok(generator)
    };
    (0..threads).map(one).collect()
}

/// A service as a client sees it: any thread of the server may take any request.
pub(crate) fn service(connections: u32, rate_per_s: f64) -> Service {
    Service {
        architecture: Architecture::SharedQueue { workers: 1 },
        connections,
        request_bytes: 0,
        response_bytes: 0,
        service_law: Law::Fixed,
        service_time: Nanos(1),
        arrival_law: Law::Exponential,
        arrivals: Arrivals::Rate(rate_per_s),
    }
}

fn connect(
    target: &Target,
    generators: &mut [Generator],
    watch: &dyn Watch,
) -> Result<(), Failure> {
    let stop = AtomicBool::new(false);
    for generator in generators {
        let mut patience = CONNECTING;
        while let Err((missing, error)) = generator.connect(clock::now() + LEAD, &stop) {
            patience = patience.saturating_sub(LEAD);
            if watch.cancelled() {
                return Err(Failure::Interrupted);
            }
            let failed = error.as_ref().and_then(|error| refusal(target, error));
            if let Some(failed) = failed {
                return Err(failed);
            }
            if error.as_ref().is_some_and(is_final) || patience == Nanos::ZERO {
                return Err(unreachable(target, missing, error));
            }
        }
    }
    Ok(())
}

/// What waiting does not change.
fn is_final(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, InvalidData, NotFound, PermissionDenied};
    matches!(error.kind(), ConnectionRefused | InvalidData | NotFound | PermissionDenied)
}

fn unreachable(target: &Target, missing: usize, error: Option<io::Error>) -> Failure {
    // What the kernel says has a number; what a greeting came to has none.
    if let Some(refusal) = error.as_ref().filter(|e| is_final(e) && e.raw_os_error().is_none()) {
        return Failure::Run(format!(
            "{}: the server does not take this client ({refusal}): are protocol, user, password and database right?",
            target.text
        ));
    }
    let (address, why) =
        (&target.address, error.map_or("no answer".to_string(), |e| e.to_string()));
    Failure::Run(format!(
        "{missing} connections to {address} could not be opened ({why}): is the server there, and does it accept as many? \
         `--start` starts one, `--connections` asks for fewer"
    ))
}

fn send(
    mut generator: Generator,
    cpu: usize,
    (start, until): (Nanos, Nanos),
    stop: &AtomicBool,
) -> io::Result<Ran> {
    generator::thread::bind(&[cpu])?;
    generator::thread::shield()?;
    clock::sleep_until(start.saturating_sub(Nanos::from_millis(1)));
    let (before, from) = (Reading::own(), clock::now());
    generator.run(start, until, stop);
    let (after, wall) = (Reading::own(), clock::now() - from);
    let (cpu, wait) = (after.cpu - before.cpu, after.wait - before.wait);
    Ok(Ran { generator, cpu, wait, wall })
}

/// Looks at the generator's CPUs from the window's start to its end.
struct Around {
    cpus: Vec<usize>,
    seen: Option<Neighbours>,
    next: Nanos,
}

impl Around {
    fn new(cpus: &[usize]) -> Around {
        Around { cpus: cpus.to_vec(), seen: None, next: Nanos::ZERO }
    }

    fn look(&mut self, now: Nanos, window: Window) {
        if now < self.next.max(window.start) || self.next >= window.end {
            return;
        }
        match &mut self.seen {
            None => self.seen = Some(Neighbours::new(&self.cpus)),
            Some(seen) => seen.look(),
        }
        let next = now + LOOK_AROUND;
        self.next = if now < window.end { next.min(window.end) } else { next };
    }
}

/// Reads the server's CPU time at both ends of the window, while the generators work.
fn mind(
    local: Option<&Local>,
    start: Nanos,
    job: &Job,
    (finished, around): (&dyn Fn() -> bool, &mut Around),
    watch: &dyn Watch,
) -> Option<Used> {
    let mut readings: Vec<Usage> = Vec::new();
    let moments = [start + job.window.start, start + job.window.end];
    while !finished() && !watch.cancelled() {
        let next = moments.get(readings.len()).filter(|_| local.is_some());
        match (local, next) {
            (Some(local), Some(moment)) if *moment <= clock::now() => readings.push(local.usage()),
            (_, next) => {
                let nap = next.map_or(LOOK, |at| {
                    LOOK.min(Duration::from_nanos(at.saturating_sub(clock::now()).0))
                });
                thread::sleep(nap);
            }
        }
        around.look(clock::now().saturating_sub(start), job.window);
        let done = clock::now().saturating_sub(start).as_secs_f64();
        watch.progress((done / job.window.end.as_secs_f64()).min(1.0));
    }
    let local = local?;
    // The generators may be done before the window's end.
    if readings.len() == 1 {
        readings.push(local.usage());
    }
    let [before, after] = &readings[..] else { return None };
    local.used(before, after)
}

fn merged(
    sent: Vec<Sent>,
    used: Option<Used>,
    around: Around,
    begin: (Nanos, SystemTime),
) -> Observed {
    let total = |of: &dyn Fn(&Sent) -> u64| sent.iter().map(of).sum::<u64>();
    let requests = total(&|one| one.records.len() as u64).max(1);
    let wall = total(&|one| one.wall.0).max(1);
    let own = GeneratorUsage {
        cpu_share: total(&|one| one.cpu.0) as f64 / wall as f64,
        wait_share: total(&|one| one.wait.0) as f64 / wall as f64,
        run_delay: Nanos(total(&|one| one.wait.0) / requests),
    };
    let tally = Tally {
        opened: total(&|one| one.tally.opened),
        refused: total(&|one| one.tally.refused),
        dropped_idle: total(&|one| one.tally.dropped_idle),
    };
    let mut records: Vec<Record> = sent.into_iter().flat_map(|one| one.records).collect();
    records.sort_by_key(|record| record.planned.intended);
    let sharing = around.seen.map(|seen| seen.sharing(own.cpu_share)).unwrap_or_default();
    Observed { records, tally, own, used, sharing, begin }
}

/// Raises this process's own limit of open files to what the connections need.
fn allow_open_files(connections: u32) -> Result<(), Failure> {
    let wanted = u64::from(connections) + OTHER_FILES;
    let set = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        // A privileged process raises the hard limit. Others stay below it.
        let raise = |hard| setrlimit(Resource::RLIMIT_NOFILE, soft.max(wanted), hard);
        if wanted <= soft { Ok(()) } else { raise(hard.max(wanted)) }
    });
    set.map_err(|error| {
        Failure::Machine(format!(
            "{connections} connections need {wanted} open files, and this machine allows fewer ({error}): raise `ulimit -Hn`, \
             or use fewer connections"
        ))
    })
}

pub(crate) fn broken(error: io::Error) -> Failure {
    Failure::Run(format!("the run broke off: {error}"))
}
