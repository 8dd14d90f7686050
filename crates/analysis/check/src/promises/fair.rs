//! How evenly CPU time is divided.

use model::scenario::Machine;
use model::weight::{GROUP_WEIGHT, thread_weight};
use model::{Nanos, Scenario};

use super::{PolicyOptions, Scope};

/// Every thread, and so every group, receives what is due to it (weighted max-min fairness), up to a lag.
///
/// In one order of vruntimes the thread with the least is next, for a turn. So no thread is ahead of the
/// least by more than a turn, nor behind the average by more than the turns of all others. First come, first
/// served inside a process makes the first turn as long as it takes a thread to lose its place. Where virtual
/// times are held together by targets, their intervals come to it, as CPU time by the thread's effective
/// weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fair {
    /// How long a thread runs at most while others of its weight wait.
    turn: Nanos,
    /// The sum of the intervals between targets of all levels, in virtual time at weight 100; 0: there is one
    /// queue.
    intervals: Nanos,
}

/// Between targets of a domain (GVTS section 4): cores, caches, nodes, the machine.
const INTERVALS_MS: [u64; 4] = [30, 90, 150, 300];

/// A thread may be an interval behind its target and one ahead, on each level.
const SIDES: f64 = 2.0;

impl Fair {
    /// Promised by policies that hold all vruntimes in one order: in one queue, or by targets. A policy that
    /// shares by process instead of by thread, sees no groups, or lets spinning threads keep their place,
    /// does not.
    pub fn of(options: &PolicyOptions, scenario: &Scenario) -> Option<Fair> {
        let one_queue = options.scope.count(&scenario.machine) == 1;
        let divides = divides(options, scenario) && !are_promised(options, scenario);
        if !divides || hands_on_in_groups(scenario) || is_limited(scenario) {
            return None;
        }
        let (lowest, sum) = intervals(options, &scenario.machine);
        if !one_queue && passes_targets(options.quantum(), lowest, scenario) {
            return None;
        }
        let intervals = if one_queue { Nanos::ZERO } else { sum };
        Some(Fair { turn: turn(options), intervals })
    }

    /// By how much CPU time each thread may lag or lead, in seconds.
    pub fn lags_s(&self, scenario: &Scenario) -> Vec<f64> {
        let weights = effective_weights(scenario);
        let others = weights.len() as f64 / f64::from(scenario.machine.cpus);
        let turns = self.turn.as_secs_f64() * (3.0 + others);
        let of_weight = |weight: f64| (weight / f64::from(GROUP_WEIGHT)).max(1.0);
        let targets = |weight| SIDES * self.intervals.as_secs_f64() * of_weight(weight);
        weights.into_iter().map(|weight| turns + targets(weight)).collect()
    }

    /// By how much CPU time all threads of a group together may: as if a CPU each went to one that leads.
    pub fn share_s(&self, scenario: &Scenario) -> f64 {
        let worst = self.lags_s(scenario).into_iter().fold(0.0, f64::max);
        worst * f64::from(scenario.machine.cpus)
    }
}

/// Whether a group may want more than it may have, or has hardly any weight: bounds are computed from weights
/// alone.
pub(super) fn is_limited(scenario: &Scenario) -> bool {
    scenario.groups.iter().any(|group| group.max.is_some() || group.idle)
}

/// Whether vruntimes of threads decide, in one order for the machine.
fn divides(options: &PolicyOptions, scenario: &Scenario) -> bool {
    let one_queue = options.scope.count(&scenario.machine) == 1;
    let global = options.word("balance") == "gvts" && options.is("infeasible");
    ["process", "group", "thread"].contains(&options.word("pick"))
        && options.word("fair") == "thread"
        && ["steal", "none", "gvts"].contains(&options.word("balance"))
        && options.word("min_vruntime").is_empty()
        && options.is("burst_limit")
        && (one_queue || global)
}

/// How long a thread runs at most while others of its weight wait.
pub(super) fn turn(options: &PolicyOptions) -> Nanos {
    let pools = ["process", "group"].contains(&options.word("pick"));
    let first = if pools { options.burst_limit() } else { Nanos::ZERO };
    let sticky = options.limit("sticky").unwrap_or(Nanos::ZERO);
    options.quantum() + first + sticky
}

/// Whether a group may borrow beyond its weight.
pub(super) fn are_promised(options: &PolicyOptions, scenario: &Scenario) -> bool {
    options.is("promises") && scenario.groups.iter().any(|group| group.promise.is_some())
}

/// Whether groups own what their threads owe: by one virtual time of the machine.
pub(super) fn own_debts(options: &PolicyOptions) -> bool {
    options.word("balance") == "gvts"
        && ["process", "group"].contains(&options.word("pick"))
        && options.word("fair") == "thread"
        && options.word("min_vruntime").is_empty()
        && options.is("infeasible")
        && options.is("burst_limit")
}

