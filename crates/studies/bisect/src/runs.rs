//! What a version's runs showed, kept in its folder: what has run is not run again.

use std::path::Path;

use experiment::Store;
use gate::{Base, Recorded};
use model::Failure;

/// In a version's folder.
const NAME: &str = "runs";

/// The runs of a version in all scenarios.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs(pub Base);

impl Runs {
    /// What an earlier search kept; `None` where there is none. [`Failure::Input`] where they are of other
    /// scenarios, another policy or another machine: the answers of one search are of one kind of runs.
    pub fn kept(folder: &Path, wanted: &Base) -> Result<Option<Runs>, Failure> {
        let Some(text) = Store::open(folder)?.get(NAME) else { return Ok(None) };
        let name = folder.display().to_string();
        let base = Base::read(&text, &name)?;
        let kind = |base: &Base| {
            let scenarios = base.scenarios.iter().map(|one| one.text.clone());
            let scenarios: Vec<String> = scenarios.collect();
            let version = base.version.clone();
            let machine = (base.machine.clone(), base.kernel.clone());
            (version, base.arm.clone(), machine, base.policy.clone(), scenarios)
        };
        if kind(&base) != kind(wanted) {
            return Err(Failure::Input(format!(
                "{name}: runs of another policy, machine or scenario, or by another version of rearguard: name another folder with --keep"
            )));
        }
        Ok(Some(Runs(base)))
    }

    /// Keeps them, whole or not at all. That this fails says nothing of the version.
    pub fn keep(&self, folder: &Path) -> Result<(), Failure> {
        let kept = Store::open(folder)?.put(NAME, &report::json(&self.0));
        kept.map_err(|failure| Failure::Machine(failure.to_string()))
    }

    /// How many runs of each scenario there are.
    pub fn count(&self) -> usize {
        self.0.scenarios.iter().map(|one| one.seeds.len()).min().unwrap_or(0)
    }

    /// The first so many runs of each scenario.
    pub fn first(&self, count: usize) -> Vec<Recorded> {
        self.0.scenarios.iter().map(|one| one.first(count)).collect()
    }

    /// With more runs of the same scenarios behind them.
    pub fn extend(&mut self, more: Vec<Recorded>) {
        for (one, more) in self.0.scenarios.iter_mut().zip(more) {
            one.extend(more);
        }
    }
}
