//! Whether a promise can be kept for requests like those of a trace, told before it is made.
//!
//! No scheduler makes fewer requests late than the ideal queue does on all CPUs, or on as many as the service
//! has threads. A group with a promise comes near to it as long as its budget has something left. Without it
//! the group may have to wait for as long as others want the CPUs, so that what the ideal queue then finishes
//! counts as late.

use model::scenario::Promise;
use model::{Failure, Nanos, ThreadId};
use queue::Discipline;
use stats::Estimate;
use trace::Recorded;

use crate::activity::activities;
use crate::architecture::{Architecture, architecture};
use crate::service::Requests;

/// What a budget may save up: so long at its share (`RG_PROMISE_SAVED_NS` in policy/promise.h).
const SAVED: Nanos = Nanos::from_millis(100);
/// So many times the CPUs are tried.
const MOST_CPUS: u32 = 4;
const MILLION: u32 = 1_000_000;
const PERCENT: u32 = MILLION / 100;
/// What is known of the late share of no requests.
const NOTHING: Estimate = Estimate { value: 0.0, low: 0.0, high: 1.0 };

/// What is to be said of a promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Admission {
    /// How many requests it rests on.
    pub requests: u64,
    /// What they used of the machine, 0 to 1.
    pub used: f64,
    /// The share of requests that the ideal queue makes late on the whole machine.
    pub ideal: Estimate,
    /// The same if others want all that the budget does not give.
    pub within_budget: Estimate,
    /// What follows.
    pub answer: Admitted,
}

/// Whether a promise can be kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Admitted {
    /// By its budget alone.
    Yes,
    /// By no scheduler.
    No {
        /// About so much of the load, in percent, the ideal would keep it for; `None`: for none.
        load_percent: Option<u32>,
        /// And for so many requests at once; `None`: with up to four times the CPUs it would not.
        at_once: Option<AtOnce>,
    },
    /// It depends on what others leave.
    Budget {
        /// About so many percent of the machine would be enough whatever they do; `None`: 95 are not.
        at_most_percent: Option<u32>,
    },
    /// There are too few requests to tell.
    Unknown {
        /// How many like these would tell; `None`: no number is known to do.
        enough: Option<Enough>,
    },
    /// By the ideal queue. But threads have queues of their own, which no scheduler joins.
    Partitioned,
}

/// Requests that would tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enough {
    /// About so many, or at least.
    pub requests: u64,
    /// The time in which they come at the rate that was seen; `None`: none was.
    pub span: Option<Nanos>,
    /// Whether that is the least: those seen do not show how dependent they are.
    pub is_least: bool,
}

/// What serving more requests at once takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtOnce {
    /// So many CPUs; `None`: those that there are.
    pub cpus: Option<u32>,
    /// So many threads of the service; `None`: those that it has.
    pub threads: Option<u32>,
}

/// Requests, each (arrival, service time), beside what they are promised.
struct Case<'a> {
    requests: &'a [(Nanos, Nanos)],
    promise: &'a Promise,
    cpus: u32,
    /// Threads that serve them.
    threads: u32,
    /// What the ideal queue makes of them on all CPUs that these can use.
    latencies: Vec<Nanos>,
    /// Their numbers, in the order in which it finishes them.
    finished: Vec<usize>,
}

