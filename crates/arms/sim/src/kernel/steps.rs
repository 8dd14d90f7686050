//! A kernel whose requests come from outside, event by event: a machine among others.

use model::trace::Request;
use model::workload::Planned;
use model::{Failure, Nanos, Silent};

use super::Kernel;
use crate::class::Class;
use crate::events::EventQueue;

impl<C: Class, Q: EventQueue> Kernel<C, Q> {
    /// Begins a run that [`Kernel::run_to`] continues.
    pub(crate) fn begun(mut self) -> Result<Self, Failure> {
        self.start(&Silent)?;
        Ok(self)
    }

    /// When something happens next; [`Nanos::NEVER`]: not before a request comes.
    pub(crate) fn next_event(&mut self) -> Nanos {
        self.queue.first().0
    }

    /// Handles all events up to and at a moment.
    pub(crate) fn run_to(&mut self, at: Nanos) -> Result<(), Failure> {
        self.run_until(Nanos(at.0 + 1), &Silent)
    }

    /// A program's client sends a request at a moment that is not past.
    pub(crate) fn send(&mut self, program: usize, planned: Planned) -> Result<(), Failure> {
        self.programs[program].plan(planned);
        self.expect_client(program);
        self.run_to(planned.intended)
    }

    /// The requests that a program was sent.
    pub(crate) fn requests(&self, program: usize) -> &[Request] {
        self.programs[program].requests()
    }
}
