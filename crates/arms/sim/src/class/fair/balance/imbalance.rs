//! Whether a domain is out of balance, and what should move (`sched_balance_find_src_group()`,
//! `calculate_imbalance()`).

use model::CpuId;

use super::super::Fair;
use super::super::domains::Level;
use super::super::timeline::Timeline;
use super::Idleness;
use super::survey::{Part, Pressure, Survey};
use crate::core::Core;

/// Up to so many threads two nodes may differ while the nearer one is quiet (`NUMA_IMBALANCE_MIN`).
const NUMA_PAIR: u64 = 2;

/// What should move (`migration_type` and `imbalance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Threads of so much load.
    Load(u64),
    /// Threads that use so much capacity.
    Used(u64),
    /// So many threads.
    Threads(u64),
}

impl Excess {
    fn amount(self) -> u64 {
        let (Excess::Load(amount) | Excess::Used(amount) | Excess::Threads(amount)) = self;
        amount
    }

    fn if_any(self) -> Option<Excess> {
        (self.amount() > 0).then_some(self)
    }

    /// Whether a thread is too much to move. Each of `failed` fruitless attempts before halves what it counts
    /// (`shr_bound()`).
    pub fn is_exceeded_by(self, worth: u64, failed: u32) -> bool {
        worth >> failed.min(63) > self.amount()
    }

    /// What remains when a thread has moved.
    pub fn less(self, worth: u64) -> Option<Excess> {
        let rest = self.amount().saturating_sub(worth);
        match self {
            Excess::Load(_) => Excess::Load(rest),
            Excess::Used(_) => Excess::Used(rest),
            Excess::Threads(_) => Excess::Threads(rest),
        }
        .if_any()
    }
}

/// What the CPU that looks should take from the busiest part; `None`: the domain is balanced. `density`
/// answers the load for each CPU of the domain, which is asked only where it decides: it costs a look at
/// every CPU.
pub fn excess(
    survey: &Survey,
    level: &Level,
    idleness: Idleness,
    density: impl FnOnce() -> u64,
) -> Option<Excess> {
    let (local, busiest) = (&survey.local, &survey.busiest);
    if local.pressure > busiest.pressure {
        return None;
    }
    if local.pressure == Pressure::Overloaded && !clearly_heavier(survey, level) {
        return None;
    }
    let lopsided =
        level.spreads && local.pressure == Pressure::Spare && busiest.threads > local.threads + 1;
    if !lopsided && busiest.pressure != Pressure::Overloaded {
        let queued = busiest.size() == 1 || local.idle > busiest.idle + 1;
        if idleness == Idleness::Busy || !queued || busiest.awake == 1 {
            return None;
        }
    }
    match local.pressure {
        Pressure::Spare => for_spare(local, busiest, level, idleness).if_any(),
        _ => to_the_mean(survey, density).if_any(),
    }
}

/// Both are overloaded: is the other so by more than the level tolerates?
fn clearly_heavier(survey: &Survey, level: &Level) -> bool {
    let (local, busiest) = (survey.local.density(), survey.busiest.density());
    local < busiest && 100 * busiest > level.imbalance_pct * local
}

fn for_spare(local: &Part, busiest: &Part, level: &Level, idleness: Idleness) -> Excess {
    if busiest.pressure == Pressure::Overloaded && !level.shares_cache {
        let room = local.capacity().saturating_sub(local.used);
        let pull_one = room == 0 && idleness != Idleness::Busy;
        return if pull_one { Excess::Threads(1) } else { Excess::Used(room) };
    }
    let difference = if busiest.size() == 1 || level.spreads {
        busiest.threads.saturating_sub(local.threads)
    } else {
        local.idle.saturating_sub(busiest.idle)
    };
    let difference = u64::from(difference);
    let quiet = level.numa_slack.is_some_and(|slack| local.threads < slack);
    let tolerated = quiet && difference <= NUMA_PAIR;
    Excess::Threads(if tolerated { 0 } else { difference / 2 })
}

/// The local part has no idle CPU: take load until both stand at the domain's mean.
fn to_the_mean(survey: &Survey, density: impl FnOnce() -> u64) -> Excess {
    let (local, busiest) = (&survey.local, &survey.busiest);
    if local.density() >= busiest.density() {
        return Excess::Load(0);
    }
    let mean = density();
    let above = busiest.density().saturating_sub(mean) * u64::from(busiest.size());
    let below = mean.saturating_sub(local.density()) * u64::from(local.size());
    Excess::Load(above.min(below))
}

impl<T: Timeline> Fair<T> {
    /// The CPU of a part that has most of what should move (`sched_balance_find_src_rq()`).
    pub(super) fn busiest_cpu(
        &mut self,
        core: &Core,
        to: CpuId,
        part: &Part,
        excess: Excess,
    ) -> Option<CpuId> {
        let mut best: Option<(u64, CpuId)> = None;
        for cpu in part.cpus.clone().map(CpuId) {
            let threads = self.tree.root(cpu).runnable;
            let value = match excess {
                _ if threads == 0 || !self.gives(core, cpu, to) => continue,
                Excess::Load(amount) => {
                    let load = self.load(core.now, cpu);
                    if threads == 1 && load > amount {
                        continue;
                    }
                    load
                }
                Excess::Used(_) if threads == 1 => continue,
                Excess::Used(_) => self.used(core.now, cpu),
                Excess::Threads(_) => u64::from(threads),
            };
            if best.is_none_or(|(most, _)| value > most) {
                best = Some((value, cpu));
            }
        }
        best.map(|(_, cpu)| cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(start: u32, size: u32, threads: u32, pressure: Pressure) -> Part {
        let idle = size.saturating_sub(threads);
        let load = u64::from(threads) * 1024;
        let used = u64::from(threads.min(size)) * 1024;
        Part {
            cpus: start..start + size,
            threads,
            awake: threads,
            idle,
            load,
            used,
            runnable: load,
            pressure,
            crowded: false,
            held: 0,
        }
    }

    /// What is said of a domain of two parts.
    fn excess_of(local: Part, busiest: Part, idleness: Idleness) -> Option<Excess> {
        let cpus = u64::from(local.size() + busiest.size());
        let density = (local.load + busiest.load) / cpus;
        excess(&Survey { local, busiest }, &cache(), idleness, || density)
    }

    fn cache() -> Level {
        let machine = model::scenario::Machine { cpus: 16, smt: 2, llcs: 2, nodes: 2 };
        super::super::super::domains::levels(&machine)[1].clone()
    }

    #[test]
    fn an_idle_pair_takes_one_of_three() {
        let (local, busiest) =
            (part(0, 2, 0, Pressure::Spare), part(2, 2, 3, Pressure::Overloaded));
        assert_eq!(excess_of(local, busiest, Idleness::Idle), Some(Excess::Threads(1)));
    }

    #[test]
    fn two_threads_beside_three_ask_for_load_up_to_the_mean() {
        let (local, busiest) = (part(0, 2, 2, Pressure::Full), part(2, 2, 3, Pressure::Overloaded));
        assert_eq!(excess_of(local, busiest, Idleness::Busy), Some(Excess::Load(512)));
    }

    #[test]
    fn equals_and_the_busier_take_nothing() {
        let full = || part(0, 2, 2, Pressure::Full);
        let over = || part(0, 2, 3, Pressure::Overloaded);
        assert_eq!(excess_of(full(), full(), Idleness::Busy), None);
        assert_eq!(excess_of(over(), over(), Idleness::Busy), None);
        assert_eq!(excess_of(over(), full(), Idleness::Busy), None);
    }
}
