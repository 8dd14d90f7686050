//! The search itself: versions are built and run, and their sides are told.

use std::collections::BTreeMap;
use std::path::Path;

use gate::{Base, Judged, Least, Recorded, Way, judge_at};
use model::{Answer, Failure, Watch};

use crate::builds::Builds;
use crate::family::{Family, LOOKS};
use crate::runs::Runs;
use crate::search::{Found, Search, Side};
use crate::versions::Version;

/// What runs a version.
pub trait Subject {
    /// What the runs of all versions have in common: a base whose scenarios have no runs yet.
    fn kind(&self) -> &Base;
    /// Runs of each scenario: of its seeds, those from one number to another.
    fn record(
        &self,
        tree: &Path,
        seeds: std::ops::Range<usize>,
        watch: &dyn Watch,
    ) -> Result<Vec<Recorded>, Failure>;
}

/// What a user asks for.
pub struct Asked {
    /// Runs of each scenario at the first look; four times as many at the last.
    pub seeds: usize,
    /// The least change between the ends that matters.
    pub least: Least,
    /// The figure to look for; `None`: the one that became worse most surely.
    pub figure: Option<String>,
}

/// Runs of each scenario at the last look at a version, where the first has so many.
pub fn most_runs(first: usize) -> usize {
    first << (LOOKS - 1)
}

/// How the ends differ.
#[derive(Clone, Debug, PartialEq)]
pub enum Ends {
    /// By a figure.
    Figure(Way),
    /// The last does not run at all, and says this.
    Fails(String),
}

/// A version that was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    /// Its place.
    pub version: usize,
    /// Its side.
    pub side: Side,
    /// The figure; `None` without runs.
    pub value: Option<f64>,
    /// Runs of each scenario.
    pub runs: usize,
    /// Why nothing was told of it.
    pub why: Option<String>,
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How the ends differ; `None` where that cannot be told.
    pub ends: Option<Ends>,
    /// In the order of versions.
    pub tested: Vec<Tested>,
    /// The versions between which it became worse.
    pub found: Option<Found>,
}

/// A search.
pub struct Study<'a> {
    /// From the good one to the worse one: two or more.
    pub versions: &'a [Version],
    /// Where they are built.
    pub builds: &'a Builds,
    /// What runs them.
    pub subject: &'a dyn Subject,
    /// What the user wants.
    pub asked: &'a Asked,
    /// For a line of news.
    pub tell: &'a dyn Fn(&str),
    /// For the user's wish to stop.
    pub watch: &'a dyn Watch,
}

