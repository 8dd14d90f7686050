//! The service that knobs are for.

use model::Failure;

use crate::platform::Platform;
use crate::proc::{self, families};
use crate::target::GROUPS;

/// A service: processes, and the cgroup that they are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The processes that were named. What they start belongs to the service, too.
    pub roots: Vec<i32>,
    /// The cgroup's path.
    pub home: String,
}

impl Scope {
    /// A process and all that it started.
    pub fn of_process(on: &dyn Platform, process: i32) -> Result<Scope, Failure> {
        let group = proc::group(on, process).ok_or_else(|| {
            Failure::Input(format!(
                "--pid {process}: no such process; `pgrep NAME` finds its number"
            ))
        })?;
        let home = format!("{GROUPS}{}", if group == "/" { "" } else { &group });
        Ok(Scope { roots: vec![process], home })
    }

    /// Everything in a cgroup: `system.slice/nginx.service`, or its path.
    pub fn of_unit(on: &dyn Platform, unit: &str) -> Result<Scope, Failure> {
        let name = unit.strip_prefix(GROUPS).unwrap_or(unit).trim_matches('/');
        let home = format!("{GROUPS}/{name}");
        let inside = on.read(&format!("{home}/cgroup.procs")).map_err(|error| {
            Failure::Input(format!(
                "--unit {unit}: {error}; expected a cgroup below {GROUPS} such as system.slice/nginx.service"
            ))
        })?;
        let roots: Vec<i32> = inside.lines().filter_map(|line| line.parse().ok()).collect();
        if name.is_empty() || roots.is_empty() {
            let message = format!("--unit {unit}: expected a cgroup with a service's processes");
            return Err(Failure::Input(message));
        }
        Ok(Scope { roots, home })
    }

    /// Its processes now.
    pub fn processes(&self, on: &dyn Platform) -> Result<Vec<i32>, Failure> {
        families(on, &self.roots).map_err(|error| Failure::Machine(format!("/proc: {error}")))
    }
}
