//! The leaves: the copies that wait at them, and how many each has.

use model::Failure;

use super::servers::{Seeds, Servers};
use super::service_times::ServiceTimes;
use super::station::Station;
use super::work::{CopyKey, Item};
use crate::definition::Tier;
use crate::dispatch::Chooser;

/// The state of all leaves.
pub(super) struct Leaves {
    pub station: Station<Item>,
    pub servers: Servers<CopyKey>,
    /// Copies at each, waiting, served and on their way to it.
    pub lengths: Vec<u32>,
    pub service_times: ServiceTimes,
}

impl Leaves {
    /// Idle ones, the first in the clock. [`Failure::Input`] where a machine's policy is unknown.
    pub fn new(tier: &Tier, seed: u64, seeds: &Seeds) -> Result<Leaves, Failure> {
        Ok(Leaves {
            station: Station::new(tier.servers, tier.workers),
            servers: Servers::new(tier, 0, seeds)?,
            lengths: vec![0; tier.servers as usize],
            service_times: ServiceTimes::new(&tier.work, seed),
        })
    }

    /// How long a server takes for a copy, whose work the sub-request may have said.
    pub fn takes(&mut self, server: u32, work: Option<u64>) -> u64 {
        self.servers.takes(server, work, &mut self.service_times)
    }

    /// A server has one copy more.
    pub fn more(&mut self, server: u32, chooser: &mut dyn Chooser) {
        let length = &mut self.lengths[server as usize];
        *length += 1;
        chooser.changed(server, *length - 1, *length);
    }

    /// A server has one copy less.
    pub fn less(&mut self, server: u32, chooser: &mut dyn Chooser) {
        let length = &mut self.lengths[server as usize];
        *length -= 1;
        chooser.changed(server, *length + 1, *length);
    }
}
