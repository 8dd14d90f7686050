//! The rules: one file each.

mod accounts;
mod affinity;
mod conserving;
mod groups;
mod held;
mod idle;
mod isolation;
mod lag;
mod lost;
mod one_place;
mod order;
mod promise;
mod quota;
mod share;
mod time;

use model::change::ChangeKind;
use model::event::Event;
use model::{CpuId, Nanos, Scenario, ThreadId, Trace};

use crate::fault::Finding;
use crate::promises::Promises;
use crate::scene::Scene;

/// A rule that every run keeps, or every run of a policy that promises it. It answers with what it finds
/// wrong.
pub trait Rule {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Time is about to go from the scene's moment to another; all of the scene's moment has been seen.
    fn passes(&mut self, _scene: &Scene, _to: Nanos) -> Option<Finding> {
        None
    }

    /// An event; the scene is as before.
    fn event(&mut self, _scene: &Scene, _event: &Event) -> Option<Finding> {
        None
    }

    /// A thread is about to run on a CPU; the scene is as before.
    fn started(&mut self, _scene: &Scene, _thread: ThreadId, _cpu: CpuId) -> Option<Finding> {
        None
    }

    /// A change; the scene is as before.
    fn changed(&mut self, _scene: &Scene, _kind: &ChangeKind) -> Option<Finding> {
        None
    }

    /// All of a moment has been seen, and the scene stays so until the next.
    fn settled(&mut self, _scene: &Scene) -> Option<Finding> {
        None
    }

    /// The run is over.
    fn ended(&mut self, _scene: &Scene, _trace: &Trace) -> Option<Finding> {
        None
    }
}

/// The names of all rules.
pub const NAMES: [&str; 14] = [
    accounts::NAME,
    affinity::NAME,
    conserving::NAME,
    held::NAME,
    idle::NAME,
    isolation::NAME,
    lag::NAME,
    lost::NAME,
    one_place::NAME,
    order::NAME,
    promise::NAME,
    quota::NAME,
    share::NAME,
    time::NAME,
];

/// Those that hold for a scenario under a policy that promises so much.
pub(crate) fn all(scenario: &Scenario, promises: &Promises) -> Vec<Box<dyn Rule>> {
    let mut rules: Vec<Box<dyn Rule>> = vec![
        Box::new(time::Time),
        Box::new(one_place::OnePlace),
        Box::new(affinity::Affinity),
        Box::new(lost::Lost::new(promises.wait)),
        Box::new(accounts::Accounts::new(scenario)),
    ];
    if promises.quotas {
        rules.push(Box::new(quota::Quota::new(scenario)));
    }
    if promises.busy {
        rules.push(Box::new(idle::IdleBesideWork::new(scenario)));
    }
    if let Some(promise) = promises.conserving {
        rules.push(Box::new(conserving::Conserving::new(scenario, promise)));
    }
    if let Some(promise) = promises.order {
        rules.push(Box::new(order::Order::new(scenario, promise)));
    }
    if let Some(promise) = promises.held {
        rules.push(Box::new(held::Held::new(scenario, promise)));
    }
    if let Some(promise) = promises.isolated {
        rules.push(Box::new(isolation::Isolation::new(scenario, promise)));
    }
    if let Some(budgets) = promises.budgets {
        rules.push(Box::new(promise::Promise::new(scenario, budgets)));
    }
    if let Some(promise) = promises.fair {
        rules.push(Box::new(share::Share::new(scenario, promise)));
        rules.push(Box::new(lag::Lag::new(scenario, promise)));
    }
    rules
}
