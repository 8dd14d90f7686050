//! The study: all policies and the ideal searched at once, so that their runs share the machine's cores.

use std::collections::BTreeMap;

use experiment::{Point, Runner, Source, results};
use model::{Failure, PolicySpec, Scenario, Watch};
use report::capacity::{CAPACITY_SCHEMA, CapacityRun, LoadPoint};
use report::document::{Estimate, Machine, PolicyResult};

use crate::Objective;
use crate::carried::{carried, verdicts};
use crate::loads::Loads;
use crate::search::{Finding, Search};

/// Requests of which none is an outlier that bound the proportion to this over their number (exact binomial,
/// 95%, two-sided).
const NONE_OF: f64 = 3.69;

/// What is asked.
pub struct Study<'a> {
    /// The scenario; its threshold of outliers is the objective's.
    pub source: Source,
    /// Whose load is scaled; `None`: that of the only service.
    pub service: Option<&'a str>,
    /// The objective.
    pub objective: Objective,
    /// The policies, the first of which the others are held against.
    pub policies: Vec<PolicySpec>,
    /// One run of each policy a seed and load.
    pub seeds: Vec<u64>,
    /// What runs the points, and keeps them.
    pub runner: Runner<'a>,
}

/// A policy or the ideal on its way.
pub(crate) struct Contender {
    /// Index of the policy whose runs these are.
    policy: usize,
    /// Whether it is the ideal of these runs.
    is_ideal: bool,
    /// Its search.
    pub search: Search,
    /// What was found at each load.
    pub points: BTreeMap<usize, LoadPoint>,
    /// The kernel that ran.
    pub kernel: Option<String>,
}

impl Study<'_> {
    /// Runs it; the caller adds command line, version and scenario text.
    pub fn run(self, watch: &dyn Watch) -> Result<CapacityRun, Failure> {
        let loads = Loads::new(self.source.clone(), self.service)?;
        self.check(&loads)?;
        let mut all = vec![Contender::new(0, true)];
        all.extend((0..self.policies.len()).map(|policy| Contender::new(policy, false)));
        let mut done = 0;
        loop {
            let wanted: Vec<(usize, usize)> = (0..).zip(&all).flat_map(Contender::wanted).collect();
            if wanted.is_empty() {
                return Ok(self.document(&loads, &all));
            }
            self.round(&loads, &mut all, &wanted, watch)?;
            done += 1;
            let left = all.iter().map(|one| one.search.rounds_left()).max().unwrap_or(0);
            watch.progress(f64::from(done) / f64::from(done + left as u32));
        }
    }

    /// Says early what would otherwise come out after all runs.
    fn check(&self, loads: &Loads) -> Result<(), Failure> {
        let service = loads.service();
        let file = &self.source.file;
        let seconds = loads.scenario.duration.as_secs_f64() * self.seeds.len() as f64;
        let most = loads.saturation_per_s * seconds;
        let least = NONE_OF / self.objective.proportion;
        if service.service_law == model::law::Law::Fixed
            && service.service_time > self.objective.threshold
        {
            return Err(Failure::Input(format!(
                "{file}: every request takes {}, so none is within {}: expected a longer time in --slo",
                service.service_time, self.objective.threshold
            )));
        }
        if most < least {
            return Err(Failure::Input(format!(
                "{file}: {most:.0} requests at most, and it takes {least:.0} to tell whether {}: ask for more \
                 --seeds or a longer --duration",
                self.objective
            )));
        }
        Ok(())
    }

    /// Runs loads of contenders, (contender, load), and records what they show.
    fn round(
        &self,
        loads: &Loads,
        all: &mut [Contender],
        wanted: &[(usize, usize)],
        watch: &dyn Watch,
    ) -> Result<(), Failure> {
        let found = self.found(loads, all, wanted, watch)?;
        for (&(who, load), result) in wanted.iter().zip(found) {
            all[who].record(loads, load, &result, self.objective, self.seeds.len());
        }
        Ok(())
    }

    /// What runs of loads show, in their order.
    fn found(
        &self,
        loads: &Loads,
        all: &[Contender],
        wanted: &[(usize, usize)],
        watch: &dyn Watch,
    ) -> Result<Vec<PolicyResult>, Failure> {
        let point = |(who, load): &(usize, usize)| self.point(loads, all[*who].policy, *load);
        let points: Vec<Point> = wanted.iter().map(point).collect::<Result<_, _>>()?;
        // The ideal is found in runs of the first policy: one point may be wanted twice.
        let mut once = points.clone();
        once.sort_by(|a, b| a.id.cmp(&b.id));
        once.dedup_by(|a, b| a.id == b.id);
        let swept = self.runner.run(&once, &Unmoved(watch))?;
        if let Some(failed) = swept.failed.first() {
            return Err(Failure::Run(format!(
                "{}, {}: {}\nto make it again: {}",
                failed.policy, failed.file, failed.reason, failed.replay
            )));
        }
        let kept = |point: &Point| {
            results(point, self.runner.store)?.into_iter().find(|result| result.seed.is_none())
        };
        let all: Option<Vec<PolicyResult>> = points.iter().map(kept).collect();
        all.ok_or_else(|| {
            Failure::Run("a finished point is not in the folder any more".to_string())
        })
    }

    fn point(&self, loads: &Loads, policy: usize, load: usize) -> Result<Point, Failure> {
        let (scenario, source) = loads.at(load)?;
        let scenario = Scenario { seeds: self.seeds.clone(), ..scenario };
        let policy = &self.policies[policy];
        self.runner.arm.check(&scenario, policy)?;
        let point = Point::new(scenario, policy, false, self.runner.arm)?;
        Ok(Point { file: source.file, edits: source.edits, ..point })
    }

    fn document(&self, loads: &Loads, all: &[Contender]) -> CapacityRun {
        let scenario = &loads.scenario;
        let machine = scenario.machine;
        let of = |one: &Contender| {
            let name = if one.is_ideal {
                "ideal".to_string()
            } else {
                self.policies[one.policy].to_string()
            };
            carried(name, loads, one)
        };
        let mut carried: Vec<_> = all.iter().map(of).collect();
        let ideal = carried.remove(0);
        carried.iter_mut().for_each(|one| one.of_ideal = crate::carried::ratio(one, &ideal));
        let verdicts = verdicts(&carried, self.seeds.len());
        CapacityRun {
            schema: CAPACITY_SCHEMA.to_string(),
            scenario: scenario.name.clone(),
            shows: scenario.shows.clone(),
            arm: self.runner.arm.name().to_string(),
            machine: Machine {
                description: self.runner.arm.machine(),
                cpus: machine.cpus,
                smt: machine.smt,
                llcs: machine.llcs,
                nodes: machine.nodes,
            },
            service: scenario.programs[loads.program].name.clone(),
            service_time_ns: loads.service().service_time.0,
            saturation_per_s: loads.saturation_per_s,
            threshold_ns: self.objective.threshold.0,
            proportion: self.objective.proportion,
            seeds: self.seeds.clone(),
            duration_ns: scenario.duration.0,
            ideal,
            policies: carried,
            verdicts,
            ..CapacityRun::default()
        }
    }
}

