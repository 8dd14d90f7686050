//! What must be known before the figures are believed: an ideal that cannot be, and overload.

use generator::{Loss, Record};
use model::Nanos;
use model::trace::Window;
use report::document::{Estimate, Latency};

use crate::service_time::ServiceTime;

/// A server that answers a smaller share of what is due is behind.
const ANSWERED: f64 = 0.98;
/// A server that uses less of its workers' time may be kept from more by the client's connections.
const IDLE: f64 = 0.5;
/// Latencies grow through the window if they have so much of their growth by its middle; half is steady.
const BY_THE_MIDDLE: f64 = 0.25;

/// What is said of an ideal that has a figure above the measured one: its service time is longer than
/// requests take. Such an ideal is no measure.
pub(crate) fn impossible_ideal(
    measured: &Latency,
    ideal: &Latency,
    time: &ServiceTime,
) -> Option<String> {
    let (what, ideal, measured) =
        figures(measured, ideal).into_iter().find(|(_, ideal, own)| is_surely_above(ideal, own))?;
    Some(format!(
        "the ideal's {what}, {}, is above the measured one, {}: {}. So nothing is held against the ideal; \
         --service-time says the time",
        shown(&ideal),
        shown(&measured),
        time.too_long()
    ))
}

/// What is said of a p99.9 below the ideal's where chance may have done it.
pub(crate) fn doubtful_ideal(measured: &Latency, ideal: &Latency) -> Option<String> {
    let (own, best) = (measured.p99_9, ideal.p99_9);
    (own.value? < best.value?).then(|| {
        format!(
            "x ideal is below 1: the ideal's p99.9, {}, is above the measured one, {}. Whether the service time \
             is too long, or so few requests show it by chance, cannot be told; more of them tell (--duration)",
            shown(&best),
            shown(&own)
        )
    })
}

fn figures(measured: &Latency, ideal: &Latency) -> [(&'static str, Estimate, Estimate); 5] {
    [
        ("p50", ideal.p50, measured.p50),
        ("p90", ideal.p90, measured.p90),
        ("p99", ideal.p99, measured.p99),
        ("p99.9", ideal.p99_9, measured.p99_9),
        ("mean", ideal.mean, measured.mean),
    ]
}

/// Both are of the very same arrivals, so where an interval has no end the figure itself stands for it.
fn is_surely_above(ideal: &Estimate, measured: &Estimate) -> bool {
    let ends = ideal.low.or(ideal.value).zip(measured.high.or(measured.value));
    measured.value.is_some() && ends.is_some_and(|(low, high)| low > high)
}

fn shown(estimate: &Estimate) -> Nanos {
    Nanos(estimate.value.unwrap_or_default().round() as u64)
}

/// What became of the requests that were due in the measured time.
pub(crate) struct Due<'a> {
    pub records: &'a [Record],
    pub window: Window,
    /// When answers came in the window, also to requests before it.
    pub answers: Vec<Nanos>,
    pub timeout: Nanos,
    pub connections: u32,
    pub is_generator_at_limit: bool,
    /// The share of its workers' time that the server used, where it runs here.
    pub server_used: Option<f64>,
}

