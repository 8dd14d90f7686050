//! How many scheduling events a second the simulator handles, as the machine grows and by class.
//!
//! An event is one entry of the event queue that is handled: a burst's end, a tick, an arrival, a timer. What
//! it leads to (a wake-up, a choice, a switch) is part of it and not counted again. Times are CPU time of
//! this process, without drawing the workload: the median of several runs, interleaved with the peers. Peers
//! are the same engine over std's `BinaryHeap`, and desque where the load can be written for it.

mod peer;

use model::law::Law;
use model::scenario::{
    Architecture, Arrivals, Kind, Machine, Mechanisms, Program, Scenario, Service,
};
use model::{Nanos, PolicySpec, Silent};
use sim::class::Class;
use sim::class::ext::Ext;
use sim::class::fair::{Cfs, Eevdf};
use sim::class::rt::{self, Rt};
use sim::costs::Costs;
use sim::events::{EventQueue, Heap, Tournament};
use sim::kernel::TICK;
use sim::{Kernel, Setup};

/// Enough for some hundred milliseconds: CPU time is counted in ticks of a few.
const TICKS: u64 = 20_000_000;
/// Requests are all drawn beforehand, so memory bounds their number.
const REQUESTS: u64 = 2_000_000;
/// Per turn: some hundred milliseconds of a slower one.
const PEER_TICKS: u64 = TICKS / 8;
const TURNS: usize = 5;
/// Ends of slices, by which time threads that wait have all run.
const DECISIONS: u64 = 200_000;

/// One kind of load by the number of CPUs.
#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    scenario: fn(u32) -> Scenario,
    peer: Option<fn(u32) -> Pace>,
}

const LOADS: [Load; 2] = [
    Load { name: "always runnable", scenario: always_runnable, peer: Some(on_desque) },
    Load { name: "32 connections a CPU", scenario: connections, peer: None },
];

fn scenario(cpus: u32, duration: Nanos, kind: Kind) -> Scenario {
    Scenario {
        name: "speed".to_string(),
        shows: String::new(),
        machine: Machine { cpus, smt: 2, llcs: (cpus / 16).max(1), nodes: (cpus / 64).max(1) },
        groups: Vec::new(),
        programs: vec![Program::new("load", kind)],
        duration,
        warm_up: Nanos::ZERO,
        seeds: vec![1],
        outlier_threshold: Nanos::from_millis(10),
        slice: None,
        mechanisms: Mechanisms::default(),
        alterations: Vec::new(),
    }
}

/// Five threads on every four CPUs, as in GVTS section 2.4: a tick every 4 ms on each.
fn always_runnable(cpus: u32) -> Scenario {
    let duration = Nanos(TICKS * TICK.0 / u64::from(cpus));
    scenario(cpus, duration, Kind::Batch { threads: cpus + cpus / 4 })
}

/// Services of 500 us at 80%: two events a request and the ticks.
fn connections(cpus: u32) -> Scenario {
    let service = Service {
        architecture: Architecture::ThreadPerConnection,
        connections: 32 * cpus,
        request_bytes: 128,
        response_bytes: 128,
        service_law: Law::Fixed,
        service_time: Nanos::from_micros(500),
        arrival_law: Law::Exponential,
        arrivals: Arrivals::Utilisation(0.8),
    };
    let duration = Nanos(REQUESTS * 625_000 / u64::from(cpus));
    scenario(cpus, duration, Kind::Service(service))
}

/// CPU time of this thread so far.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with /proc");
    text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("schedstat begins with CPU time")
}

/// What one turn took.
#[derive(Clone, Copy)]
struct Pace {
    ns: u64,
    events: u64,
    simulated_s: f64,
}

impl Pace {
    /// What came after the end of a shorter run.
    fn after(&self, shorter: &Pace) -> Pace {
        Pace {
            ns: self.ns.saturating_sub(shorter.ns),
            events: self.events - shorter.events,
            simulated_s: self.simulated_s - shorter.simulated_s,
        }
    }