impl<'a> Case<'a> {
    fn new(
        requests: &'a [(Nanos, Nanos)],
        promise: &'a Promise,
        [cpus, threads]: [u32; 2],
    ) -> Case<'a> {
        let latencies = queue::ideal(requests, cpus.min(threads), Discipline::Fifo, 0);
        let mut finished: Vec<usize> = (0..requests.len()).collect();
        finished.sort_by_key(|number| requests[*number].0.saturating_add(latencies[*number]));
        Case { requests, promise, cpus, threads, latencies, finished }
    }

    fn done(&self, number: usize) -> Nanos {
        self.requests[number].0.saturating_add(self.latencies[number])
    }

    fn promised(&self) -> f64 {
        f64::from(self.promise.outliers_per_million) / 1e6
    }

    /// How many requests are served at once, at most.
    fn servers(&self) -> u32 {
        self.cpus.min(self.threads)
    }

    /// What the requests use of the machine.
    fn used(&self) -> f64 {
        let work: u64 = self.requests.iter().map(|(_, service)| service.0).sum();
        work as f64 / (self.span_ns() * f64::from(self.cpus))
    }

    fn span_ns(&self) -> f64 {
        self.requests.last().map_or(0, |(arrival, _)| arrival.0).max(1) as f64
    }

    /// How many requests would tell the share that was seen from the promised one.
    fn enough(&self, seen: &Estimate) -> Admitted {
        let count = self.requests.len() as u64;
        let enough = stats::enough(seen, count, self.promised()).map(|enough| Enough {
            requests: enough.samples as u64,
            span: (count > 0)
                .then(|| Nanos((enough.samples / count as f64 * self.span_ns()) as u64)),
            is_least: enough.is_least,
        });
        Admitted::Unknown { enough }
    }

    fn late(&self, latencies: Vec<Nanos>) -> Estimate {
        let outlier = stats::outlier(&[latencies], self.promise.within, 1.0);
        outlier.map_or(NOTHING, |outlier| outlier.proportion)
    }

    /// Whether the requests want all that can serve them. Their queue then grows, and has no late share.
    fn is_full(&self) -> bool {
        self.used() * f64::from(self.cpus) >= f64::from(self.servers())
    }

    /// What the ideal queue of so many servers does, where so many percent of the requests come in that time.
    fn ideal(&self, servers: u32, load_percent: u32) -> Estimate {
        let spread = |(arrival, service): &(Nanos, Nanos)| {
            let arrival = u128::from(arrival.0) * 100 / u128::from(load_percent);
            (Nanos(arrival as u64), *service)
        };
        let requests: Vec<(Nanos, Nanos)> = self.requests.iter().map(spread).collect();
        self.late(queue::ideal(&requests, servers, Discipline::Fifo, 0))
    }

    /// The same on this machine with a budget of so many millionths of it.
    fn budgeted(&self, share: u32) -> Estimate {
        let mut latencies = self.latencies.clone();
        let mut budget = Budget::full(share, self.cpus);
        for number in &self.finished {
            if !budget.spend(self.done(*number), self.requests[*number].1) {
                latencies[*number] = Nanos::NEVER;
            }
        }
        self.late(latencies)
    }

    fn answer(&self, ideal: Estimate, within_budget: Estimate) -> Admitted {
        let promised = self.promised();
        if ideal.low > promised || self.is_full() {
            let is_kept = |servers, load| self.ideal(servers, load).value <= promised;
            let mut more = self.servers() + 1..=self.cpus * MOST_CPUS;
            Admitted::No {
                load_percent: first((1..100).rev(), |load| is_kept(self.servers(), load)),
                at_once: more.find(|more| is_kept(*more, 100)).map(|more| self.at_once(more)),
            }
        } else if within_budget.high <= promised {
            Admitted::Yes
        } else if within_budget.value <= promised {
            self.enough(&within_budget)
        } else if ideal.value > promised {
            self.enough(&ideal)
        } else {
            let percents = 1..=Promise::TOGETHER / PERCENT;
            let enough = |percent| self.budgeted(percent * PERCENT).value <= promised;
            Admitted::Budget { at_most_percent: first(percents, enough) }
        }
    }

    fn at_once(&self, wanted: u32) -> AtOnce {
        let beyond = |there: u32| (wanted > there).then_some(wanted);
        AtOnce { cpus: beyond(self.cpus), threads: beyond(self.threads) }
    }
}

/// A group's budget: CPU time that it has left, in millionths of ns.
struct Budget {
    left: i128,
    most: i128,
    fills_per_ns: i128,
    at: Nanos,
}

