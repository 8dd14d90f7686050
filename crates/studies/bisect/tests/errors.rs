//! Searches among versions whose figure is drawn: how often a commit is named that is not the first.
#![forbid(unsafe_code)]

use std::ops::Range;
use std::path::Path;

use bisect::{Asked, Builds, Found, Origin, Outcome, Recipe, Study, Subject, Version};
use gate::{Base, GATE_SCHEMA, Least, Measure, Recorded};
use model::{Failure, Silent, Watch};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const VERSIONS: usize = 12;
const SEARCHES: u64 = 200;

/// A version's figure is 1 before the first worse one and `worse` from then on, each run with noise.
struct Drawn {
    kind: Base,
    search: u64,
    first: usize,
    worse: f64,
    noise: f64,
}

impl Subject for Drawn {
    fn kind(&self) -> &Base {
        &self.kind
    }

    fn record(
        &self,
        tree: &Path,
        seeds: Range<usize>,
        _watch: &dyn Watch,
    ) -> Result<Vec<Recorded>, Failure> {
        let folder = tree.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let version: usize = folder.and_then(|name| name.parse().ok()).expect("a number");
        let mean = if version < self.first { 1.0 } else { self.worse };
        let noise =
            |seed: &usize| normal(self.search * 1_000_003 + version as u64 * 1_009 + *seed as u64);
        let runs = seeds.clone().map(|seed| mean + self.noise * noise(&seed)).collect();
        let measure = Measure { program: None, figure: "lag_s".to_string(), floor: 0.0, runs };
        let all = seeds.map(|seed| seed as u64).collect();
        Ok(vec![Recorded { seeds: all, measures: vec![measure], ..self.kind.scenarios[0].clone() }])
    }
}

/// About normal, of mean 0 and variance 1: twelve uniform numbers less six.
fn normal(seed: u64) -> f64 {
    let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..12).map(|_| draws.random::<f64>()).sum::<f64>() - 6.0
}

fn kind() -> Base {
    let text = "# Anything.\nduration = '1s'\nseeds = [1]\n[machine]\ncpus = 1\n\
                [[program]]\nname = 'b'\nkind = 'batch'\nthreads = 1\n";
    let source = gate::Source { name: "drawn.toml".into(), text: text.into() };
    Base {
        schema: GATE_SCHEMA.into(),
        version: "0".into(),
        arm: "sim".into(),
        machine: "drawn".into(),
        kernel: None,
        policy: "drawn".into(),
        scenarios: vec![Recorded::none(source)],
    }
}

fn searched(search: u64, first: usize, worse: f64, noise: f64) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let names: Vec<String> = (0..VERSIONS).map(|number| number.to_string()).collect();
    let recipe = Recipe { origin: Origin::Named, build: None };
    let study = Study {
        versions: &Version::all_named(&names).expect("names"),
        builds: &Builds::new(folder.path().to_path_buf(), recipe, false).expect("a folder of ours"),
        subject: &Drawn { kind: kind(), search, first, worse, noise },
        asked: &Asked { seeds: 5, least: Least(0.01), figure: None },
        tell: &|_| {},
        watch: &Silent,
    };
    study.run().expect("a search")
}

/// Searches that named the first worse one, another one, and none.
fn counted(worse: f64, noise: f64) -> [u64; 3] {
    let mut counted = [0; 3];
    for search in 0..SEARCHES {
        let first = 1 + search as usize % (VERSIONS - 1);
        let found = searched(search, first, worse, noise).found;
        let at = match found.filter(|found| found.is_one()) {
            Some(Found { worse, .. }) => usize::from(worse != first),
            None => 2,
        };
        counted[at] += 1;
    }
    println!("{worse} times, noise {noise}: right, wrong, cannot tell: {counted:?}");
    counted
}

/// Of 200 searches with 5% errors, more than 18 are wrong with a probability of 1 in 100.
#[test]
fn a_wrong_commit_is_seldom_named_however_noisy_the_runs_are() {
    for (worse, noise) in [(1.5, 0.01), (1.5, 0.1), (1.5, 0.3), (1.1, 0.1)] {
        let [_, wrong, _] = counted(worse, noise);
        assert!(wrong <= 18, "{wrong} of {SEARCHES}");
    }
}

#[test]
fn what_is_clear_is_named_and_what_is_none_is_not() {
    let [right, ..] = counted(1.5, 0.01);
    assert!(right >= SEARCHES * 9 / 10, "{right}");
    let ends = (0..SEARCHES).filter(|search| searched(*search, 5, 1.0, 0.1).ends.is_some()).count();
    println!("{ends} of {SEARCHES} histories that became no worse have ends that differ");
    assert!(ends <= 18, "{ends}");
}