    fn ns_per_event(&self) -> f64 {
        self.ns as f64 / self.events as f64
    }

    fn print(&self, what: &str) {
        let per_event = self.ns_per_event();
        let simulated = self.simulated_s * 1e9 / self.ns as f64;
        println!("{what:48} {per_event:7.1} ns {:7.1} M/s {simulated:9.1} s/s", 1e3 / per_event);
    }
}

fn median(mut paces: Vec<Pace>) -> Pace {
    paces.sort_by(|a, b| a.ns_per_event().total_cmp(&b.ns_per_event()));
    paces[paces.len() / 2]
}

fn turn<C: Class, Q: EventQueue>(scenario: &Scenario, class: C) -> Pace {
    let setup = Setup {
        scenario,
        policy: "",
        kernel: "",
        seed: 1,
        realtime: None,
        costs: Costs::DEFAULT,
        watch: &Silent,
    };
    let kernel = Kernel::<C, Q>::new(&setup, class);
    let begin = cpu_ns();
    let run = kernel.run(&setup).expect("the run succeeds");
    Pace { ns: cpu_ns() - begin, events: run.events, simulated_s: scenario.duration.as_secs_f64() }
}

fn on_desque(cpus: u32) -> Pace {
    let begin = cpu_ns();
    peer::run(cpus, PEER_TICKS);
    let simulated_s = (PEER_TICKS * TICK.0 / u64::from(cpus)) as f64 / 1e9;
    Pace { ns: cpu_ns() - begin, events: PEER_TICKS, simulated_s }
}

/// All engines by turns, under SCHED_FIFO: a simple class, so that the engine is what counts.
fn grow(load: Load) {
    let mut first = None;
    for cpus in [16, 80, 1_024, 4_096] {
        let scenario = (load.scenario)(cpus);
        let rt = || Rt::new(rt::Kind::Fifo, &scenario.machine);
        let (mut ours, mut heap, mut desque) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            ours.push(turn::<_, Tournament>(&scenario, rt()));
            heap.push(turn::<_, Heap>(&scenario, rt()));
            desque.extend(load.peer.map(|run| run(cpus)));
        }
        let ours = median(ours);
        ours.print(&format!("{}, {cpus} CPUs", load.name));
        let growth = ours.ns_per_event() / first.get_or_insert(ours).ns_per_event();
        println!("  against 16 CPUs {growth:.2}");
        beside("the same engine over std's BinaryHeap", &ours, heap);
        if !desque.is_empty() {
            beside("the same load on desque", &ours, desque);
        }
    }
}

fn beside(name: &str, ours: &Pace, peer: Vec<Pace>) {
    let peer = median(peer);
    peer.print(&format!("  {name}"));
    println!("    {:.2} of ours", peer.ns_per_event() / ours.ns_per_event());
}

/// All classes by turns.
fn classes(load: Load, cpus: u32) {
    let whole = (load.scenario)(cpus);
    let scenario = Scenario { duration: Nanos(whole.duration.0 / 8), ..whole };
    let Scenario { machine, groups, .. } = &scenario;
    let cts = || Ext::new(&scenario, &PolicySpec::plain("cts"), 1).expect("cts exists");
    let mut paces = ["fifo", "cfs", "eevdf", "cts"].map(|name| (name, Vec::new()));
    for _ in 0..TURNS {
        paces[0].1.push(turn::<_, Tournament>(&scenario, Rt::new(rt::Kind::Fifo, machine)));
        paces[1].1.push(turn::<_, Tournament>(&scenario, Cfs::new(machine, groups)));
        paces[2].1.push(turn::<_, Tournament>(&scenario, Eevdf::new(machine, groups)));
        paces[3].1.push(turn::<_, Tournament>(&scenario, cts()));
    }
    for (class, paces) in paces {
        median(paces).print(&format!("{}, {cpus} CPUs, {class}", load.name));
    }
}

