//! Idle states (Tales section 4.6): the longer a CPU expects to sleep the deeper it does, and the longer it
//! takes to wake up.
//!
//! It expects the mean of its last eight sleeps, as the kernel's `menu` governor does where they are alike
//! (`get_typical_interval`); what the governor knows of timers is left out.

use model::scenario::IdleStates;
use model::{CpuId, Nanos};

/// How many sleeps are remembered (`INTERVALS`).
const INTERVALS: usize = 8;

/// All CPUs that may sleep.
pub struct Sleepers {
    idle: IdleStates,
    cpus: Vec<Sleeper>,
}

#[derive(Clone)]
struct Sleeper {
    /// The state that it sleeps in; `None`: it is awake, or idles without sleep.
    state: Option<usize>,
    since: Nanos,
    /// Whether it is idle, in a state or not.
    idles: bool,
    /// Until when it is busy to wake up.
    awake_at: Nanos,
    last: [Nanos; INTERVALS],
    next: usize,
}

impl Sleepers {
    /// All asleep from the start, as deeply as they may.
    pub fn new(idle: &IdleStates, cpus: u32) -> Sleepers {
        let long = Nanos::from_secs(1);
        let sleeper = Sleeper {
            state: None,
            since: Nanos::ZERO,
            idles: false,
            awake_at: Nanos::ZERO,
            last: [long; INTERVALS],
            next: 0,
        };
        let mut all = Sleepers { idle: idle.clone(), cpus: vec![sleeper; cpus as usize] };
        (0..cpus).for_each(|cpu| all.sleep(CpuId(cpu), Nanos::ZERO));
        all
    }

    /// A CPU has nothing to do.
    pub fn sleep(&mut self, cpu: CpuId, now: Nanos) {
        let sleeper = &mut self.cpus[cpu.index()];
        let sum: u64 = sleeper.last.iter().map(|span| span.0).sum();
        let expected = Nanos(sum / INTERVALS as u64);
        let limit = self.idle.latency_limit;
        let fits =
            |state: &model::scenario::IdleState| state.residency <= expected && state.exit <= limit;
        sleeper.state = self.idle.states.iter().rposition(fits);
        (sleeper.since, sleeper.idles) = (now, true);
    }

    /// A CPU is asked to work: the state that it leaves, and how long that takes, if it slept.
    pub fn leave(&mut self, cpu: CpuId, now: Nanos) -> Option<(usize, Nanos)> {
        let sleeper = &mut self.cpus[cpu.index()];
        if !sleeper.idles {
            return None;
        }
        sleeper.idles = false;
        sleeper.last[sleeper.next] = now - sleeper.since;
        sleeper.next = (sleeper.next + 1) % INTERVALS;
        let state = sleeper.state.take()?;
        let exit = self.idle.states[state].exit;
        sleeper.awake_at = now + exit;
        (exit > Nanos::ZERO).then_some((state, exit))
    }

    /// From when on a CPU can work.
    pub fn awake_at(&self, cpu: CpuId) -> Nanos {
        self.cpus[cpu.index()].awake_at
    }
}

#[cfg(test)]
mod tests {
    use model::scenario::IdleState;

    use super::*;

    fn states() -> IdleStates {
        let state = |name: &str, exit_us, residency_us| IdleState {
            name: name.to_string(),
            exit: Nanos::from_micros(exit_us),
            residency: Nanos::from_micros(residency_us),
        };
        let states = vec![state("light", 2, 2), state("deep", 100, 500)];
        IdleStates { states, latency_limit: Nanos::NEVER }
    }

    /// The states left after sleeps of so many microseconds.
    fn left(idle: &IdleStates, sleeps_us: &[u64]) -> Vec<Option<usize>> {
        let cpu = CpuId(0);
        let mut sleepers = Sleepers::new(idle, 1);
        let mut now = Nanos::ZERO;
        let mut sleep = |us: &u64| {
            now += Nanos::from_micros(*us);
            let left = sleepers.leave(cpu, now).map(|(state, _)| state);
            sleepers.sleep(cpu, now);
            left
        };
        sleeps_us.iter().map(&mut sleep).collect()
    }

    #[test]
    fn short_sleeps_become_light_and_long_ones_deep() {
        let short = left(&states(), &[10; 20]);
        assert_eq!((short[0], short[19]), (Some(1), Some(0)));
        let long = left(&states(), &[[10; 20], [5_000; 20]].concat());
        assert_eq!((long[20], long[39]), (Some(0), Some(1)));
        // Sleeps that are shorter than any state's residency are not slept.
        assert_eq!(left(&states(), &[1; 20])[19], None);
    }

    #[test]
    fn a_limit_keeps_from_deep_states() {
        let limited = IdleStates { latency_limit: Nanos::from_micros(50), ..states() };
        assert!(left(&limited, &[5_000; 20]).iter().all(|state| *state == Some(0)));
        let awake = IdleStates { latency_limit: Nanos::ZERO, ..states() };
        assert!(left(&awake, &[5_000; 20]).iter().all(Option::is_none));
    }
}
