//! A scheduler of ours for every thread of the default class, which serves the threads of a service first
//! come, first served.

use model::Failure;

use super::{Kind, Knob, Parsed, State, stay};
use crate::place::privileged;
use crate::platform::Platform;
use crate::transaction::Transaction;
use crate::tune::scope::Scope;

/// Where the kernel tells of its sched_ext class.
const FOLDER: &str = "/sys/kernel/sched_ext";

/// The kind.
pub const KIND: Kind = Kind {
    name: "fifo",
    value: "POLICY of `rearguard load` [rearguard]",
    source: "non-FIFO scheduling",
    effect: "threads of one service are served first come, first served, beside fair shares for others",
    trade_off: "schedules every thread of the machine; the median may rise as the tail falls",
    reference: "Tales section 4.2, Table 1; CTS section 3",
    needs_service: false,
    parse,
    state,
};

struct Fifo {
    policy: String,
}

fn parse(value: Option<&str>) -> Parsed {
    let policy = value.unwrap_or("rearguard");
    model::PolicySpec::parse(policy).map_err(|failure| failure.to_string())?;
    Ok(Box::new(Fifo { policy: policy.to_string() }))
}

fn state(on: &dyn Platform) -> State {
    let Ok(state) = on.read(&format!("{FOLDER}/state")) else {
        let remedy = "this kernel has no sched_ext: boot one with CONFIG_SCHED_CLASS_EXT (Linux 6.12 or newer), or use real-time";
        return State {
            present: "the kernel's default class".into(),
            can: Err(remedy.into()),
            note: None,
        };
    };
    if state.trim() == "disabled" {
        return State {
            present: "the kernel's default class".into(),
            can: privileged(on),
            note: None,
        };
    }
    let name = on.read(&format!("{FOLDER}/root/ops")).unwrap_or_default();
    let remedy = "a scheduler is loaded: end it first".to_string();
    State { present: name.trim().to_string(), can: Err(remedy), note: None }
}

impl Knob for Fifo {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn turn(
        &self,
        _on: &dyn Platform,
        changes: &mut Transaction,
        _service: Option<&Scope>,
    ) -> Result<(), Failure> {
        let args = vec!["load".into(), self.policy.clone()];
        stay(changes, "load", args, format!("scheduler {}", self.policy))
    }
}
