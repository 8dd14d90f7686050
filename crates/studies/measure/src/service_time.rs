//! The service time of the ideal queue, and where it is from.

use model::Nanos;

use crate::local::Used;

/// What a request costs the server in all, amortised (Tales section 3.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceTime {
    /// The time.
    pub value: Nanos,
    /// Requests that are served at a time.
    pub workers: u32,
    /// How it is known: `given`, `saturation` or `cpu time`.
    pub source: &'static str,
}

impl ServiceTime {
    /// The source that is the server's clocks.
    pub const CPU_TIME: &'static str = "cpu time";

    /// Out of the CPU time that the server's processes used while they answered so many requests.
    pub fn of_cpu_time(used: &Used, answered: u64) -> Option<ServiceTime> {
        let value = Nanos(used.cpu.0 / answered.max(1));
        (answered > 0 && value > Nanos::ZERO).then_some(ServiceTime {
            value,
            workers: used.workers,
            source: Self::CPU_TIME,
        })
    }

    /// Why it may be longer than requests take.
    pub(crate) fn too_long(&self) -> &'static str {
        match self.source {
            Self::CPU_TIME => {
                "the server's CPU time a request holds work that no request waits for (after its answer, in other \
                 threads), or few requests cost far more than most"
            }
            "saturation" => {
                "at saturation a request took longer, as the server shared its CPUs with others or with the client, \
                 or few requests cost far more than most"
            }
            _ => "the service time that was given is too long",
        }
    }

    /// Requests a second that keep all workers busy.
    pub fn capacity_per_s(&self) -> f64 {
        f64::from(self.workers) / self.value.as_secs_f64()
    }
}
