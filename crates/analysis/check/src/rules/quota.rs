//! No group gets more than its quota, in any span of time, and none is forgotten that waits for it.

use model::change::ChangeKind;
use model::event::{Event, What};
use model::scenario::Quota as Limit;
use model::{CpuId, Nanos, Scenario, ThreadId, Trace};

use super::Rule;
use crate::fault::Finding;
use crate::scene::{Scene, State};

pub const NAME: &str = "quota";

/// How often budgets are compared with what was received.
const LOOK: Nanos = Nanos::from_millis(10);

/// What a CPU may overdraw: a tick that comes late, on what it runs and on what it runs next.
const OVERDRAFT: Nanos = Nanos::from_millis(12);

/// What a thread may have that waited in a queue when its group got a quota.
const TURN: Nanos = Nanos::from_millis(4);

/// A group with a quota.
#[derive(Clone, Debug, Default)]
struct Budget {
    limit: Option<Limit>,
    /// What threads may have beyond it because it was set while they waited, in ns.
    grace: f64,
    /// The least that it was ahead of its quota, in ns, since anything changed.
    least: Option<f64>,
    /// Since when its threads are held and none of them may run.
    stalled: Option<Nanos>,
}

pub struct Quota {
    cpus: f64,
    budgets: Vec<Budget>,
    parents: Vec<Option<usize>>,
    /// Of each thread.
    groups: Vec<Option<usize>>,
    next_look: Nanos,
}

impl Quota {
    pub fn new(scenario: &Scenario) -> Quota {
        let budget = |limit| Budget { limit, ..Budget::default() };
        let programs = scenario.programs.iter();
        let groups = programs.flat_map(|p| vec![p.group; p.kind.threads() as usize]);
        Quota {
            cpus: f64::from(scenario.machine.cpus),
            budgets: scenario.groups.iter().map(|group| budget(group.max)).collect(),
            parents: scenario.groups.iter().map(|group| group.parent).collect(),
            groups: groups.collect(),
            next_look: Nanos::ZERO,
        }
    }

    /// A group and those around it.
    fn up(&self, group: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(group, |&at| self.parents[at])
    }

    /// The threads of a group and of those below it.
    fn members(&self, group: usize) -> Vec<ThreadId> {
        let inside = |own: &Option<usize>| self.up(*own).any(|at| at == group);
        let threads = (0..).map(ThreadId).zip(&self.groups);
        threads.filter(|(_, own)| inside(own)).map(|(thread, _)| thread).collect()
    }

    fn overdraft(&self) -> f64 {
        self.cpus * OVERDRAFT.0 as f64
    }

    /// What a group has received beyond its quota since it had least is a quota at once, and at most another
    /// when the next period begins, and its burst.
    fn exceeds(&mut self, scene: &Scene, group: usize, limit: Limit) -> Option<Finding> {
        let received = self.members(group).into_iter().map(|id| scene.received(id).0).sum::<u64>();
        let ahead = received as f64 - limit.cpus() * scene.now.0 as f64;
        let least = self.budgets[group].least.unwrap_or(ahead).min(ahead);
        self.budgets[group].least = Some(least);
        let bound = (limit.quota + limit.quota + limit.burst).0 as f64 + self.overdraft();
        let bound = bound + self.budgets[group].grace;
        let text = || format!("group {group} is {} ns ahead of {limit}", (ahead - least) as u64);
        (ahead - least > bound).then(|| Finding::general(text()))
    }

    /// Groups with quotas.
    fn limited(&self) -> Vec<(usize, Limit)> {
        (0..).zip(&self.budgets).filter_map(|(at, budget)| Some((at, budget.limit?))).collect()
    }

    /// The longest that a group's debts hold all of its threads: its own, or one's inside.
    fn longest_stall(&self, group: usize) -> Nanos {
        let inside = (0..self.budgets.len()).filter(|&at| self.up(Some(at)).any(|up| up == group));
        let limits = inside.filter_map(|at| self.budgets[at].limit);
        let stall = |limit: Limit| limit.period.0 as f64 + self.overdraft() / limit.cpus();
        Nanos(limits.map(stall).fold(0.0, f64::max) as u64)
    }

    /// Whether threads of a group are held, and none of them runs or waits, for too long. All is as the scene
    /// has it until then.
    fn stalls(&mut self, scene: &Scene, group: usize, until: Nanos) -> Option<Finding> {
        // One inside of another may wait for what its siblings use up.
        if self.up(self.parents[group]).any(|at| self.budgets[at].limit.is_some()) {
            return None;
        }
        let members = self.members(group);
        let is_held = |id: &ThreadId| scene.held.contains(id);
        let is_active = |id: &ThreadId| {
            scene.waiting.contains(id) || matches!(scene.thread(*id).state, State::Runs(_))
        };
        let Some(held) = members.iter().copied().find(is_held) else {
            self.budgets[group].stalled = None;
            return None;
        };
        if members.iter().any(is_active) {
            self.budgets[group].stalled = None;
            return None;
        }
        let since = *self.budgets[group].stalled.get_or_insert(scene.now);
        let longest = self.longest_stall(group);
        let text = || format!("is held, as is all of its group, since {since}, beyond {longest}");
        (until.saturating_sub(since) > longest).then(|| Finding::of(held, text()))
    }

    /// What was received is counted anew.
    fn forget(&mut self) {
        for budget in &mut self.budgets {
            (budget.least, budget.stalled) = (None, None);
        }
    }
}

impl Rule for Quota {
    fn name(&self) -> &'static str {
        NAME
    }

    fn settled(&mut self, scene: &Scene) -> Option<Finding> {
        if scene.now < self.next_look {
            return None;
        }
        self.next_look = scene.now + LOOK;
        self.limited().into_iter().find_map(|(group, limit)| {
            self.stalls(scene, group, scene.now).or_else(|| self.exceeds(scene, group, limit))
        })
    }

    /// Nothing more has happened until then.
    fn ended(&mut self, scene: &Scene, trace: &Trace) -> Option<Finding> {
        let groups = self.limited().into_iter();
        groups.map(|(group, _)| group).find_map(|g| self.stalls(scene, g, trace.window.end))
    }

    fn started(&mut self, scene: &Scene, thread: ThreadId, cpu: CpuId) -> Option<Finding> {
        let held = scene.held.contains(&thread);
        held.then(|| Finding::at(thread, cpu, "runs though the quota of a group holds it"))
    }

    /// A thread that is let go was held.
    fn event(&mut self, scene: &Scene, event: &Event) -> Option<Finding> {
        let What::Released { thread } = event.what else { return None };
        let around: Vec<usize> = self.up(self.groups[thread.index()]).collect();
        around.into_iter().for_each(|group| self.budgets[group].stalled = None);
        let held = scene.held.contains(&thread);
        (!held).then(|| Finding::of(thread, "is let go, and no group held it"))
    }

    fn changed(&mut self, _scene: &Scene, kind: &ChangeKind) -> Option<Finding> {
        match kind {
            ChangeKind::Max { group, max } => {
                self.budgets[*group].grace = (self.members(*group).len() as u64 * TURN.0) as f64;
                self.budgets[*group].limit = *max;
            }
            ChangeKind::Move { thread, group } => self.groups[thread.index()] = Some(*group),
            // A policy that starts anew grants all quotas anew.
            ChangeKind::Offline(_) | ChangeKind::Online(_) => {}
            _ => return None,
        }
        self.forget();
        None
    }
}