impl Budget {
    fn full(share: u32, cpus: u32) -> Budget {
        let fills_per_ns = i128::from(share) * i128::from(cpus);
        let most = fills_per_ns * i128::from(SAVED.0);
        Budget { left: most, most, fills_per_ns, at: Nanos::ZERO }
    }

    /// Takes what a request has cost at the moment of its end. Whether something was left.
    fn spend(&mut self, at: Nanos, cost: Nanos) -> bool {
        let since = i128::from(at.saturating_sub(self.at).0);
        self.at = at;
        self.left = (self.left + since * self.fills_per_ns).min(self.most);
        self.left -= i128::from(cost.0) * i128::from(MILLION);
        self.left >= 0
    }
}

/// The first that keeps it, of numbers after which all do.
fn first(numbers: impl Iterator<Item = u32>, is_kept: impl Fn(u32) -> bool) -> Option<u32> {
    let numbers: Vec<u32> = numbers.collect();
    numbers.get(numbers.partition_point(|number| !is_kept(*number))).copied()
}

/// What is to be said of a promise to the one service of a trace.
///
/// [`Failure::Input`] for a trace with no service or several, without events, and where no request says what
/// it cost.
pub fn admission(recorded: &Recorded, promise: &Promise) -> Result<Admission, Failure> {
    let Recorded { header, trace } = recorded;
    let wrong =
        |text: String| Failure::Input(format!("this trace of `{}` {text}", header.scenario));
    let serves = |program: &usize| !trace.programs[*program].requests.is_empty();
    let services: Vec<usize> = (0..trace.programs.len()).filter(serves).collect();
    let [program] = services[..] else {
        let found = services.len();
        return Err(wrong(format!("has {found} services with requests; a promise is made to one")));
    };
    let events = trace.events.as_deref();
    let events = events.ok_or_else(|| wrong("has no scheduling events".to_string()))?;
    let requests = Requests::of(trace, program, Nanos::ZERO)?.timed();
    let own = |thread: &usize| trace.threads[*thread].program == program;
    let workers = (0..trace.threads.len()).filter(own).map(|thread| ThreadId(thread as u32));
    let serving = activities(trace, events);
    let serving = (0..serving.len()).filter(own).filter(|thread| serving[*thread].serves).count();
    // Where no event says it, there may be enough.
    let threads = if serving == 0 { u32::MAX } else { serving as u32 };
    let told = admission_of(&requests, [header.cpus.cpus, threads], promise);
    let seen = architecture(&trace.programs[program].requests, events, &workers.collect());
    let is_joint = seen != Architecture::Partitioned || told.answer != Admitted::Yes;
    Ok(if is_joint { told } else { Admission { answer: Admitted::Partitioned, ..told } })
}

