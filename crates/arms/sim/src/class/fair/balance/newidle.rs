//! A CPU that runs out of work looks for some before it idles (`sched_balance_newidle()`).

use model::CpuId;
use model::Nanos;
use rand::RngExt;

use super::super::Fair;
use super::super::timeline::Timeline;
use super::Idleness;
use crate::core::Core;

/// How often such looks found work lately. 7.2 looks as often as that, in 1,024ths, and more often where
/// idleness is rare (`NI_RANDOM`, `NI_RATE`, `update_newidle_stats()`).
#[derive(Clone, Debug)]
pub struct Yield {
    looks: u32,
    finds: u32,
    ratio: u32,
    since: Nanos,
}

/// Looks after which the ratio is computed anew, and its whole.
const WHOLE: u32 = 1024;

impl Default for Yield {
    /// As `sd_init()`: one in two.
    fn default() -> Yield {
        Yield { looks: WHOLE / 2, finds: WHOLE / 4, ratio: WHOLE / 2, since: Nanos::ZERO }
    }
}

impl Yield {
    fn record(&mut self, now: Nanos, finds: u32) {
        self.looks += 1;
        self.finds += finds;
        if self.looks >= WHOLE {
            let rarity = (now - self.since).0 >> 22;
            self.ratio = (rarity + u64::from(self.finds)).min(u64::from(WHOLE)) as u32;
            self.since = now;
            self.looks /= 2;
            self.finds /= 2;
        }
    }
}

impl<T: Timeline> Fair<T> {
    /// Looks for work level by level. True: there is some now.
    pub(in super::super) fn pull_before_idle(&mut self, core: &mut Core, cpu: CpuId) -> bool {
        let levels = self.balancer.levels.len();
        if levels == 0 || !core.affinities.is_online(cpu) {
            return false;
        }
        self.balancer.bring_forward(cpu, 0);
        if !self.balancer.overload {
            return false;
        }
        for level in 0..levels {
            self.balancer.bring_forward(cpu, level);
            let Some(weight) = self.throw_dice(core.now, cpu, level) else { continue };
            let moved = self.balance(core, cpu, level, Idleness::NewlyIdle);
            let finds = if moved > 0 { weight } else { 0 };
            self.balancer.rhythms[cpu.index()][level].found.record(core.now, finds);
            if moved > 0 {
                return true;
            }
        }
        false
    }

    /// Whether to look this time, and how many finds one find then stands for.
    fn throw_dice(&mut self, now: Nanos, cpu: CpuId, level: usize) -> Option<u32> {
        let found = &mut self.balancer.rhythms[cpu.index()][level].found;
        if !T::RARE_NEWIDLE || found.ratio >= WHOLE {
            return Some(1);
        }
        let weight = 1 + found.ratio;
        if self.balancer.random.random_range(0..WHOLE) > weight {
            found.record(now, 0);
            return None;
        }
        Some((WHOLE + weight / 2) / weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_follow_finds_and_rarity() {
        let ratio_after = |gap_ns: u64, finds: u32| {
            let mut found = Yield::default();
            (1..=512).for_each(|look| found.record(Nanos(look * gap_ns), finds));
            found.ratio
        };
        assert_eq!(ratio_after(1_000, 0), 256);
        assert_eq!(ratio_after(1_000, 1), 768);
        assert_eq!(ratio_after(10_000_000, 0), 1024);
    }
}
