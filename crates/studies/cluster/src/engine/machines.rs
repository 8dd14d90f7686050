//! Servers that are whole modelled machines, each a simulated kernel under a policy, in step with the
//! cluster's clock.

use model::{Failure, Nanos, seed};
use sim::Stepped;

use crate::definition::Machine;

/// The machines, a server each. `K` is the key of what they serve.
pub(super) struct Machines<K>(Vec<Server<K>>);

/// A machine and what it was sent: its number of the request, whose key that is.
struct Server<K> {
    machine: Stepped,
    open: Vec<(u32, K)>,
}

impl<K: Copy> Machines<K> {
    /// So many machines that are alike but for their seeds.
    pub fn new(machine: &Machine, servers: u32, seed: u64) -> Result<Machines<K>, Failure> {
        let start = |server: u32| {
            let seed = seed::derive(seed, &[server.into()]);
            let machine = sim::arm::stepped(&machine.scenario, &machine.policy, seed)?;
            Ok(Server { machine, open: Vec::new() })
        };
        (0..servers).map(start).collect::<Result<_, _>>().map(Machines)
    }

    /// Lets a machine do what it has to do up to and at a moment: what it answered, and when something
    /// happens next.
    pub fn step(&mut self, server: u32, now: Nanos) -> Result<(Vec<K>, Nanos), Failure> {
        let server = &mut self.0[server as usize];
        server.machine.run_to(now)?;
        let answered = server.machine.answered();
        let done = server.open.extract_if(.., |(number, _)| answered.contains(number));
        let done = done.map(|(_, key)| key).collect();
        Ok((done, server.machine.next_event()))
    }

    /// A request reaches a machine and asks for so much CPU time.
    pub fn send(&mut self, server: u32, now: Nanos, key: K, work: Nanos) -> Result<(), Failure> {
        let server = &mut self.0[server as usize];
        let number = server.machine.send(now, work)?;
        server.open.push((number, key));
        Ok(())
    }
}