/// A group receives no more than its weight is due, but for what it may have in advance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    turn: Nanos,
}

/// A group has so much in advance, twice (`policy/surplus.h`).
pub(super) const SURPLUS: Nanos = Nanos::from_millis(50);

/// What many threads that come and go exceed the due by (`docs/evidence/production-node.md`).
pub(super) const EXCESS: f64 = 1.04;

impl Held {
    /// Promised where groups own what their threads owe.
    pub fn of(options: &PolicyOptions, scenario: &Scenario) -> Option<Held> {
        let free = !is_limited(scenario) && !are_promised(options, scenario);
        (own_debts(options) && free).then(|| Held { turn: turn(options) })
    }

    /// What a group may receive at most, in CPU seconds.
    pub fn bound_s(&self, scenario: &Scenario, due_s: f64) -> f64 {
        let turns = self.turn.as_secs_f64() * 2.0 * f64::from(scenario.machine.cpus);
        EXCESS * due_s + turns + 2.0 * SURPLUS.as_secs_f64()
    }
}

/// Whether a group holds a thread that is due more than a CPU: what it cannot use goes to all others by their
/// effective weights, where max-min fairness gives it to the group first (`docs/reference/policies.md`,
/// Limits).
fn hands_on_in_groups(scenario: &Scenario) -> bool {
    let weights = effective_weights(scenario);
    let programs = scenario.programs.iter();
    let grouped = programs.flat_map(|p| vec![p.group.is_some(); p.kind.threads() as usize]);
    let mut left: Vec<(f64, bool)> = weights.into_iter().zip(grouped).collect();
    left.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut sum: f64 = left.iter().map(|thread| thread.0).sum();
    let mut cpus = f64::from(scenario.machine.cpus);
    let capped = left.into_iter().take_while(|(weight, _)| {
        let is_capped = weight * cpus >= sum;
        sum -= weight;
        cpus -= 1.0;
        is_capped
    });
    capped.into_iter().any(|(_, grouped)| grouped)
}

/// Whether a turn of the lightest thread is more than an interval: targets then pass by unseen
/// (`docs/reference/policies.md`, Limits).
fn passes_targets(turn: Nanos, lowest: Nanos, scenario: &Scenario) -> bool {
    let lightest = effective_weights(scenario).into_iter().fold(f64::MAX, f64::min);
    turn.as_secs_f64() * f64::from(GROUP_WEIGHT) / lightest > lowest.as_secs_f64()
}

/// The lowest interval and the sum of those of all levels above the queues that join more than the one below,
/// in proportion to the lowest if that was said.
fn intervals(options: &PolicyOptions, machine: &Machine) -> (Nanos, Nanos) {
    let Machine { cpus, smt, llcs, nodes } = *machine;
    let sizes = [1, smt, cpus / llcs, cpus / nodes, cpus];
    let queues = if options.scope == Scope::Llc { 2 } else { 0 };
    let used = (queues..INTERVALS_MS.len()).filter(|&level| sizes[level + 1] > sizes[level]);
    let used_ms: Vec<u64> = used.map(|level| INTERVALS_MS[level]).collect();
    let (lowest, sum) = (used_ms.first().copied().unwrap_or(1), used_ms.iter().sum::<u64>());
    match options.interval {
        Some(interval) => (interval, Nanos((interval.0 / lowest).saturating_mul(sum))),
        None => (Nanos::from_millis(lowest), Nanos::from_millis(sum)),
    }
}

/// The effective weight of each thread while all are active (GVTS section 3.4): 100 for one of nice 0 outside
/// of groups.
fn effective_weights(scenario: &Scenario) -> Vec<f64> {
    let threads = |program: &model::scenario::Program| program.kind.threads();
    let mut sums = vec![0.0; scenario.groups.len()];
    for program in &scenario.programs {
        if let Some(group) = program.group {
            sums[group] += thread_weight(program.nice) * f64::from(threads(program));
        }
    }
    for (index, group) in scenario.groups.iter().enumerate().rev() {
        if let Some(parent) = group.parent.filter(|_| sums[index] > 0.0) {
            sums[parent] += f64::from(group.weight);
        }
    }
    let effective = |program: &model::scenario::Program| {
        let (mut weight, mut at) = (thread_weight(program.nice), program.group);
        while let Some(index) = at {
            let group = &scenario.groups[index];
            weight *= f64::from(group.weight) / sums[index];
            at = group.parent;
        }
        weight
    };
    let programs = scenario.programs.iter();
    programs.flat_map(|p| vec![effective(p); threads(p) as usize]).collect()
}
