//! Leaves that are whole modelled machines, each a simulated kernel under a policy, in step with the cluster's clock.

use model::{Failure, Nanos, seed};
use sim::Stepped;

use super::Engine;
use super::work::{CopyKey, Place};
use crate::definition::Machine;

/// The machines, a leaf each.
pub(super) struct Machines(Vec<Leaf>);

/// A machine and what it was sent: its number of the request, the copy that this is.
struct Leaf {
    machine: Stepped,
    open: Vec<(u32, CopyKey)>,
}

impl Machines {
    /// So many machines that are alike but for their seeds.
    pub fn new(machine: &Machine, servers: u32, seed: u64) -> Result<Machines, Failure> {
        let start = |server: u32| {
            let seed = seed::derive(seed, &[server.into()]);
            let machine = sim::arm::stepped(&machine.scenario, &machine.policy, seed)?;
            Ok(Leaf { machine, open: Vec::new() })
        };
        (0..servers).map(start).collect::<Result<_, _>>().map(Machines)
    }

    /// Lets a machine do what it has to do up to and at a moment: the copies that it answered, and when something happens next.
    fn step(&mut self, server: u32, now: Nanos) -> Result<(Vec<CopyKey>, Nanos), Failure> {
        let leaf = &mut self.0[server as usize];
        leaf.machine.run_to(now)?;
        let answered = leaf.machine.answered();
        let done = leaf.open.extract_if(.., |(number, _)| answered.contains(number));
        let done = done.map(|(_, copy)| copy).collect();
        Ok((done, leaf.machine.next_event()))
    }

    fn send(&mut self, server: u32, now: Nanos, copy: CopyKey, work: Nanos) -> Result<(), Failure> {
        let leaf = &mut self.0[server as usize];
        let number = leaf.machine.send(now, work)?;
        leaf.open.push((number, copy));
        Ok(())
    }
}

impl Engine<'_> {
    /// All machines take their first step: programs beside the service begin.
    pub(super) fn start_machines(&mut self) {
        if self.machines.is_some() {
            (0..self.cluster.leaf.tier.servers).for_each(|server| self.step_machine(server));
        }
    }

    /// A copy reaches a machine.
    pub(super) fn send_machine(&mut self, copy: CopyKey) {
        let now = self.clock.now;
        let (Some(open), Some(machines)) = (self.copies.get_mut(copy), &mut self.machines) else {
            return;
        };
        open.place = Place::Served { worker: None, since: now };
        let server = open.server;
        let work = self.tasks.get(open.task).map_or(0, |task| task.work);
        let work = if work == 0 { self.leaves.work() } else { work };
        match machines.send(server, Nanos(now), copy, Nanos(work)) {
            Ok(()) => self.step_machine(server),
            Err(failure) => self.fault = Some(failure),
        }
    }

    /// A machine's next event is now. Copies that were cancelled meanwhile are served all the same: nobody tells a kernel.
    pub(super) fn step_machine(&mut self, server: u32) {
        let Some(machines) = &mut self.machines else { return };
        match machines.step(server, Nanos(self.clock.now)) {
            Ok((answered, next)) => {
                self.clock.serve(server, next);
                answered.into_iter().for_each(|copy| self.served_measured(copy));
            }
            Err(failure) => self.fault = Some(failure),
        }
    }
}
