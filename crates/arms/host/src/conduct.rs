//! One run from the first child to the last reading.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use model::scenario::{Kind, Scenario};
use model::trace::Window;
use model::trace_session::{CapturedEvents, Run, TraceSession};
use model::{Failure, Nanos, Watch, workload};

use crate::arm::Stage;
use crate::changes::Changes;
use crate::check::class;
use crate::children::{self, Done, Program};
use crate::clock;
use crate::groups::Groups;
use crate::privilege;
use crate::role::order::{CommandRun, Go, Order, Work};
use crate::sampler::{Sample, Sampler, Samples};
use generator::{Generator, Limits, Neighbours, NullRpc, Plan, Reading, Record, Sharing};

/// From the moment when everything is ready to the start of the run: time for all threads to reach their
/// places.
const LEAD: Nanos = Nanos::from_millis(100);
/// How often the conductor looks around.
const LOOK: Duration = Duration::from_millis(20);
/// Looks between two reports of progress.
const LOOKS_PER_REPORT: u64 = 10;

/// Everything that was seen of a run.
pub struct Seen {
    /// The measured part.
    pub window: Window,
    /// The records of each service, in the scenario's order.
    pub services: Vec<Vec<Record>>,
    /// The generator's wait for its CPU, over the whole run.
    pub run_delay: Nanos,
    /// Who had the generator's CPU meanwhile.
    pub sharing: Sharing,
    /// How others shared the scenario's CPUs.
    pub beside: Sharing,
    /// CPU time of all threads while the window was open.
    pub samples: Samples,
    /// CPU time of all threads when the last response had come.
    pub end: Sample,
    /// The kernel's ids of each program's threads.
    pub threads: Vec<Vec<i32>>,
    /// When the run began, on the clock that commands' runs are told by.
    pub begin: Nanos,
    /// What each program did.
    pub finished: Vec<Finished>,
    /// The threads on the CPUs, if that was recorded.
    pub captured: Option<CapturedEvents>,
}

/// What a program did.
pub struct Finished {
    /// Rounds inside the window.
    pub rounds: u64,
    /// Every run of a command.
    pub runs: Vec<CommandRun>,
}

/// What the generator's thread brings back.
struct Sent {
    generator: Generator,
    run_delay: Nanos,
}

/// Runs the scenario once. The calling thread becomes the parent of all programs, and is bound to the
/// generator's CPU.
pub fn conduct(stage: &Stage, watch: &dyn Watch) -> Result<Seen, Failure> {
    let Stage { scenario, placement, .. } = stage;
    generator::thread::bind(&[placement.generator]).map_err(broken)?;
    // Before the programs, so that it goes after them.
    let groups = Groups::make(scenario).map_err(broken)?;
    let mut programs = start(stage, &groups, watch)?;
    let generator = generator(scenario, &mut programs, stage.seed)?;
    let sampler = sampler(&programs, stage).map_err(broken)?;
    let tracer = stage.tracer.map(|tracer| tracer.start(&placement.scenario)).transpose()?;
    let changes = Changes::new(stage, &programs, &groups);
    changes.begin().map_err(broken)?;
    let mut neighbours = Neighbours::new(&[placement.generator]);
    let mut beside = Neighbours::of_strangers(&placement.scenario);
    let begin = clock::now() + LEAD;
    let window = Window { start: scenario.warm_up, end: scenario.warm_up + scenario.duration };
    let go =
        Go { start: begin, window_start: begin + window.start, window_end: begin + window.end };
    programs.iter_mut().try_for_each(|program| program.go(&go))?;

    let (sent, samples) = measure(&mut programs, generator, &sampler, &changes, &go, watch)?;
    neighbours.look();
    beside.look();
    let end = sampler.sample(begin).map_err(broken)?;
    let threads: Vec<_> =
        children::threads(&programs).into_iter().map(|(_, ids)| ids.to_vec()).collect();
    let captured = tracer
        .map(|session| finish_session(stage, session, &threads, begin, &samples))
        .transpose()?;
    let finished = finish(programs)?;
    let Sent { generator, run_delay } = sent;
    let services = generator.finish().into_iter().map(|(records, _)| records).collect();
    // How much of that the generator itself had is not asked.
    let (sharing, beside) = (neighbours.sharing(0.0), beside.sharing(0.0));
    Ok(Seen {
        window,
        services,
        run_delay,
        sharing,
        beside,
        samples,
        end,
        threads,
        begin,
        finished,
        captured,
    })
}

fn finish_session(
    stage: &Stage,
    session: Box<dyn TraceSession>,
    threads: &[Vec<i32>],
    start: Nanos,
    samples: &Samples,
) -> Result<CapturedEvents, Failure> {
    let moments: Vec<Nanos> = samples.window.iter().map(|sample| sample.at).collect();
    session.finish(&Run { cpus: &stage.placement.scenario, threads, start, moments: &moments })
}