impl Contender {
    fn new(policy: usize, is_ideal: bool) -> Contender {
        let (search, points, kernel) = (Search::default(), BTreeMap::new(), None);
        Contender { policy, is_ideal, search, points, kernel }
    }

    fn wanted((who, one): (usize, &Contender)) -> Vec<(usize, usize)> {
        one.search.wanted().into_iter().map(|load| (who, load)).collect()
    }

    fn record(
        &mut self,
        loads: &Loads,
        load: usize,
        result: &PolicyResult,
        objective: Objective,
        seeds: usize,
    ) {
        let mut point = self.point(loads, load, result, seeds);
        let finding = finding(&point.proportion, objective.proportion);
        point.answer = match finding {
            Finding::Meets => "meets",
            Finding::Below | Finding::Above => "cannot tell",
            Finding::Fails => "fails",
        }
        .to_string();
        self.search.record(load, finding);
        self.points.insert(load, point);
        self.kernel.clone_from(&result.kernel);
    }

    fn point(&self, loads: &Loads, load: usize, result: &PolicyResult, seeds: usize) -> LoadPoint {
        let program = &result.programs[loads.program];
        let (outlier, latency_ns) = if self.is_ideal {
            (program.ideal_outlier, program.ideal_ns)
        } else {
            (program.outlier, program.latency_ns)
        };
        LoadPoint {
            rate_per_s: loads.rate_per_s(load),
            seeds: seeds as u64,
            requests: program.requests,
            lost: if self.is_ideal { 0 } else { program.lost },
            proportion: outlier.map_or(Estimate::default(), |outlier| outlier.proportion),
            latency_ns,
            answer: String::new(),
        }
    }
}

/// What a proportion with its interval says of an objective; without requests nothing.
fn finding(proportion: &Estimate, objective: f64) -> Finding {
    let is_within = proportion.value.is_none_or(|value| value <= objective);
    match (proportion.low, proportion.high) {
        (Some(low), _) if low > objective => Finding::Fails,
        (_, Some(high)) if high <= objective => Finding::Meets,
        _ if is_within => Finding::Below,
        _ => Finding::Above,
    }
}

/// A round knows nothing of the whole's progress.
struct Unmoved<'a>(&'a dyn Watch);

impl Watch for Unmoved<'_> {
    fn progress(&self, _done: f64) {}

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_meets_or_fails_as_a_whole() {
        let of = |value, low, high| finding(&Estimate::new(value, low, high), 0.001);
        assert_eq!(of(0.0002, 0.0001, 0.001), Finding::Meets);
        assert_eq!(of(0.0005, 0.0001, 0.002), Finding::Below);
        assert_eq!(of(0.0015, 0.0001, 0.002), Finding::Above);
        assert_eq!(of(0.0015, 0.0011, f64::INFINITY), Finding::Fails);
        assert_eq!(of(0.0, 0.0, f64::INFINITY), Finding::Below);
        assert_eq!(finding(&Estimate::default(), 0.001), Finding::Below);
    }
}
