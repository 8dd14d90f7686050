//! What a production node has: cpusets, pinned threads, crowds, helpers, event loops, and changes of all of
//! these while programs run.

use model::scenario::{
    Alteration, AlterationKind, Architecture, Arrivals, Cpuset, Group, Kind, MemoryUse, Partition,
    Program, Scenario, Service,
};
use model::{CpuId, Nanos};

use super::{machine, programs};
use crate::rng::Rng;

/// Threads of a crowd.
const CROWD: (u64, u64) = (30, 1_000);
/// Most changes of a run.
const MOST_CHANGES: u64 = 20;
/// Requests of an event loop in one run.
const MOST_REQUESTS: f64 = 20_000.0;
const MICROSECOND: u64 = 1_000;

/// Nothing in a third of the cases; else some of everything.
pub fn add(rng: &mut Rng, scenario: &mut Scenario) {
    if rng.one_in(3) {
        return;
    }
    if rng.one_in(3) {
        crowd(rng, scenario);
    }
    if rng.one_in(3) {
        event_loop(rng, scenario);
    }
    if rng.one_in(3) {
        helpers(rng, scenario);
    }
    if rng.one_in(2) && scenario.machine.cpus > 1 {
        split(rng, scenario);
    }
    if rng.one_in(3) {
        pins(rng, scenario);
    }
    if rng.one_in(2) {
        changes(rng, scenario);
    }
    if rng.one_in(40) {
        days(rng, scenario);
    }
    scenario.alterations.sort_by_key(|alteration| alteration.at);
}

fn program(rng: &mut Rng, scenario: &Scenario) -> usize {
    rng.within(0, scenario.programs.len() as u64 - 1) as usize
}

/// Adds a program, in a group or none.
fn push(rng: &mut Rng, scenario: &mut Scenario, kind: Kind) {
    let name = format!("p{}", scenario.programs.len());
    let groups = scenario.groups.len() as u64;
    let grouped = groups > 0 && rng.one_in(2);
    let group = grouped.then(|| rng.within(0, groups - 1) as usize);
    let nice = programs::nice(rng);
    scenario.programs.push(Program { group, nice, ..Program::new(&name, kind) });
}

/// Hundreds of spinning threads.
fn crowd(rng: &mut Rng, scenario: &mut Scenario) {
    let threads = rng.magnitude(CROWD.0, CROWD.1) as u32;
    push(rng, scenario, Kind::Batch { threads });
}

/// Some workers that each take requests from connections of their own, at any use of a CPU.
fn event_loop(rng: &mut Rng, scenario: &mut Scenario) {
    let workers = rng.magnitude(1, u64::from(scenario.machine.cpus)) as u32;
    let service_time = Nanos(rng.magnitude(20 * MICROSECOND, 2_000 * MICROSECOND));
    let used = rng.within(5, 95) as f64 / 100.0 * f64::from(workers);
    let most_per_s = MOST_REQUESTS / (2.0 * scenario.duration.as_secs_f64());
    let service_law = programs::law(rng);
    let (loops, connections) = (Architecture::Partitioned { workers }, 64.max(workers));
    let asked = programs::asked(loops, connections, service_time, used, most_per_s);
    let service = Service { service_law, ..asked };
    push(rng, scenario, Kind::Service(service));
}

/// Threads with long bursts in the process of each service, such as a collector's.
fn helpers(rng: &mut Rng, scenario: &mut Scenario) {
    for host in 0..scenario.programs.len() {
        let Program { group, nice, .. } = scenario.programs[host];
        if !matches!(scenario.programs[host].kind, Kind::Service(_)) {
            continue;
        }
        let threads = rng.magnitude(1, 2 * u64::from(scenario.machine.cpus)) as u32;
        let run = Nanos(rng.magnitude(1_000 * MICROSECOND, 200_000 * MICROSECOND));
        let sleep = Nanos(rng.magnitude(1_000 * MICROSECOND, 400_000 * MICROSECOND));
        let nice = if rng.one_in(3) { programs::nice(rng) } else { nice };
        let name = format!("p{}", scenario.programs.len());
        let helper = Program::new(&name, Kind::Daemon { threads, run, sleep });
        scenario.programs.push(Program { group, nice, process: Some(host), ..helper });
    }
}

