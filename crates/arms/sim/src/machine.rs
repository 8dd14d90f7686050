//! What the machine does beside running threads: each mechanism a file, none of them there unless its
//! scenario asks for it.

pub mod frequency;
pub mod idle;
pub mod interrupts;
pub mod kicks;
pub mod locks;
pub mod pace;

use model::event::NameId;
use model::scenario::{Mechanisms, MemoryUse, Scenario};
use model::{CpuId, Nanos};

use idle::Sleepers;
use interrupts::Lines;
use kicks::Kicks;
use locks::Locks;
use pace::Paces;

/// Names that the simulator gives to interrupts; idle states follow.
const NAMES: [&str; 3] = ["nic", "net_rx", "reschedule"];
/// The interrupt of the network card.
pub const NIC: NameId = NameId(0);
/// The softirq that takes requests to their sockets.
pub const NET_RX: NameId = NameId(1);
/// The interrupt by which a CPU asks another to choose again.
pub const RESCHEDULE: NameId = NameId(2);

/// The mechanisms of a run.
pub struct Machinery {
    /// Interrupts, if requests arrive by them.
    pub lines: Option<Lines>,
    /// Idle states, if CPUs sleep.
    pub sleepers: Option<Sleepers>,
    /// Speeds, if they differ.
    pub paces: Option<Paces>,
    /// Locks, if kernels have them.
    pub locks: Option<Locks>,
    /// Interrupts between CPUs, if they take time.
    pub kicks: Option<Kicks>,
    /// What an interrupt of a CPU's timer takes.
    pub timer: Nanos,
    /// CPUs that were asked to choose while they could not.
    pub put_off: Vec<bool>,
    /// For each program the size of its threads' hot state.
    working_sets_bytes: Vec<u64>,
}

impl Machinery {
    /// Those that a scenario asks for; `None` where it asks for nothing.
    pub fn new(scenario: &Scenario, first_slot: u32) -> Option<Box<Machinery>> {
        let mechanisms = &scenario.mechanisms;
        let machine = &scenario.machine;
        let little = |program: &model::scenario::Program| program.memory == MemoryUse::LITTLE;
        let kicks = mechanisms.reschedule_interrupt > Nanos::ZERO;
        // First a slot a CPU for kicks: one that ends with a network card's beginning comes before it.
        let first_line = first_slot + if kicks { machine.cpus } else { 0 };
        let anything = [
            mechanisms.interrupts.is_some(),
            mechanisms.idle.is_some(),
            mechanisms.kernel.is_some(),
            mechanisms.timer_interrupt > Nanos::ZERO,
            kicks,
            pace::are_uneven(mechanisms),
            !scenario.programs.iter().all(little),
        ];
        let lines = mechanisms.interrupts.as_ref();
        let programs = scenario.programs.iter();
        anything.contains(&true).then(|| {
            Box::new(Machinery {
                lines: lines.map(|interrupts| Lines::new(interrupts, machine, first_line)),
                sleepers: mechanisms.idle.as_ref().map(|idle| Sleepers::new(idle, machine.cpus)),
                paces: pace::are_uneven(mechanisms).then(|| Paces::new(scenario)),
                locks: mechanisms.kernel.map(|kernel| Locks::new(kernel, machine.cpus)),
                kicks: kicks
                    .then(|| Kicks::new(mechanisms.reschedule_interrupt, machine.cpus, first_slot)),
                timer: mechanisms.timer_interrupt,
                put_off: vec![false; machine.cpus as usize],
                working_sets_bytes: programs.map(|p| p.memory.working_set_bytes).collect(),
            })
        })
    }

    /// How many event slots interrupts need.
    pub fn slots(scenario: &Scenario) -> usize {
        let Mechanisms { interrupts, reschedule_interrupt, .. } = &scenario.mechanisms;
        let kinds = [interrupts.is_some(), *reschedule_interrupt > Nanos::ZERO].map(usize::from);
        kinds.iter().sum::<usize>() * scenario.machine.cpus as usize
    }

    /// All names that its events use.
    pub fn names(scenario: &Scenario) -> Vec<String> {
        let mechanisms = &scenario.mechanisms;
        let kicks = mechanisms.reschedule_interrupt > Nanos::ZERO;
        if mechanisms.interrupts.is_none() && mechanisms.idle.is_none() && !kicks {
            return Vec::new();
        }
        let states = mechanisms.idle.iter().flat_map(|idle| &idle.states);
        let fixed = NAMES.map(str::to_string).into_iter();
        fixed.chain(states.map(|state| state.name.clone())).collect()
    }

    /// The name of an idle state, the lightest 0.
    pub fn state_name(state: usize) -> NameId {
        NameId((NAMES.len() + state) as u32)
    }

    /// A migration's cost for a thread of a program: that of moving the hot state that it is estimated for,
    /// as often as it has it.
    pub fn migration(&self, program: usize, cost: Nanos) -> Nanos {
        let times = u128::from(cost.0) * u128::from(self.working_sets_bytes[program]);
        Nanos((times / u128::from(MemoryUse::LITTLE.working_set_bytes)) as u64)
    }

    /// Whether an interrupt has a CPU, or is about to.
    pub fn is_interrupted(&self, cpu: CpuId) -> bool {
        self.lines.as_ref().is_some_and(|lines| !lines.is_quiet(cpu)) || self.is_kicked(cpu)
    }

    /// Whether a CPU is interrupted by another one that asks it to choose again.
    pub fn is_kicked(&self, cpu: CpuId) -> bool {
        self.kicks.as_ref().is_some_and(|kicks| kicks.until(cpu).is_some())
    }
}
