//! Services behind one another: a request goes on when a thread is done with it, and its answer to the
//! client when the last one is. Both take no time: what is sent wakes a thread of the next service.

use model::Scenario;

use super::Kernel;
use crate::class::Class;
use crate::events::EventQueue;
use crate::observer::Observer;

/// Where a service stands in its chain.
#[derive(Clone, Copy)]
pub(super) struct Link {
    first: usize,
    next: Option<usize>,
}

/// By program; `None`: it is in no chain.
pub(super) fn links(scenario: &Scenario) -> Vec<Option<Link>> {
    let mut links = vec![None; scenario.programs.len()];
    for chain in scenario.chains() {
        for (at, own) in chain.0.iter().enumerate() {
            let next = chain.0.get(at + 1).copied();
            links[*own] = Some(Link { first: chain.first(), next });
        }
    }
    links
}

impl<C: Class, Q: EventQueue, O: Observer> Kernel<C, Q, O> {
    /// Whether a service answers clients, and does not send on.
    pub(super) fn answers_clients(&self, program: usize) -> bool {
        self.links[program].is_none_or(|link| link.next.is_none())
    }

    /// Takes on the request that a service is done with, if it is and has others behind it or before it.
    pub(super) fn pass_on(&mut self, program: usize) {
        let Some(Link { first, next }) = self.links[program] else { return };
        let Some(request) = self.programs[program].take_done() else { return };
        let now = self.core.now;
        if let Some(next) = next {
            let at = self.programs[program].handed_on(now, request);
            self.programs[next].forward(now, request, at, &mut self.wakes);
        } else {
            self.programs[first].answered(now, request, &mut self.wakes);
            self.expect_client(first);
        }
    }
}