/// Two or three tenants with CPUs of their own: sets that do not meet, shared with threads that may run
/// everywhere or exclusive.
fn split(rng: &mut Rng, scenario: &mut Scenario) {
    let cpus = scenario.machine.cpus;
    let tenants = rng.within(2, u64::from(cpus.min(3))) as u32;
    let first = scenario.groups.len();
    let partition = rng.of(&[Partition::Member, Partition::Member, Partition::Root]);
    for tenant in 0..tenants {
        let own = (0..cpus).filter(|cpu| cpu * tenants / cpus == tenant).map(CpuId).collect();
        let tenant = Group::new(format!("t{tenant}"), None, machine::weight(rng));
        let cpuset = Some(Cpuset { cpus: own, partition });
        scenario.groups.push(Group { cpuset, ..tenant });
    }
    let all = rng.one_in(2);
    for index in 0..scenario.programs.len() {
        let at = first + rng.within(0, u64::from(tenants) - 1) as usize;
        let moves = scenario.programs[index].process.is_none() && (all || rng.one_in(2));
        for member in if moves { scenario.members(index) } else { Vec::new() } {
            scenario.programs[member].group = Some(at);
        }
    }
}

/// A thread for each of some CPUs, and now and then a whole program on one.
fn pins(rng: &mut Rng, scenario: &mut Scenario) {
    let kind = if rng.one_in(2) {
        Kind::Batch { threads: 1 }
    } else {
        let span = |rng: &mut Rng| Nanos(rng.magnitude(20 * MICROSECOND, 20_000 * MICROSECOND));
        Kind::Daemon { threads: 1, run: span(rng), sleep: span(rng) }
    };
    let all = rng.one_in(2);
    for cpu in (0..scenario.machine.cpus).map(CpuId) {
        if all || rng.one_in(4) {
            let (program, memory) = (scenario.programs.len(), MemoryUse::LITTLE);
            push(rng, scenario, kind.clone());
            scenario.programs[program].memory = memory;
            pin(scenario, program, vec![cpu]);
        }
    }
    if rng.one_in(3) {
        let cpu = CpuId(rng.within(0, u64::from(scenario.machine.cpus) - 1) as u32);
        let program = program(rng, scenario);
        pin(scenario, program, vec![cpu]);
    }
}

fn pin(scenario: &mut Scenario, program: usize, cpus: Vec<CpuId>) {
    let kind = AlterationKind::Affinity { program, cpus };
    scenario.alterations.push(Alteration { at: Nanos::ZERO, kind });
}

/// Cpusets, affinities, nice values, weights, groups and numbers of threads that change in the course of the
/// run.
fn changes(rng: &mut Rng, scenario: &mut Scenario) {
    let end = (scenario.warm_up + scenario.duration).0;
    for _ in 0..rng.magnitude(1, MOST_CHANGES) {
        if let Some(kind) = change(rng, scenario) {
            scenario.alterations.push(Alteration { at: Nanos(rng.within(0, end)), kind });
        }
    }
}

fn change(rng: &mut Rng, scenario: &Scenario) -> Option<AlterationKind> {
    let program = program(rng, scenario);
    let cpus = super::changes::cpus(rng, scenario);
    let Program { kind, process, .. } = &scenario.programs[program];
    let of_program = scenario.groups.is_empty() || rng.one_in(2);
    if of_program {
        let lives = !matches!(kind, Kind::Service(_) | Kind::ForkJoin { .. });
        return match rng.within(0, 3) {
            0 => Some(AlterationKind::Affinity { program, cpus }),
            1 => Some(AlterationKind::Nice { program, nice: programs::nice(rng) }),
            _ => lives.then(|| {
                let count = rng.within(0, u64::from(kind.threads())) as u32;
                AlterationKind::Threads { program, count }
            }),
        };
    }
    let group = rng.within(0, scenario.groups.len() as u64 - 1) as usize;
    match rng.within(0, 2) {
        0 => Some(AlterationKind::Cpus { group, cpus }),
        1 => Some(AlterationKind::Weight { group, weight: machine::weight(rng) }),
        _ => process.is_none().then_some(AlterationKind::Move { program, group }),
    }
}

/// Up to a day of hardly anything between a minute at its beginning and one at its end.
fn days(rng: &mut Rng, scenario: &mut Scenario) {
    let busy = Nanos::from_secs(rng.within(1, 10));
    scenario.duration = Nanos::from_secs(rng.magnitude(3_600, 86_400));
    let back = scenario.warm_up + scenario.duration - busy;
    for program in 0..scenario.programs.len() {
        let kind = &mut scenario.programs[program].kind;
        match kind {
            Kind::Service(service) => {
                let rate = service.rate_per_s(scenario.machine.cpus);
                let most = MOST_REQUESTS / scenario.duration.as_secs_f64();
                service.arrivals = Arrivals::Rate(rate.min(most));
                continue;
            }
            Kind::ForkJoin { threads, .. } => *kind = Kind::Batch { threads: *threads },
            Kind::Batch { .. }
            | Kind::Daemon { .. }
            | Kind::Periodic { .. }
            | Kind::Replay { .. }
            | Kind::Command { .. } => {}
        }
        let threads = kind.threads();
        for (at, count) in [(busy, 0), (back, threads)] {
            let kind = AlterationKind::Threads { program, count };
            scenario.alterations.push(Alteration { at, kind });
        }
    }
}
