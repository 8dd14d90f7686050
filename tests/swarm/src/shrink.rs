//! A failing case made small: what can be left out while the same rule still fails is left out.

use model::change::ChangeKind;
use model::scenario::{Alteration, AlterationKind, Kind, Mechanisms, MemoryUse};
use model::{Nanos, Scenario, ThreadId};

use crate::draw::Case;
use crate::run::run;

/// Runs at most.
const TRIES: usize = 200;

/// The smallest case found that breaks the rule as well.
pub fn shrink(case: &Case, rule: &str) -> Case {
    let mut best = case.clone();
    let mut tries = TRIES;
    let mut fails = |case: &Case| {
        tries = tries.saturating_sub(1);
        tries > 0 && run(case).faults.iter().any(|fault| fault.rule == rule)
    };
    while let Some(smaller) = smaller(&best).into_iter().find(|case| fails(case)) {
        best = smaller;
    }
    best
}

/// Cases with a little less, the greatest steps first.
fn smaller(case: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    if !case.changes.is_empty() {
        cases.push(Case { changes: Vec::new(), ..case.clone() });
    }
    if !case.scenario.alterations.is_empty() {
        let mut calm = case.clone();
        calm.scenario.alterations.clear();
        cases.push(calm);
    }
    cases.extend((0..case.scenario.programs.len()).filter_map(|index| halved(case, index)));
    cases.extend(plainer_machines(case));
    let programs = case.scenario.programs.len();
    cases.extend((0..programs).filter(|_| programs > 1).map(|index| without(case, index)));
    if case.scenario.duration > Nanos::from_millis(50) {
        let mut shorter = case.clone();
        shorter.scenario.duration = Nanos(case.scenario.duration.0 / 2);
        cases.push(shorter);
    }
    for key in case.policy.options.keys() {
        let mut plainer = case.clone();
        plainer.policy.options.remove(key);
        cases.push(plainer);
    }
    for index in 0..case.scenario.alterations.len() {
        let mut calmer = case.clone();
        calmer.scenario.alterations.remove(index);
        cases.push(calmer);
    }
    for index in 0..case.changes.len() {
        let mut calmer = case.clone();
        calmer.changes.remove(index);
        cases.push(calmer);
    }
    cases
}

/// The case with half the threads of a program that only spins, where no change speaks of threads.
fn halved(case: &Case, index: usize) -> Option<Case> {
    let mut smaller = case.clone();
    let Kind::Batch { threads } = &mut smaller.scenario.programs[index].kind else { return None };
    let of_threads = |a: &Alteration| matches!(a.kind, AlterationKind::Threads { .. });
    let known = case.changes.is_empty() && !case.scenario.alterations.iter().any(of_threads);
    *threads /= 2;
    (*threads > 0 && known).then_some(smaller)
}

/// The case without one mechanism of its machine or the other, or without cpusets.
fn plainer_machines(case: &Case) -> Vec<Case> {
    let without = |less: fn(&mut Scenario)| {
        let mut plainer = case.clone();
        less(&mut plainer.scenario);
        plainer
    };
    let all = [
        without(|s| s.mechanisms = Mechanisms::default()),
        without(|s| s.mechanisms.interrupts = None),
        without(|s| s.mechanisms.idle = None),
        without(|s| s.mechanisms.frequency = None),
        without(|s| s.mechanisms.sibling_gain = None),
        without(|s| s.mechanisms.memory = None),
        without(|s| s.mechanisms.kernel = None),
        without(|s| s.mechanisms.migration = None),
        without(|s| s.mechanisms.timer_interrupt = Nanos::ZERO),
        without(|s| s.mechanisms.reschedule_interrupt = Nanos::ZERO),
        without(|s| s.groups.iter_mut().for_each(|group| group.cpuset = None)),
        without(|s| s.programs.iter_mut().for_each(|p| p.memory = MemoryUse::LITTLE)),
        without(|s| s.programs.iter_mut().for_each(|p| p.process = None)),
        without(|s| s.programs.iter_mut().for_each(|p| p.behind = None)),
    ];
    all.into_iter().filter(|plainer| plainer.scenario != case.scenario).collect()
}

/// The case without a program. Changes of its threads go with it, others keep their threads. Programs in its
/// process get one of their own.
fn without(case: &Case, index: usize) -> Case {
    let mut smaller = case.clone();
    let threads = |programs: &[model::scenario::Program]| -> u32 {
        programs.iter().map(|program| program.kind.threads()).sum()
    };
    let first = threads(&case.scenario.programs[..index]);
    let after = threads(&case.scenario.programs[..=index]);
    smaller.scenario.programs.remove(index);
    for program in &mut smaller.scenario.programs {
        let stays = program.process.filter(|&host| host != index);
        program.process = stays.map(|host| host - usize::from(host > index));
        // What is behind it gets its requests from a client, as often.
        let stays = program.behind.filter(|&before| before != index);
        program.behind = stays.map(|before| before - usize::from(before > index));
    }
    smaller.scenario.alterations.retain_mut(|alteration| match &mut alteration.kind {
        AlterationKind::Affinity { program, .. }
        | AlterationKind::Nice { program, .. }
        | AlterationKind::Threads { program, .. }
        | AlterationKind::Move { program, .. } => {
            let stays = *program != index;
            *program -= usize::from(*program > index);
            stays
        }
        _ => true,
    });
    smaller.changes.retain_mut(|change| {
        let (ChangeKind::Affinity { thread, .. }
        | ChangeKind::Nice { thread, .. }
        | ChangeKind::Move { thread, .. }
        | ChangeKind::Fork(thread)
        | ChangeKind::Exit(thread)) = &mut change.kind
        else {
            return true;
        };
        let goes = (first..after).contains(&thread.0);
        if thread.0 >= after {
            *thread = ThreadId(thread.0 - (after - first));
        }
        !goes
    });
    smaller
}
