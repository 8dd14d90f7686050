//! A bound of the time that a CPU takes to wake up (PM QoS).

use model::Failure;

use super::{Kind, Knob, Parsed, State, stay};
use crate::place::privileged;
use crate::platform::Platform;
use crate::roles::hold;
use crate::transaction::Transaction;
use crate::tune::scope::Scope;

/// The kind.
pub const KIND: Kind = Kind {
    name: "idle-latency",
    value: "MICROSECONDS to wake up at most [0: CPUs never sleep]",
    source: "power saving",
    effect: "requests that find a CPU asleep do not wait until it is awake (200 us in Tales)",
    trade_off: "more energy; less headroom for turbo frequencies",
    reference: "Tales section 4.6, Table 1",
    needs_service: false,
    parse,
    state,
};

struct Idle {
    latency_us: i32,
}

fn parse(value: Option<&str>) -> Parsed {
    let text = value.unwrap_or("0");
    match text.parse() {
        Ok(latency_us) if latency_us >= 0 => Ok(Box::new(Idle { latency_us })),
        _ => Err(format!("`{text}`: expected whole microseconds, such as 0 or 20")),
    }
}

fn state(on: &dyn Platform) -> State {
    let driver = on.read("/sys/devices/system/cpu/cpuidle/current_driver").unwrap_or_default();
    let none = driver.trim().is_empty() || driver.trim() == "none";
    let present = if none { "no idle states".into() } else { format!("driver {}", driver.trim()) };
    let has_file = on.list("/dev").is_ok_and(|names| names.iter().any(|n| n == "cpu_dma_latency"));
    let can = match has_file {
        false => Err("the kernel has no /dev/cpu_dma_latency: it takes CONFIG_CPU_IDLE".into()),
        true => privileged(on),
    };
    let note = none.then(|| "nothing to gain: this machine shows no idle states".to_string());
    State { present, can, note }
}

impl Knob for Idle {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn turn(
        &self,
        _on: &dyn Platform,
        changes: &mut Transaction,
        _service: Option<&Scope>,
    ) -> Result<(), Failure> {
        let args = vec![hold::ROLE.into(), self.latency_us.to_string()];
        stay(changes, "hold", args, format!("wake-up bound of {} us", self.latency_us))
    }
}
