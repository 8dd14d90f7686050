//! What happens on the small machine: threads with a program each, and devices that wake them.

use model::scenario::Machine;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// When a CPU that goes idle is seen as idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idling {
    /// Before the policy is told (since Linux 6.16).
    BitFirst,
    /// After it was told (before). So the adapter has the CPU ask once more.
    BitLast,
    /// The same, and the adapter does not: the control.
    BitLastUnasked,
}

/// One act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Time passes, on all CPUs.
    Run(u64),
    /// All CPUs tick, 4 ms later.
    Tick,
    /// The slice of what a CPU runs ends.
    Expire(usize),
    /// A thread is woken.
    Wake(usize),
    /// The thread sleeps until it is woken.
    Block,
    /// The thread ends.
    Exit,
    /// A thread may run on other CPUs.
    Affine(usize, u64),
    /// A thread is in another group.
    Regroup(usize, u32),
    /// A thread is in another class from now on.
    Leave(usize),
}

/// A thread; after its program it spins.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its process.
    pub process: u32,
    /// CPUs that it may run on, a bit each.
    pub mask: u64,
    /// At nice 0 1,024.
    pub weight: u32,
    /// Its group, 0: the root.
    pub group: u32,
    /// What it does.
    pub program: Vec<Op>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// A word for it.
    pub name: String,
    /// How many.
    pub cpus: u32,
    /// Last-level caches.
    pub llcs: u32,
    /// Groups of weight 100 below the root.
    pub groups: u32,
    /// Which release.
    pub idling: Idling,
    /// By number.
    pub threads: Vec<Thread>,
    /// What a device does first, one act after the other, with nothing else going on.
    pub prologue: Vec<Op>,
    /// What devices do at the same time.
    pub devices: Vec<Vec<Op>>,
    /// Threads that must run when all is quiet again.
    pub must_run: Vec<usize>,
    /// Ticks after that, at whose end every thread must have had its turn.
    pub ticks: u32,
}

impl Scenario {
    /// The machine.
    pub fn machine(&self) -> Machine {
        Machine { cpus: self.cpus, smt: 1, llcs: self.llcs, nodes: 1 }
    }

    /// Coroutines: CPUs, then devices.
    pub fn agents(&self) -> usize {
        self.cpus as usize + self.devices.len()
    }
}

const ALL: u64 = u64::MAX;

fn thread(process: u32, mask: u64, program: &[Op]) -> Thread {
    Thread { process, mask, weight: 1024, group: 0, program: program.to_vec() }
}

fn base(name: &str, cpus: u32) -> Scenario {
    Scenario {
        name: name.to_string(),
        cpus,
        llcs: 1,
        groups: 0,
        idling: Idling::BitFirst,
        threads: Vec::new(),
        prologue: Vec::new(),
        devices: Vec::new(),
        must_run: Vec::new(),
        ticks: 2,
    }
}

const NAPS: [Op; 4] = [Op::Block, Op::Run(100_000), Op::Block, Op::Block];

/// Small cases by hand, in which few preemptions suffice.
pub fn small() -> Vec<Scenario> {
    vec![
        wake_two(),
        wake_beside_batch(0),
        wake_beside_batch(1),
        sleep_and_wake(),
        cpuset(),
        pinned(),
        moved(),
        caches(),
        departs(),
    ]
    .into_iter()
    .flat_map(|scenario| [scenario.clone(), late(scenario)])
    .collect()
}

/// What the name of a case on an old kernel ends in.
const OLD: &str = "-before-6.16";

/// The same on an old kernel.
fn late(scenario: Scenario) -> Scenario {
    Scenario { idling: Idling::BitLast, name: format!("{}{OLD}", scenario.name), ..scenario }
}

/// A small case by name, or a drawn one: `drawn-SEED`, `drawn-SEED-before-6.16`.
pub fn by_name(name: &str) -> Option<Scenario> {
    let small = || small().into_iter().find(|scenario| scenario.name == name);
    let Some(seed) = seed_of(name) else { return small() };
    Some(if name.ends_with(OLD) { late(drawn(seed)) } else { drawn(seed) })
}