impl Study<'_> {
    /// Searches.
    pub fn run(&self) -> Result<Outcome, Failure> {
        let mut runs = BTreeMap::new();
        let last = self.versions.len() - 1;
        let needed = Search::answers(self.versions.len());
        let family = Family::of(needed);
        let Some(ends) = self.ends(last, family, &mut runs)? else {
            return Ok(Outcome { ends: None, tested: Vec::new(), found: None });
        };
        let mut tested = self.of_ends(last, &ends, &runs);
        let mut search = Search::new(self.versions.len());
        for _ in 0..family.answers {
            let Some(version) = search.next() else { break };
            let one = self.test(version, &ends, family, &mut runs)?;
            search.learn(version, one.side);
            tested.push(one);
        }
        tested.sort_by_key(|one| one.version);
        Ok(Outcome { ends: Some(ends), tested, found: Some(search.found()) })
    }

    /// How the last differs from the first.
    fn ends(
        &self,
        last: usize,
        family: Family,
        runs: &mut BTreeMap<usize, Runs>,
    ) -> Result<Option<Ends>, Failure> {
        for look in 0..LOOKS {
            let count = self.asked.seeds << look;
            let base = self.runs(0, count, runs).map_err(|failure| self.of_end(0, failure))?;
            let now = match self.runs(last, count, runs) {
                Ok(now) => now,
                // One that could not even be built tells nothing of the scheduler.
                Err(Failure::Run(why)) if self.is_built(last) => return Ok(Some(Ends::Fails(why))),
                Err(failure) => return Err(self.of_end(last, failure)),
            };
            let outcome = judge_at(&base, &now, self.asked.least, family.of_ends())?;
            let worst = self.worst(outcome.with(Answer::Worse)).cloned();
            // Any of the figures might have been the one, so its extent pays for all of them.
            let miss = family.of_ends() / outcome.0.len() as f64;
            let way = worst.and_then(|worst| Way::of(worst, &base, &now, miss));
            if let Some(way) = way {
                return Ok(Some(Ends::Figure(way)));
            }
        }
        Ok(None)
    }

    /// Without its ends there is no search.
    fn of_end(&self, version: usize, failure: Failure) -> Failure {
        let name = self.versions[version].short();
        match failure {
            Failure::Interrupted => failure,
            failure => Failure::of(failure.exit_code(), format!("{name}: {failure}")),
        }
    }

    /// The surest of those that are worse, and of several the one that changed most.
    fn worst<'a>(&self, worse: impl Iterator<Item = &'a Judged>) -> Option<&'a Judged> {
        let wanted =
            |judged: &&Judged| self.asked.figure.as_ref().is_none_or(|one| *one == judged.figure);
        let times = |judged: &Judged| judged.now / judged.base;
        worse.filter(wanted).min_by(|x, y| x.p.total_cmp(&y.p).then(times(y).total_cmp(&times(x))))
    }

    fn is_built(&self, version: usize) -> bool {
        self.builds.is_built(&self.versions[version])
    }

    fn of_ends(&self, last: usize, ends: &Ends, runs: &BTreeMap<usize, Runs>) -> Vec<Tested> {
        let (base, now) = match ends {
            Ends::Figure(way) => (Some(way.judged.base), Some(way.judged.now)),
            Ends::Fails(_) => (None, None),
        };
        let of = |version: usize, side, value| {
            // Of runs that failed nothing is kept.
            let runs = runs.get(&version).map_or(self.asked.seeds, Runs::count);
            Tested { version, side, value, runs, why: None }
        };
        vec![of(0, Side::Good, base), of(last, Side::Worse, now)]
    }

    /// The side of a version between the ends.
    fn test(
        &self,
        version: usize,
        ends: &Ends,
        family: Family,
        runs: &mut BTreeMap<usize, Runs>,
    ) -> Result<Tested, Failure> {
        let tested = match ends {
            Ends::Figure(way) => self.by_figure(version, way, family, runs)?,
            Ends::Fails(_) => self.by_running(version, runs)?,
        };
        let word = match (&tested.side, &tested.why) {
            (Side::Good, _) => "good",
            (Side::Worse, _) => "worse",
            (Side::Unknown, why) => why.as_deref().unwrap_or("cannot tell"),
        };
        (self.tell)(&format!("{}: {word}", self.versions[version].short()));
        Ok(tested)
    }

    fn by_figure(
        &self,
        version: usize,
        way: &Way,
        family: Family,
        runs: &mut BTreeMap<usize, Runs>,
    ) -> Result<Tested, Failure> {
        let mut tested = Tested { version, side: Side::Unknown, value: None, runs: 0, why: None };
        for look in 0..LOOKS {
            let count = self.asked.seeds << look;
            let base = self.runs(0, count, runs)?;
            let now = match self.runs(version, count, runs) {
                Ok(now) => now,
                Err(failure) => return skipped(tested, failure),
            };
            let past = way.past(&base, &now, family.of_a_look());
            (tested.value, tested.runs) = (past.map(|past| past.now), count);
            if let Some(is_past) = past.and_then(|past| past.is_past) {
                tested.side = if is_past { Side::Worse } else { Side::Good };
                return Ok(tested);
            }
        }
        tested.why = Some("its runs do not tell".to_string());
        Ok(tested)
    }

    fn by_running(
        &self,
        version: usize,
        runs: &mut BTreeMap<usize, Runs>,
    ) -> Result<Tested, Failure> {
        let count = self.asked.seeds;
        let tested = |side| Tested { version, side, value: None, runs: count, why: None };
        match self.runs(version, count, runs) {
            Ok(_) => Ok(tested(Side::Good)),
            Err(Failure::Run(_)) if self.is_built(version) => Ok(tested(Side::Worse)),
            Err(failure) => skipped(tested(Side::Unknown), failure),
        }
    }

    /// So many runs of a version, made unless they are there.
    fn runs(
        &self,
        version: usize,
        count: usize,
        known: &mut BTreeMap<usize, Runs>,
    ) -> Result<Vec<Recorded>, Failure> {
        let (at, kind) = (&self.versions[version], self.subject.kind());
        let tree = self.builds.tree(at, self.watch)?;
        let folder = self.builds.folder(at);
        let mut runs = match known.remove(&version) {
            Some(runs) => runs,
            None => Runs::kept(&folder, kind)?.unwrap_or_else(|| Runs(kind.clone())),
        };
        let have = runs.count();
        if have < count {
            (self.tell)(&format!("{}: runs {} to {count}", at.short(), have + 1));
            runs.extend(self.subject.record(&tree, have..count, self.watch)?);
            runs.keep(&folder)?;
        }
        let first = runs.first(count);
        known.insert(version, runs);
        Ok(first)
    }
}

/// A version of which nothing can be told, unless the user stops.
fn skipped(tested: Tested, failure: Failure) -> Result<Tested, Failure> {
    match failure {
        Failure::Interrupted => Err(failure),
        failure => Ok(Tested { why: Some(failure.to_string()), ..tested }),
    }
}
