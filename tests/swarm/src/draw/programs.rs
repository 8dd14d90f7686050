//! Programs: what wants the CPUs.

use model::Nanos;
use model::law::Law;
use model::scenario::{Architecture, Arrivals, Kind, MemoryUse, Program, Service, Wait};

use crate::rng::Rng;

/// Requests of one service in one run, so that no case costs much more than another.
const MOST_REQUESTS: f64 = 5_000.0;
const MICROSECOND: u64 = 1_000;

/// A few programs that want between little and too much. A quarter of the cases spins only: there, all that
/// is due is known.
pub fn draw(rng: &mut Rng, cpus: u32, groups: usize, duration: Nanos) -> Vec<Program> {
    let spins_only = rng.one_in(4);
    let count = rng.within(1, 5);
    let program = |index| {
        let kind = if spins_only { batch(rng, cpus) } else { kind(rng, cpus, duration) };
        let grouped = groups > 0 && !rng.one_in(3);
        Program {
            name: format!("p{index}"),
            group: grouped.then(|| rng.within(0, groups as u64 - 1) as usize),
            nice: nice(rng),
            process: None,
            behind: None,
            kind,
            memory: MemoryUse::LITTLE,
        }
    };
    (0..count).map(program).collect()
}

/// In a third of the cases some programs move in with an earlier one: its group becomes theirs, and in half
/// of these its nice value. A service keeps a process of its own.
pub fn join(rng: &mut Rng, programs: &mut [Program]) {
    if !rng.one_in(3) {
        return;
    }
    for index in 1..programs.len() {
        let (earlier, rest) = programs.split_at_mut(index);
        let own = &mut rest[0];
        let at = rng.within(0, index as u64 - 1) as usize;
        let process = earlier[at].process.unwrap_or(at);
        if !matches!(own.kind, Kind::Service(_)) && rng.one_in(2) {
            let host = &earlier[process];
            (own.group, own.process) = (host.group, Some(process));
            if rng.one_in(2) {
                own.nice = host.nice;
            }
        }
    }
}

/// In half of the cases some services are behind an earlier one, with as many connections at least.
pub fn chain(rng: &mut Rng, cpus: u32, programs: &mut [Program]) {
    if rng.one_in(2) {
        return;
    }
    for index in 1..programs.len() {
        let (earlier, rest) = programs.split_at_mut(index);
        let taken: Vec<usize> = earlier.iter().filter_map(|program| program.behind).collect();
        let before = (0..index).rev().filter(|at| !taken.contains(at)).find_map(|at| {
            let Kind::Service(service) = &earlier[at].kind else { return None };
            Some((at, service.connections, service.rate_per_s(cpus)))
        });
        let (Some((at, connections, rate)), Kind::Service(own)) = (before, &mut rest[0].kind)
        else {
            continue;
        };
        if rng.one_in(2) {
            own.connections = own.connections.max(connections);
            own.arrivals = Arrivals::Rate(rate);
            rest[0].behind = Some(at);
        }
    }
}

/// A nice value, mostly 0.
pub fn nice(rng: &mut Rng) -> i8 {
    if rng.one_in(3) { rng.within(0, 39) as i8 - 20 } else { 0 }
}

fn batch(rng: &mut Rng, cpus: u32) -> Kind {
    Kind::Batch { threads: threads(rng, cpus) }
}

fn threads(rng: &mut Rng, cpus: u32) -> u32 {
    rng.magnitude(1, 2 * u64::from(cpus) + 1) as u32
}

fn span(rng: &mut Rng) -> Nanos {
    Nanos(rng.magnitude(20 * MICROSECOND, 20_000 * MICROSECOND))
}

fn kind(rng: &mut Rng, cpus: u32, duration: Nanos) -> Kind {
    match rng.within(0, 6) {
        0 | 1 => Kind::Service(service(rng, cpus, duration)),
        2 | 3 => batch(rng, cpus),
        4 => Kind::Daemon { threads: threads(rng, cpus), run: span(rng), sleep: span(rng) },
        5 => Kind::Periodic { threads: threads(rng, cpus), run: span(rng), period: span(rng) },
        _ => {
            let (threads, work) = (threads(rng, cpus), span(rng));
            let wait = if rng.one_in(3) { Wait::Yield } else { Wait::Block };
            Kind::ForkJoin { threads, work, wait }
        }
    }
}

pub fn law(rng: &mut Rng) -> Law {
    if rng.one_in(2) { Law::Fixed } else { Law::Exponential }
}

fn service(rng: &mut Rng, cpus: u32, duration: Nanos) -> Service {
    let connections = rng.magnitude(1, 64) as u32;
    let workers = rng.within(1, u64::from(connections)) as u32;
    let architecture = match rng.within(0, 3) {
        0 => Architecture::SharedQueue { workers },
        1 => Architecture::Partitioned { workers },
        _ => Architecture::ThreadPerConnection,
    };
    let service_time = span(rng);
    let wanted = rng.within(5, 100) as f64 / 100.0 * f64::from(cpus);
    let most_per_s = MOST_REQUESTS / (2.0 * duration.as_secs_f64());
    let (service_law, arrival_law) = (law(rng), law(rng));
    let asked = asked(architecture, connections, service_time, wanted, most_per_s);
    Service { service_law, arrival_law, ..asked }
}

/// A service with exponential laws that wants so many CPUs, or as many as its most requests need.
pub fn asked(
    architecture: Architecture,
    connections: u32,
    service_time: Nanos,
    wanted: f64,
    most_per_s: f64,
) -> Service {
    Service {
        architecture,
        connections,
        request_bytes: 128,
        response_bytes: 128,
        service_law: Law::Exponential,
        service_time,
        arrival_law: Law::Exponential,
        arrivals: Arrivals::Rate((wanted / service_time.as_secs_f64()).min(most_per_s)),
    }
}