/// The seed of a drawn case, from its name.
pub fn seed_of(name: &str) -> Option<u64> {
    name.strip_prefix("drawn-")?.trim_end_matches(OLD).parse().ok()
}

/// Two threads wake on two idle CPUs.
fn wake_two() -> Scenario {
    Scenario {
        threads: vec![thread(0, ALL, &NAPS), thread(0, ALL, &NAPS)],
        prologue: vec![Op::Wake(0), Op::Wake(1)],
        devices: vec![vec![Op::Wake(0)], vec![Op::Wake(1)]],
        ..base("wake-two", 2)
    }
}

/// A server's thread wakes beside batch work on both CPUs while the slice of one ends.
fn wake_beside_batch(cpu: usize) -> Scenario {
    let threads = 4;
    Scenario {
        threads: (0..threads)
            .map(|at| thread(at, ALL, if at == 0 { &[Op::Block, Op::Block] } else { &[] }))
            .collect(),
        prologue: (0..threads as usize).map(Op::Wake).chain([Op::Tick; 30]).collect(),
        devices: vec![vec![Op::Wake(0)], vec![Op::Expire(cpu)]],
        must_run: vec![0],
        ..base(&format!("wake-beside-batch-{cpu}"), 2)
    }
}

/// The last thread of a CPU sleeps while another wakes.
fn sleep_and_wake() -> Scenario {
    Scenario {
        threads: vec![
            thread(0, ALL, &[Op::Block, Op::Run(50_000), Op::Block]),
            thread(1, ALL, &[Op::Block, Op::Run(50_000), Op::Block]),
            thread(2, ALL, &[]),
        ],
        prologue: vec![Op::Wake(1), Op::Wake(2), Op::Wake(0)],
        devices: vec![vec![Op::Wake(0)], vec![Op::Wake(1)]],
        ..base("sleep-and-wake", 2)
    }
}

/// A thread that may not run on one of three CPUs wakes while that one chooses and another falls idle.
fn cpuset() -> Scenario {
    Scenario {
        threads: vec![
            thread(0, 3, &[Op::Block, Op::Block]),
            thread(1, 2, &[]),
            thread(2, 4, &[]),
            thread(3, 1, &[Op::Block, Op::Run(10_000), Op::Block]),
        ],
        prologue: vec![Op::Wake(3), Op::Wake(2), Op::Affine(0, 2), Op::Wake(0), Op::Wake(1)]
            .into_iter()
            .chain([Op::Affine(0, 3), Op::Tick])
            .collect(),
        devices: vec![vec![Op::Wake(3)], vec![Op::Wake(0)], vec![Op::Expire(2)]],
        ..base("cpuset", 3)
    }
}

/// Threads that may run on one CPU alone wake each other.
fn pinned() -> Scenario {
    Scenario {
        threads: vec![
            thread(0, 1, &[Op::Block, Op::Wake(1), Op::Block]),
            thread(0, 1, &[Op::Block, Op::Run(10_000), Op::Block]),
            thread(1, 3, &[Op::Block, Op::Run(10_000), Op::Block]),
        ],
        prologue: vec![Op::Wake(0), Op::Wake(1), Op::Wake(2)],
        devices: vec![vec![Op::Wake(0)], vec![Op::Wake(2)]],
        ..base("pinned", 2)
    }
}

/// The affinity of a waiting thread changes while CPUs choose.
fn moved() -> Scenario {
    Scenario {
        threads: vec![
            thread(0, ALL, &[Op::Block]),
            thread(1, ALL, &[Op::Block, Op::Run(5_000_000), Op::Block]),
            thread(2, ALL, &[]),
        ],
        prologue: vec![Op::Wake(2), Op::Wake(0), Op::Wake(1)],
        devices: vec![vec![Op::Wake(1), Op::Wake(0)], vec![Op::Affine(0, 1)]],
        ..base("affinity", 2)
    }
}

