//! How many scheduling events a second the simulator handles, as the machine grows and by class.
//!
//! An event is one entry of the event queue that is handled: a burst's end, a tick, an arrival, a timer. What it leads to (a
//! wake-up, a choice, a switch) is part of it and not counted again. Times are CPU time of this process, drawing the
//! workload not included; the best of three turns.

use model::law::Law;
use model::scenario::{Architecture, Arrivals, Kind, Machine, Program, Scenario, Service};
use model::{Nanos, PolicySpec, Silent};
use sim::class::Class;
use sim::class::ext::Ext;
use sim::class::fair::{Cfs, Eevdf};
use sim::class::rt::{self, Rt};
use sim::costs::Costs;
use sim::events::{EventQueue, Heap, Tournament};
use sim::{Kernel, Setup};

/// Enough for some hundred milliseconds: CPU time is counted in ticks of a few.
const TICKS: u64 = 20_000_000;
/// Requests are all drawn beforehand, so memory bounds their number.
const REQUESTS: u64 = 2_000_000;
const TURNS: usize = 3;

/// One kind of load by the number of CPUs.
type Load = (&'static str, fn(u32) -> Scenario);

const LOADS: [Load; 2] =
    [("always runnable", always_runnable), ("32 connections a CPU", connections)];

fn scenario(cpus: u32, duration: Nanos, kind: Kind) -> Scenario {
    Scenario {
        name: "speed".to_string(),
        shows: String::new(),
        machine: Machine { cpus, smt: 2, llcs: (cpus / 16).max(1), nodes: (cpus / 64).max(1) },
        groups: Vec::new(),
        programs: vec![Program { name: "load".to_string(), group: None, nice: 0, kind }],
        duration,
        warm_up: Nanos::ZERO,
        seeds: vec![1],
        outlier_threshold: Nanos::from_millis(10),
        slice: None,
    }
}

/// Five threads on every four CPUs, as in GVTS section 2.4: a tick every 4 ms on each.
fn always_runnable(cpus: u32) -> Scenario {
    let duration = Nanos(TICKS * 4_000_000 / u64::from(cpus));
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

/// The best of several turns.
#[derive(Clone, Copy)]
struct Pace {
    ns: u64,
    events: u64,
    simulated_s: f64,
}

impl Pace {
    fn ns_per_event(&self) -> f64 {
        self.ns as f64 / self.events as f64
    }

    fn print(&self, what: &str) {
        let per_event = self.ns_per_event();
        let simulated = self.simulated_s * 1e9 / self.ns as f64;
        println!("{what:48} {per_event:7.1} ns {:7.1} M/s {simulated:9.1} s/s", 1e3 / per_event);
    }

    fn better(self, other: Pace) -> Pace {
        if self.ns < other.ns { self } else { other }
    }
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

fn best<C: Class>(scenario: &Scenario, class: impl Fn() -> C) -> Pace {
    let turns = (0..TURNS).map(|_| turn::<C, Tournament>(scenario, class()));
    turns.reduce(Pace::better).expect("at least one turn")
}

/// Both event queues by turns, under SCHED_FIFO: a simple class, so that the engine is what counts.
fn grow(name: &str, load: fn(u32) -> Scenario) {
    let mut first = None;
    for cpus in [16, 80, 1_024, 4_096] {
        let scenario = load(cpus);
        let rt = || Rt::new(rt::Kind::Fifo, &scenario.machine);
        let pairs = (0..TURNS)
            .map(|_| (turn::<_, Tournament>(&scenario, rt()), turn::<_, Heap>(&scenario, rt())));
        let (ours, heap) =
            pairs.reduce(|a, b| (a.0.better(b.0), a.1.better(b.1))).expect("at least one turn");
        ours.print(&format!("{name}, {cpus} CPUs"));
        heap.print("  the same engine over std's BinaryHeap");
        let growth = ours.ns_per_event() / first.get_or_insert(ours).ns_per_event();
        let ratio = heap.ns_per_event() / ours.ns_per_event();
        println!("  heap / ours {ratio:.2}, ours against 16 CPUs {growth:.2}");
    }
}

fn classes(name: &str, load: fn(u32) -> Scenario, cpus: u32) {
    let whole = load(cpus);
    let scenario = Scenario { duration: Nanos(whole.duration.0 / 4), ..whole };
    let Scenario { machine, groups, .. } = &scenario;
    let fifo = best(&scenario, || Rt::new(rt::Kind::Fifo, machine));
    fifo.print(&format!("{name}, {cpus} CPUs, fifo"));
    best(&scenario, || Cfs::new(machine, groups)).print("  cfs");
    best(&scenario, || Eevdf::new(machine, groups)).print("  eevdf");
    let cts = || Ext::new(&scenario, &PolicySpec::plain("cts"), 1).expect("cts exists");
    best(&scenario, cts).print("  cts");
}

fn main() {
    println!(
        "{:48} {:>10} {:>11} {:>13}",
        "CPU time of one core", "an event", "events", "simulated"
    );
    LOADS.into_iter().for_each(|(name, load)| grow(name, load));
    for cpus in [16, 1_024] {
        LOADS.into_iter().for_each(|(name, load)| classes(name, load, cpus));
    }
}