fn start(stage: &Stage, groups: &Groups, watch: &dyn Watch) -> Result<Vec<Program>, Failure> {
    let mut programs = Vec::new();
    let scenario = stage.scenario;
    for (index, program) in scenario.programs.iter().enumerate() {
        if program.process.is_some() {
            continue;
        }
        if watch.cancelled() {
            return Err(Failure::Interrupted);
        }
        let members = scenario.members(index);
        let order = Order {
            parent: std::process::id() as i32,
            cpus: stage.placement.scenario.clone(),
            door: program.group.map(|group| groups.door(group)),
            class: class(program, stage.services),
            work: members.iter().map(|&member| Work::of(&scenario.programs[member].kind)).collect(),
        };
        programs.push(Program::start(&program.name, members, &order)?);
    }
    Ok(programs)
}

fn generator(
    scenario: &Scenario,
    programs: &mut [Program],
    seed: u64,
) -> Result<Generator, Failure> {
    let until = scenario.warm_up + scenario.duration;
    let mut generator = Generator::new().map_err(broken)?;
    for running in programs {
        let index = running.members[0];
        let Kind::Service(service) = &scenario.programs[index].kind else { continue };
        let requests = workload::draw(service, scenario.machine.cpus, seed, index, until);
        let protocol = NullRpc {
            request_bytes: service.request_bytes as usize,
            response_bytes: service.response_bytes as usize,
        };
        let plan = Plan {
            service,
            requests: &requests,
            protocol: Box::new(protocol),
            limits: Limits::default(),
            live: None,
            socket_timestamps: false,
        };
        let connections = running.connections.drain(..).map(OwnedFd::from).collect();
        generator.adopt(plan, connections).map_err(broken)?;
    }
    Ok(generator)
}

fn sampler<'a>(programs: &[Program], stage: &Stage<'a>) -> io::Result<Sampler<'a>> {
    let threads = children::threads(programs)
        .into_iter()
        .flat_map(|(process, ids)| ids.iter().map(move |thread| (process, *thread)));
    Sampler::new(threads, &stage.placement.scenario, stage.pulls)
}

/// Generator, sampler and changes at work, while this thread looks after the children and the user.
fn measure(
    programs: &mut [Program],
    generator: Generator,
    sampler: &Sampler,
    changes: &Changes,
    go: &Go,
    watch: &dyn Watch,
) -> Result<(Sent, Samples), Failure> {
    let stop = AtomicBool::new(false);
    let window = Window { start: go.window_start - go.start, end: go.window_end - go.start };
    // What has not come back as long after the window as the window was long is lost: the simulator's rule,
    // too.
    let deadline = go.window_end + window.span();
    thread::scope(|scope| {
        let sending = scope.spawn(|| send(generator, go.start, deadline, &stop));
        let sampling = scope.spawn(|| {
            privilege::shield_sampler();
            sampler.run(go.start, window, &stop)
        });
        let changing = scope.spawn(|| {
            privilege::shield_sampler();
            changes.run(go.start, &stop)
        });
        let minded = mind(programs, &sending, &sampling, go, watch);
        // No change comes later than the last response, either.
        stop.store(true, Ordering::Relaxed);
        let (sent, samples, changed) = (sending.join(), sampling.join(), changing.join());
        minded?;
        changed.expect("changes do not panic").map_err(broken)?;
        let sent = sent.expect("the generator does not panic").map_err(broken)?;
        let samples = samples.expect("the sampler does not panic").map_err(broken)?;
        Ok((sent, samples.ok_or(Failure::Interrupted)?))
    })
}

fn send(
    mut generator: Generator,
    start: Nanos,
    deadline: Nanos,
    stop: &AtomicBool,
) -> io::Result<Sent> {
    generator::thread::shield()?;
    let before = Reading::own().wait;
    generator.run(start, deadline, stop);
    Ok(Sent { generator, run_delay: Reading::own().wait - before })
}

/// Waits for both threads; fails as soon as a program ends or the user wants to stop.
fn mind<A, B>(
    programs: &mut [Program],
    sending: &ScopedJoinHandle<A>,
    sampling: &ScopedJoinHandle<B>,
    go: &Go,
    watch: &dyn Watch,
) -> Result<(), Failure> {
    let all = (go.window_end - go.start).as_secs_f64();
    for look in 0.. {
        if sending.is_finished() && sampling.is_finished() {
            break;
        }
        if watch.cancelled() {
            return Err(Failure::Interrupted);
        }
        programs.iter_mut().try_for_each(Program::check_alive)?;
        if look % LOOKS_PER_REPORT == 0 {
            let done = clock::now().saturating_sub(go.start).as_secs_f64() / all;
            watch.progress(done.min(1.0));
        }
        thread::sleep(LOOK);
    }
    watch.progress(1.0);
    Ok(())
}

/// Ends all programs. Services first: under a real-time class they could keep the others from answering. Then
/// commands, whose last runs have the same neighbours as those before.
fn finish(mut programs: Vec<Program>) -> Result<Vec<Finished>, Failure> {
    programs.sort_by_key(|process| (!process.serves(), !process.is_command()));
    let mut finished = Vec::new();
    for process in programs {
        let members = process.members.clone();
        let Done { rounds, runs } = process.finish()?;
        let of_members = rounds.into_iter().map(|rounds| Finished { rounds, runs: runs.clone() });
        finished.extend(members.into_iter().zip(of_members));
    }
    Ok(children::in_order(finished))
}

fn broken(error: io::Error) -> Failure {
    Failure::Run(format!("the run broke off: {error}"))
}