/// Two caches of one CPU each: an idle CPU takes from the other's queue.
fn caches() -> Scenario {
    Scenario {
        llcs: 2,
        threads: vec![
            thread(0, ALL, &NAPS),
            thread(1, ALL, &NAPS),
            thread(2, ALL, &[Op::Block, Op::Run(20_000), Op::Block]),
        ],
        prologue: vec![Op::Wake(0), Op::Wake(1), Op::Wake(2)],
        devices: vec![vec![Op::Wake(0), Op::Wake(2)], vec![Op::Wake(1)]],
        ..base("caches", 2)
    }
}

/// A waiting thread goes to another class while a CPU chooses.
fn departs() -> Scenario {
    Scenario {
        groups: 1,
        threads: vec![
            thread(0, ALL, &[Op::Block]),
            thread(0, ALL, &[Op::Block]),
            thread(1, ALL, &[]),
            thread(2, ALL, &[]),
        ],
        prologue: vec![Op::Wake(2), Op::Wake(3), Op::Wake(0), Op::Wake(1)],
        devices: vec![vec![Op::Wake(0), Op::Leave(0)], vec![Op::Wake(1), Op::Regroup(1, 1)]],
        ..base("departs", 2)
    }
}

/// A case drawn by a seed: 2 to 4 CPUs, up to 7 threads, up to 3 devices.
pub fn drawn(seed: u64) -> Scenario {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let cpus = rng.random_range(2..=4);
    let threads: Vec<Thread> =
        (0..rng.random_range(2..=7)).map(|_| drawn_thread(&mut rng, cpus)).collect();
    let count = threads.len();
    let prologue =
        (0..count).map(Op::Wake).chain((0..rng.random_range(0..20)).map(|_| Op::Tick)).collect();
    let devices = (0..rng.random_range(1..=3))
        .map(|_| (0..rng.random_range(1..=3)).map(|_| outside(&mut rng, count, cpus)).collect())
        .collect();
    Scenario {
        llcs: if cpus % 2 == 0 { rng.random_range(1..=2) } else { 1 },
        groups: 2,
        threads,
        prologue,
        devices,
        ticks: 64,
        ..base(&format!("drawn-{seed}"), cpus)
    }
}

fn mask(rng: &mut Xoshiro256PlusPlus, cpus: u32) -> u64 {
    match rng.random_range(0..4) {
        0 => 1 << rng.random_range(0..cpus),
        1 => rng.random_range(1..1 << cpus),
        _ => ALL,
    }
}

fn drawn_thread(rng: &mut Xoshiro256PlusPlus, cpus: u32) -> Thread {
    let mut program = vec![Op::Block];
    for _ in 0..rng.random_range(0..3) {
        program.push(Op::Run(rng.random_range(1_000..9_000_000)));
        program.push(Op::Block);
    }
    match rng.random_range(0..5) {
        0 => program = Vec::new(),
        1 => program.push(Op::Exit),
        _ => {}
    }
    Thread {
        process: rng.random_range(0..3),
        mask: mask(rng, cpus),
        weight: [1024, 1024, 1024, 335, 3121][rng.random_range(0..5)],
        group: rng.random_range(0..3),
        program,
    }
}

fn outside(rng: &mut Xoshiro256PlusPlus, threads: usize, cpus: u32) -> Op {
    let thread = rng.random_range(0..threads);
    match rng.random_range(0..13) {
        0 => Op::Tick,
        5 => Op::Expire(rng.random_range(0..cpus) as usize),
        1 => Op::Affine(thread, mask(rng, cpus)),
        2 => Op::Regroup(thread, rng.random_range(0..3)),
        3 => Op::Leave(thread),
        4 => Op::Run(rng.random_range(1_000..2_000_000)),
        _ => Op::Wake(thread),
    }
}