fn admission_of(requests: &[(Nanos, Nanos)], servers: [u32; 2], promise: &Promise) -> Admission {
    let case = Case::new(requests, promise, servers);
    let ideal = case.late(case.latencies.clone());
    let within_budget = case.budgeted(promise.at_most_per_million);
    Admission {
        requests: requests.len() as u64,
        used: case.used(),
        ideal,
        within_budget,
        answer: case.answer(ideal, within_budget),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many requests of 500 us at once, every so often.
    fn bursts(at_once: usize, every: Nanos) -> Vec<(Nanos, Nanos)> {
        let burst = |at: u64| vec![(Nanos(at * every.0), Nanos::from_micros(500)); at_once];
        (0..5_000).flat_map(burst).collect()
    }

    fn asked(requests: &[(Nanos, Nanos)], promise: &str) -> Admission {
        asked_of(requests, [1, 8], promise)
    }

    fn asked_of(requests: &[(Nanos, Nanos)], servers: [u32; 2], promise: &str) -> Admission {
        admission_of(requests, servers, &Promise::read(promise).expect("a promise"))
    }

    fn more(cpus: Option<u32>, threads: Option<u32>) -> Option<AtOnce> {
        Some(AtOnce { cpus, threads })
    }

    #[test]
    fn a_promise_is_kept_where_the_budget_is_enough() {
        let requests = bursts(1, Nanos::from_millis(1));
        for most in ["60%", "50%"] {
            let told = asked(&requests, &format!("1ms=1%, at most {most}"));
            assert_eq!(told.answer, Admitted::Yes, "{told:?}");
            assert_eq!(told.within_budget.value, 0.0);
        }
        // What was saved lasts for 400 ms, then a tenth of a CPU is missing.
        let told = asked(&requests, "1ms=1%, at most 40%");
        assert_eq!(told.answer, Admitted::Budget { at_most_percent: Some(50) }, "{told:?}");
        assert!((told.within_budget.value - 0.92).abs() < 0.001, "{told:?}");
        assert!((told.used - 0.5).abs() < 0.001, "{told:?}");
    }

    #[test]
    fn the_ideal_says_no_and_what_would_help() {
        // The second of two at once is late on one CPU whatever the load, and not on two.
        let told = asked(&bursts(2, Nanos::from_millis(4)), "900us=1%");
        assert_eq!(
            told.answer,
            Admitted::No { load_percent: None, at_once: more(Some(2), None) },
            "{told:?}"
        );
        assert!((told.ideal.value - 0.5).abs() < 1e-9);
        // One that takes longer than is promised is late on any.
        let told = asked(&bursts(1, Nanos::from_millis(4)), "400us=1%");
        assert_eq!(told.answer, Admitted::No { load_percent: None, at_once: None }, "{told:?}");
        // More than a CPU can do: 500 us every 450 us fit at nine tenths of the load.
        let told = asked(&bursts(1, Nanos::from_micros(450)), "600us=1%");
        let no = Admitted::No { load_percent: Some(90), at_once: more(Some(2), None) };
        assert_eq!(told.answer, no, "{told:?}");
    }

    /// A CPU that no thread of the service can use keeps no promise.
    #[test]
    fn a_service_with_fewer_threads_than_cpus_wants_threads() {
        let requests = bursts(2, Nanos::from_millis(4));
        for (servers, at_once) in [
            ([2, 1], more(None, Some(2))),
            ([4, 1], more(None, Some(2))),
            ([1, 1], more(Some(2), Some(2))),
        ] {
            let told = asked_of(&requests, servers, "900us=1%");
            assert_eq!(told.answer, Admitted::No { load_percent: None, at_once }, "{told:?}");
        }
        let control = asked_of(&requests, [2, 2], "900us=1%");
        assert_eq!(control.ideal.value, 0.0, "{control:?}");
        // All that its thread can do is half of the machine.
        let full = bursts(1, Nanos::from_micros(500));
        let [of_one, of_two] = [1, 2].map(|threads| asked_of(&full, [2, threads], "1ms=1%").answer);
        assert!(matches!(of_one, Admitted::No { .. }), "{of_one:?}");
        assert!(!matches!(of_two, Admitted::No { .. }), "{of_two:?}");
    }

    #[test]
    fn few_requests_tell_how_many_would() {
        let requests = bursts(1, Nanos::from_millis(1));
        let answer = |count: usize| asked(&requests[..count], "1ms=0.1%, at most 60%").answer;
        let Admitted::Unknown { enough: Some(enough) } = answer(1_000) else { panic!("an answer") };
        assert!((3_000..4_500).contains(&enough.requests) && !enough.is_least, "{enough:?}");
        // One comes each millisecond.
        let ms = enough.span.expect("a rate").0 / 1_000_000;
        assert!(ms.abs_diff(enough.requests) < 10, "{enough:?}");
        // With so many it is told, with a tenth less it is not.
        assert_eq!(answer(enough.requests as usize * 11 / 10), Admitted::Yes);
        let few = answer(enough.requests as usize * 9 / 10);
        assert!(matches!(few, Admitted::Unknown { .. }), "{few:?}");
        let none = asked(&[], "1ms=1%");
        let Admitted::Unknown { enough: Some(least) } = none.answer else { panic!("{none:?}") };
        assert!(least.is_least && least.span.is_none() && least.requests > 300, "{least:?}");
    }
}