impl Due<'_> {
    /// More was due than the server answered, or than it has time for. `None` also where losses alone make
    /// the difference: they are named by themselves.
    pub fn overload(&self) -> Option<String> {
        let lost = |counts: fn(Loss) -> bool| {
            self.records.iter().filter(|one| one.loss.is_some_and(counts)).count()
        };
        let due = self.records.len() - lost(is_prompt);
        if !self.is_behind(due) {
            return None;
        }
        let rate = |count: usize| count as f64 / self.window.span().as_secs_f64();
        let counts = format!(
            "{:.0} requests/s were due and {:.0} were answered",
            rate(due),
            rate(self.answers.len())
        );
        if self.grows(due) {
            return Some(format!("overload: {counts}: {}", self.limit()));
        }
        let kept = self.records.len() - lost(|_| true);
        self.is_behind(kept).then(|| {
            format!(
                "{counts} in the measured time, and latencies do not grow throughout it: whether the server cannot \
                 keep up or stood still at the end cannot be told; a longer --duration tells"
            )
        })
    }

    /// Connections' worth of requests may be under way when the window ends.
    fn is_behind(&self, due: usize) -> bool {
        let behind = due.saturating_sub(self.answers.len());
        (self.answers.len() as f64) < ANSWERED * due as f64 && behind > self.connections as usize
    }

    fn limit(&self) -> String {
        let limit = match self.server_used {
            _ if self.is_generator_at_limit => {
                "the generator is at its limit (--cpus gives it more CPUs)".to_string()
            }
            Some(used) if used < IDLE => format!(
                "all {} connections were in use, and the server used {:.0}% of its workers' time: whether it \
                 waits for something or can do more, more --connections tell",
                self.connections,
                100.0 * used
            ),
            _ => "the server cannot keep up".to_string(),
        };
        format!("{limit}, and latencies grow for as long as this goes on; lower --rate")
    }

    /// Whether the queue grows through the window while answers keep coming. What is missing, as a share of
    /// what was due, is by how much latencies grow in a second; half of that is asked for.
    fn grows(&self, due: usize) -> bool {
        let [Some(first), Some(middle), Some(last)] = self.thirds() else { return false };
        let missing = due.saturating_sub(self.answers.len()) as f64 / due as f64;
        let steady = missing * self.window.span().as_secs_f64() * 2.0 / 3.0;
        // A client does not wait for longer than its timeout: where it does from the first on, none can grow.
        let room = (self.timeout.as_secs_f64() - first).max(0.0);
        if room == 0.0 {
            return self.goes_on();
        }
        let growth = last - first;
        let is_large = growth > 0.0 && growth >= steady.min(room) / 2.0;
        let part = BY_THE_MIDDLE * growth;
        is_large && middle - first >= part && last - middle >= -part && self.goes_on()
    }

    /// The median latency, in seconds, of the requests that were due in each third of the window. For one
    /// without an answer its client waited for as long as it would.
    fn thirds(&self) -> [Option<f64>; 3] {
        let of = |third: usize| {
            let due = self.records.iter().filter(|one| !one.loss.is_some_and(is_prompt));
            let own = due.filter(|one| self.third(one.planned.intended) == third);
            let waits: Vec<Nanos> = own.map(|one| one.latency().min(self.timeout)).collect();
            median(waits).map(Nanos::as_secs_f64)
        };
        [of(0), of(1), of(2)]
    }

    /// Whether the last third brings at least half as many answers as the first: a server that hangs is not
    /// overloaded.
    fn goes_on(&self) -> bool {
        let answers =
            |third| self.answers.iter().filter(|answer| self.third(**answer) == third).count();
        answers(2) > 0 && 2 * answers(2) >= answers(0)
    }

    fn third(&self, moment: Nanos) -> usize {
        let into = moment.saturating_sub(self.window.start).as_secs_f64();
        (3.0 * into / self.window.span().as_secs_f64()) as usize
    }
}

/// The server ended the wait, so the request stands in no queue.
fn is_prompt(loss: Loss) -> bool {
    !matches!(loss, Loss::Silent | Loss::InFlight | Loss::Unsent)
}