/// What a decision of our policies costs as CPUs and waiting threads grow: slices end at every tick of every
/// CPU.
fn deep(policy: &str) {
    for (cpus, queued) in
        [(4, 10), (4, 100), (4, 1_000), (4, 10_000), (16, 1_000), (64, 1_000), (64, 10_000)]
    {
        let duration = Nanos(DECISIONS * TICK.0 / u64::from(cpus));
        let scenario = scenario(cpus, duration, Kind::Batch { threads: cpus + queued });
        let ext = || Ext::new(&scenario, &PolicySpec::plain(policy), 1).expect("it exists");
        let paces = (0..TURNS).map(|_| turn::<_, Tournament>(&scenario, ext())).collect();
        median(paces).print(&format!("{policy}, {cpus} CPUs, {queued} threads wait"));
    }
}

/// The most memory that this process has had.
fn most_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux with /proc");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.expect("status has VmHWM in kB") * 1_024
}

/// Very many threads, each of which runs in its turn: what an event and what a thread costs. Each in a
/// process of its own, so that its memory is.
fn crowd() {
    let own = std::env::current_exe().expect("this executable has a path");
    for (cpus, threads) in [(16, 10_000), (1_024, 10_000), (1_024, 100_000), (4_096, 100_000)] {
        for class in ["rr", "eevdf", "rearguard"] {
            let words = [cpus.to_string(), threads.to_string(), class.to_string()];
            let status = std::process::Command::new(&own).arg("crowd").args(words).status();
            assert!(
                status.expect("it starts").success(),
                "{class}, {cpus} CPUs, {threads} threads"
            );
        }
    }
}

/// One of them, and again for three times as long after: that part without the creation of all threads. A run
/// keeps each thread's CPU time at 101 moments, 808 bytes, which are in its memory.
fn crowded(cpus: u32, threads: u32, class: &str) {
    let whole = Nanos(10 * DECISIONS * TICK.0 / u64::from(cpus));
    let run = |duration: Nanos| {
        let scenario = scenario(cpus, duration, Kind::Batch { threads });
        let Scenario { machine, groups, .. } = &scenario;
        match class {
            "rr" => turn::<_, Tournament>(&scenario, Rt::new(rt::Kind::RoundRobin, machine)),
            "eevdf" => turn::<_, Tournament>(&scenario, Eevdf::new(machine, groups)),
            policy => {
                let ext = Ext::new(&scenario, &PolicySpec::plain(policy), 1).expect("it exists");
                turn::<_, Tournament>(&scenario, ext)
            }
        }
    };
    let (first, longer) = (run(whole), run(Nanos(4 * whole.0)));
    let what = format!("{threads} threads, {cpus} CPUs, {class}");
    first.print(&what);
    longer.after(&first).print(&format!("{what}, after creation"));
    println!("  {} bytes a thread, everything", most_bytes() / u64::from(threads));
}

/// All parts, or the one that is named: `grow`, `classes`, `deep` or `crowd`, of which `crowd CPUS THREADS
/// CLASS` is one case.
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [part, cpus, threads, class] = &args[..]
        && part == "crowd"
        && let (Ok(cpus), Ok(threads)) = (cpus.parse(), threads.parse())
    {
        return crowded(cpus, threads, class);
    }
    let wanted = args.first().cloned();
    let is_wanted = |part: &str| wanted.as_deref().is_none_or(|name| name == part);
    println!(
        "{:48} {:>10} {:>11} {:>13}",
        "CPU time of one core", "an event", "events", "simulated"
    );
    if is_wanted("grow") {
        LOADS.into_iter().for_each(grow);
    }
    if is_wanted("classes") {
        for cpus in [16, 1_024] {
            LOADS.into_iter().for_each(|load| classes(load, cpus));
        }
    }
    if is_wanted("deep") {
        ["cts", "rearguard"].into_iter().for_each(deep);
    }
    if is_wanted("crowd") {
        crowd();
    }
}
