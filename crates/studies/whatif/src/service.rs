//! A service's requests as laws of a scenario: the moments and the CPU time of each, in their order.

use model::{Failure, Nanos, Trace};
use toml_edit::{Array, InlineTable, Value};

/// Requests that a scenario may list: as text they take some 30 bytes each, read some 500.
const MOST_REQUESTS: usize = 1_000_000;

/// Requests in their order.
#[derive(Debug)]
pub struct Requests {
    gaps: Vec<Nanos>,
    services: Vec<Nanos>,
    /// Those that cost less than the simulator's own switch.
    pub shorter: usize,
}

impl Requests {
    /// The requests of a program. What a request costs in a trace holds the switch to its thread, and the
    /// simulator adds one of its own: `own`.
    pub fn of(trace: &Trace, program: usize, own: Nanos) -> Result<Requests, Failure> {
        let requests = &trace.programs[program].requests;
        if requests.len() > MOST_REQUESTS {
            return Err(Failure::Input(format!(
                "{} requests: what-if takes {MOST_REQUESTS} at most: watch for less long",
                requests.len()
            )));
        }
        let known: Vec<Nanos> = requests.iter().map(|one| one.service).filter(is_known).collect();
        if known.is_empty() {
            let what =
                "no request of this trace says what it cost, so there is nothing to simulate";
            return Err(Failure::Input(what.to_string()));
        }
        let sum: u128 = known.iter().map(|one| u128::from(one.0)).sum();
        let mean = Nanos((sum / known.len() as u128) as u64);
        let mut before = Nanos::ZERO;
        let gaps = requests.iter().map(|request| {
            let gap = request.intended.saturating_sub(before);
            before = request.intended;
            gap.max(Nanos(1))
        });
        let cost =
            requests.iter().map(|one| if is_known(&one.service) { one.service } else { mean });
        let services = cost.clone().map(|cost| cost.saturating_sub(own).max(Nanos(1)));
        Ok(Requests {
            gaps: gaps.collect(),
            services: services.collect(),
            shorter: cost.filter(|cost| *cost <= own).count(),
        })
    }

    /// Each as its arrival and what it cost.
    pub fn timed(&self) -> Vec<(Nanos, Nanos)> {
        let arrivals = self.gaps.iter().scan(Nanos::ZERO, |at, gap| {
            *at = at.saturating_add(*gap);
            Some(*at)
        });
        arrivals.zip(self.services.iter().copied()).collect()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.gaps.len()
    }

    /// The arrivals as a scenario has them.
    pub fn arrivals(&self) -> Value {
        replay(&self.gaps)
    }

    /// The service times as a scenario has them.
    pub fn service_time(&self) -> Value {
        replay(&self.services)
    }
}

fn is_known(service: &Nanos) -> bool {
    *service != Nanos::NEVER && *service > Nanos::ZERO
}

fn replay(spans: &[Nanos]) -> Value {
    let law = [("law", Value::from("replay")), ("samples", Value::Array(list(spans)))];
    Value::InlineTable(law.into_iter().collect::<InlineTable>())
}

/// Spans as a scenario lists them.
pub fn list(spans: &[Nanos]) -> Array {
    spans.iter().map(|span| format!("{}ns", span.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::trace::{ProgramTrace, Request};

    fn mean_of(services: &[Nanos]) -> Nanos {
        let moment = Nanos::ZERO;
        let [sent, started, completed, received] = [moment; 4];
        let request = |service: &Nanos| Request {
            intended: moment,
            sent,
            started,
            completed,
            received,
            service: *service,
        };
        let requests = services.iter().chain([&Nanos::NEVER]).map(request).collect();
        let programs = vec![ProgramTrace { requests, ..ProgramTrace::default() }];
        let found = Requests::of(&Trace { programs, ..Trace::default() }, 0, Nanos::ZERO);
        *found.expect("requests").services.last().expect("the one without")
    }

    #[test]
    fn a_request_without_a_cost_costs_the_mean_however_great_the_others() {
        assert_eq!(mean_of(&[Nanos(10), Nanos(30)]), Nanos(20));
        assert_eq!(mean_of(&[Nanos(1 << 63), Nanos(1 << 63), Nanos(1 << 63)]), Nanos(1 << 63));
    }
}
