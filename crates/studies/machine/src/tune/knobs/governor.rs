//! What decides the CPUs' frequencies.

use model::Failure;

use super::{Kind, Knob, Parsed, State, census, enough};
use crate::place::privileged;
use crate::platform::Platform;
use crate::target::Target;
use crate::transaction::Transaction;
use crate::tune::scope::Scope;

const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

/// The kind.
pub const KIND: Kind = Kind {
    name: "governor",
    value: "NAME [performance]",
    source: "power saving",
    effect: "requests do not run at a low frequency after idle times",
    trade_off: "more energy",
    reference: "Tales section 4.6, Table 1",
    needs_service: false,
    parse,
    state,
};

struct Governor {
    name: String,
}

fn parse(value: Option<&str>) -> Parsed {
    Ok(Box::new(Governor { name: value.unwrap_or("performance").to_string() }))
}

fn policies(on: &dyn Platform) -> Vec<String> {
    let mut names = on.list(POLICIES).unwrap_or_default();
    names.retain(|name| name.starts_with("policy"));
    names.into_iter().map(|name| format!("{POLICIES}/{name}")).collect()
}

fn state(on: &dyn Platform) -> State {
    let all = policies(on);
    let governors = all.iter().filter_map(|path| on.read(&format!("{path}/scaling_governor")).ok());
    let present = census(governors.map(|name| name.trim().to_string()));
    let none = "no cpufreq here: virtual machines and some firmware keep it to themselves";
    let can = privileged(on).and_then(|()| enough(all.len(), 1, none));
    State { present, can, note: None }
}

impl Knob for Governor {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn check(&self, on: &dyn Platform) -> Result<(), Failure> {
        for path in policies(on) {
            let known = on.read(&format!("{path}/scaling_available_governors")).unwrap_or_default();
            if !known.split_whitespace().any(|name| name == self.name) {
                let message = format!("governor={}: {path} has {}", self.name, known.trim());
                return Err(Failure::Input(message));
            }
        }
        Ok(())
    }

    fn turn(
        &self,
        on: &dyn Platform,
        changes: &mut Transaction,
        _service: Option<&Scope>,
    ) -> Result<(), Failure> {
        policies(on).iter().try_for_each(|path| {
            changes.set(&Target::text(format!("{path}/scaling_governor")), &self.name).map(|_| ())
        })
    }
}
