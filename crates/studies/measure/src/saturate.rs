//! The most that a server can do: closed loops of ever more connections, until throughput stops growing
//! (Tales section 3.2).

use model::trace::Window;
use model::workload::Planned;
use model::{Failure, Nanos, Watch};

use crate::observe::{Job, Observed, Setup, observe};
use crate::service_time::ServiceTime;
use crate::target::Target;

/// One step: so much to settle, then so much that counts.
const SETTLE: Nanos = Nanos::from_millis(100);
const COUNT: Nanos = Nanos::from_millis(500);
/// Requests that wait from the start of a step on: more than any server answers in it.
const REQUESTS: usize = 400_000;
/// Growth that counts as growth.
const GROWTH: f64 = 1.03;
/// Steps without growth that end the search.
const PATIENCE: usize = 2;
/// A server's CPUs that are busy for this share of the time are at their limit.
const BUSY: f64 = 0.95;

/// What the search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Saturation {
    /// Requests a second of the best step.
    pub throughput_per_s: f64,
    /// The amortised service time: workers over throughput, or CPU time a request where the generator or its
    /// connections were at their limit first.
    pub service_time: ServiceTime,
    /// Every step: connections and requests a second.
    pub steps: Vec<(u32, f64)>,
    /// Whether the generator was at its limit before the server was.
    pub generator_limited: bool,
    /// Whether throughput still grew at the most connections, of a server that was not known to be busy.
    pub connections_limited: bool,
}

/// One step of the search.
struct Step {
    connections: u32,
    answered: u64,
    throughput_per_s: f64,
    observed: Observed,
}

/// Searches; `workers`: how many requests the server serves at a time, where the user knows.
pub fn saturate(
    target: &Target,
    setup: &Setup,
    workers: Option<u32>,
    watch: &dyn Watch,
) -> Result<Saturation, Failure> {
    let mut steps: Vec<Step> = Vec::new();
    let mut rates: Vec<f64> = Vec::new();
    for connections in doubling(setup.connections) {
        steps.push(step(target, setup, connections, watch)?);
        rates.push(steps[steps.len() - 1].throughput_per_s);
        let last = rates.len() - 1;
        if last >= PATIENCE && (0..PATIENCE).all(|back| !grew(&rates, last - back)) {
            break;
        }
    }
    let still_grows = grew(&rates, rates.len() - 1);
    let best = (0..rates.len()).max_by(|a, b| rates[*a].total_cmp(&rates[*b])).unwrap_or(0);
    let shown = steps.iter().map(|step| (step.connections, step.throughput_per_s)).collect();
    found(target, steps.swap_remove(best), (shown, still_grows), workers)
}

/// Whether a step had more throughput than all before it.
fn grew(rates: &[f64], at: usize) -> bool {
    at == 0 || rates[at] > GROWTH * rates[..at].iter().copied().fold(0.0, f64::max)
}

/// 1, 2, 4 and so on up to `most`.
fn doubling(most: u32) -> impl Iterator<Item = u32> {
    let powers = (0..u32::BITS).map(|bit| 1u32 << bit).take_while(move |power| *power < most);
    powers.chain([most])
}

fn step(
    target: &Target,
    setup: &Setup,
    connections: u32,
    watch: &dyn Watch,
) -> Result<Step, Failure> {
    let service = target.asked_service();
    // All wait from the first moment on: each connection takes the next as soon as it is free.
    let one = |random: u32| Planned { intended: Nanos::ZERO, service, random };
    let requests: Vec<Planned> =
        (0..REQUESTS as u32).map(|n| one(n.wrapping_mul(0x9e37_79b9))).collect();
    let window = Window { start: SETTLE, end: SETTLE + COUNT };
    let protocol = || target.protocol();
    let job = Job {
        requests: &requests,
        protocol: &protocol,
        connections,
        window,
        until: window.end,
        live: None,
    };
    let observed = observe(target, setup, &job, watch)?;
    let inside = observed.records.iter().filter(|record| window.contains(record.received));
    let answered = inside.count() as u64;
    let throughput_per_s = answered as f64 / window.span().as_secs_f64();
    Ok(Step { connections, answered, throughput_per_s, observed })
}

fn found(
    target: &Target,
    step: Step,
    (steps, still_grows): (Vec<(u32, f64)>, bool),
    workers: Option<u32>,
) -> Result<Saturation, Failure> {
    let Step { answered, throughput_per_s, observed, .. } = step;
    if answered == 0 {
        return Err(Failure::Run(format!(
            "{} answered nothing: there is no capacity to find",
            target.text
        )));
    }
    let used = observed.used.as_ref();
    let count = workers.or(used.map(|used| used.workers)).unwrap_or(1);
    let server_busy = used.is_some_and(|used| {
        used.cpu.as_secs_f64() >= BUSY * f64::from(count) * COUNT.as_secs_f64()
    });
    let generator_limited = observed.own.is_at_limit() && !server_busy;
    let connections_limited = still_grows && !server_busy && !generator_limited;
    let by_throughput = ServiceTime {
        value: Nanos((f64::from(count) / throughput_per_s * 1e9) as u64),
        workers: count,
        source: "saturation",
    };
    let by_cpu = used.and_then(|used| ServiceTime::of_cpu_time(used, answered));
    // What the client's connections bound is no time of the server's.
    let service_time = match by_cpu {
        Some(by_cpu) if generator_limited || connections_limited => {
            ServiceTime { workers: count, ..by_cpu }
        }
        None if generator_limited => {
            return Err(Failure::Run(format!(
                "the load generator is at its limit at {throughput_per_s:.0} requests a second, so the server's capacity is not known: \
                 give it more CPUs (--cpus 0,1,2)"
            )));
        }
        _ => by_throughput,
    };
    Ok(Saturation { throughput_per_s, service_time, steps, generator_limited, connections_limited })
}
