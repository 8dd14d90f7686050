//! A modelled machine that is stepped from outside: its requests come when a caller sends them, as in a
//! cluster of such machines.

use model::law::{Law, Sampler};
use model::scenario::Kind;
use model::workload::Planned;
use model::{Failure, Nanos, Scenario};

use crate::class::Class;
use crate::costs::Costs;
use crate::events::Tournament;
use crate::kernel::Kernel;
use crate::streams::Stream;

/// A machine under a policy, all its programs running, its first service without a client.
pub struct Stepped {
    kernel: Box<dyn Steps>,
    /// The service that requests are for.
    program: usize,
    parts: Sampler,
    part_ns: f64,
    /// Requests sent that have no answer yet, by number.
    open: Vec<u32>,
    sent: u32,
}

/// What is asked of a kernel under whatever class.
trait Steps {
    fn next(&mut self) -> Nanos;
    fn run_to(&mut self, at: Nanos) -> Result<(), Failure>;
    fn send(&mut self, program: usize, planned: Planned) -> Result<(), Failure>;
    fn answered(&self, program: usize, number: u32) -> bool;
}

impl<C: Class> Steps for Kernel<C, Tournament> {
    fn next(&mut self) -> Nanos {
        self.next_event()
    }

    fn run_to(&mut self, at: Nanos) -> Result<(), Failure> {
        Kernel::run_to(self, at)
    }

    fn send(&mut self, program: usize, planned: Planned) -> Result<(), Failure> {
        Kernel::send(self, program, planned)
    }

    fn answered(&self, program: usize, number: u32) -> bool {
        self.requests(program)[number as usize].received != Nanos::NEVER
    }
}

/// The place of a scenario's first service.
pub fn first_service(scenario: &Scenario) -> Option<usize> {
    scenario.programs.iter().position(|program| matches!(program.kind, Kind::Service(_)))
}

/// A scenario whose services are sent nothing by their own clients.
pub(crate) fn without_clients(scenario: &Scenario) -> Scenario {
    Scenario { warm_up: Nanos::ZERO, duration: Nanos(1), ..scenario.clone() }
}

impl Stepped {
    /// A machine that begins at 0. The scenario has a service.
    pub(crate) fn new<C: Class + 'static>(
        kernel: Kernel<C, Tournament>,
        scenario: &Scenario,
        costs: &Costs,
        seed: u64,
    ) -> Result<Stepped, Failure> {
        Ok(Stepped {
            kernel: Box::new(kernel.begun()?),
            program: first_service(scenario).unwrap_or(0),
            parts: Sampler::new(&Law::Exponential, Stream::Parts.seed(seed)),
            part_ns: costs.request.0 as f64,
            open: Vec::new(),
            sent: 0,
        })
    }

    /// When something happens next; [`Nanos::NEVER`]: not before a request comes.
    pub fn next_event(&mut self) -> Nanos {
        self.kernel.next()
    }

    /// Lets everything happen up to and at a moment.
    pub fn run_to(&mut self, at: Nanos) -> Result<(), Failure> {
        self.kernel.run_to(at)
    }

    /// A request that asks for so much CPU time, sent at a moment that is not past; the kernel's part comes
    /// on top. Requests are numbered from 0 on.
    pub fn send(&mut self, at: Nanos, service: Nanos) -> Result<u32, Failure> {
        let part = Nanos((self.parts.next() * self.part_ns).round() as u64);
        // Any spread of random numbers will do: they choose among workers that own connections.
        let random = self.sent.wrapping_mul(0x9e37_79b9);
        self.kernel
            .send(self.program, Planned { intended: at, service: service + part, random })?;
        self.open.push(self.sent);
        self.sent += 1;
        Ok(self.sent - 1)
    }

    /// The requests that were answered since it was asked last.
    pub fn answered(&mut self) -> Vec<u32> {
        let (kernel, program) = (&self.kernel, self.program);
        let done = |number: &mut u32| kernel.answered(program, *number);
        self.open.extract_if(.., done).collect()
    }
}