fn median(mut waits: Vec<Nanos>) -> Option<Nanos> {
    waits.sort_unstable();
    waits.get(waits.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use model::workload::Planned;

    use super::*;

    const TIMEOUT: Nanos = Nanos::from_secs(2);

    fn ms(value: f64, reach: f64) -> Estimate {
        Estimate::new(value * 1e6, (value - reach) * 1e6, (value + reach) * 1e6)
    }

    #[test]
    fn any_figure_of_the_ideal_above_the_measured_one_rejects_it() {
        let time = ServiceTime { value: Nanos(1), workers: 1, source: ServiceTime::CPU_TIME };
        let said = |p50, p99, mean| {
            let measured = Latency {
                p50: ms(5.0, 0.2),
                p99: ms(6.0, 0.2),
                mean: Estimate::new(5.1e6, 4.9e6, f64::INFINITY),
                ..Latency::default()
            };
            let ideal = Latency { p50, p99, mean, ..Latency::default() };
            impossible_ideal(&measured, &ideal, &time).unwrap_or_default()
        };
        let (p50, p99, mean) = (ms(2.0, 0.1), ms(3.0, 0.1), ms(2.2, 0.1));
        assert_eq!(said(p50, p99, mean), "", "the control");
        assert!(said(p50, ms(12.0, 3.0), mean).starts_with("the ideal's p99, 12.0 ms, is above"));
        assert!(said(p50, p99, ms(7.0, 1.0)).starts_with("the ideal's mean"));
        assert!(said(ms(5.4, 0.1), p99, mean).starts_with("the ideal's p50"));
        assert_eq!(said(p50, ms(7.0, 3.0), mean), "", "not surely");
    }

    #[test]
    fn a_ratio_below_1_has_a_word() {
        let of = |p99_9| Latency { p99_9, ..Latency::default() };
        let said = |ideal| doubtful_ideal(&of(ms(5.0, 1.0)), &of(ideal));
        assert!(said(ms(6.0, 3.0)).is_some_and(|said| said.contains("cannot be told")));
        assert_eq!(said(ms(4.0, 3.0)), None, "the control");
    }

    /// 1,000 requests/s for three seconds, each with what became of it: its latency in ms, or how it was
    /// lost.
    fn said(fate: impl Fn(u64) -> Result<f64, Loss>) -> Option<String> {
        said_beside(fate, &[], None)
    }

    /// The same, with answers to requests before the window, and what the server used.
    fn said_beside(
        fate: impl Fn(u64) -> Result<f64, Loss>,
        earlier: &[Nanos],
        server_used: Option<f64>,
    ) -> Option<String> {
        let window = Window { start: Nanos::ZERO, end: Nanos::from_secs(3) };
        let record = |at: u64| {
            let intended = Nanos::from_millis(at);
            let mut one = Record::new(Planned { intended, service: Nanos(1), random: 0 });
            match fate(at) {
                Ok(ms) => one.received = intended + Nanos((ms * 1e6) as u64),
                Err(loss) => one.loss = Some(loss),
            }
            one
        };
        let records: Vec<Record> = (0..3_000).map(record).collect();
        let own = records.iter().map(|one| one.received).filter(|at| window.contains(*at));
        let due = Due {
            records: &records,
            window,
            answers: own.chain(earlier.iter().copied()).collect(),
            timeout: TIMEOUT,
            connections: 64,
            is_generator_at_limit: false,
            server_used,
        };
        due.overload()
    }

    #[test]
    fn a_backlog_of_the_warm_up_does_not_hide_overload() {
        let earlier = |until: u64| (0..until).step_by(10).map(Nanos::from_millis);
        let all: Vec<Nanos> = earlier(3_000).collect();
        let said = |earlier: &[Nanos]| said_beside(|_| Err(Loss::Unsent), earlier, None);
        assert!(said(&all).is_some_and(|said| said.starts_with("overload: ")), "{:?}", said(&all));
        let hung: Vec<Nanos> = earlier(1_400).collect();
        assert_eq!(said(&hung), None, "the control: it answers nothing from the middle on");
    }

    #[test]
    fn an_idle_server_is_not_said_to_be_the_limit() {
        let grows = |at: u64| Ok(at as f64);
        let said = |used| said_beside(grows, &[], used).expect("half is answered");
        assert!(
            said(Some(0.03)).contains("all 64 connections were in use, and the server used 3%")
        );
        for used in [Some(0.9), None] {
            assert!(said(used).contains("the server cannot keep up"), "{used:?}");
        }
    }

    #[test]
    fn overload_is_a_queue_that_grows_throughout() {
        // The control: the server has time for 970 and for 500 of 1,000 requests.
        for slower in [0.031, 1.0] {
            let grows = |at: u64| {
                if at as f64 * slower < 2e3 { Ok(at as f64 * slower) } else { Err(Loss::Silent) }
            };
            assert!(said(grows).is_some_and(|said| said.starts_with("overload: ")), "{slower}");
        }
        let closes = |at: u64| if at.is_multiple_of(20) { Err(Loss::Closed) } else { Ok(0.1) };
        assert_eq!(said(closes), None, "every 20th connection is closed");
        let silent = |at: u64| if at.is_multiple_of(20) { Err(Loss::Silent) } else { Ok(0.1) };
        assert_eq!(said(silent), None, "every 20th request is not answered");
        assert_eq!(said(|_| Err(Loss::Silent)), None, "none ever is");
        let hangs = |at: u64| if at > 1_400 { Err(Loss::Silent) } else { Ok(0.1) };
        assert_eq!(said(hangs), None, "none is from the middle on");
    }

    #[test]
    fn a_pause_at_the_end_is_not_told_from_overload_and_said() {
        let pause = |at: u64| Ok(if at > 2_500 { 3_100.0 - at as f64 } else { 0.1 });
        let said = said(pause).expect("499 answers came later");
        assert!(said.contains("cannot be told; a longer --duration"), "{said}");
        assert!(!said.contains("overload"), "{said}");
    }
}
