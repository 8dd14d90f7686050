//! What pairs of runs add to verdicts on p99.9: `cargo run --release -p stats --example pairs`.
//!
//! Arguments: `false` for false alarms, `told` for what is told, or `unlike` for false alarms of a side whose
//! runs are all slower against one of which few are, where the pooled figures are the same. Then how many
//! comparisons of each kind (2,000; of `told` 200), requests of each run (2,000), workers (1,4,16), loads
//! (all five) and laws by their place (all). Prints a table in Markdown, the same for the same arguments.
//!
//! Before: by pooled figures alone. After: as it is.
#![forbid(unsafe_code)]

#[allow(dead_code)] // Each program uses a part of it.
#[path = "../tests/common/many.rs"]
mod many;
#[path = "../tests/common/sides.rs"]
mod sides;

use std::str::FromStr;
use std::thread;

use model::{Answer, Nanos};
use sides::{Case, Law, Pair, slowed};
use stats::{Basis, Metric, Quantile, Verdict, compare, compare_pooled};

const PAIRS: [usize; 2] = [6, 10];
const MOST: usize = 10;
/// Trials whose runs make pooled figures alike.
const ALIKE: usize = 100;
const P99_9: Quantile = Quantile::P99_9;
const RATIOS: [f64; 5] = [1.2, 1.5, 2.0, 10.0, 100.0];

/// Comparisons that tell without the pairs' median, and with it.
#[derive(Clone, Copy, Default)]
struct Told {
    before: usize,
    after: usize,
}

/// What is counted, and over how much.
struct Table {
    trials: usize,
    requests: usize,
    workers: Vec<usize>,
    loads: Vec<f64>,
    ratios: Vec<f64>,
    laws: Vec<[Law; 2]>,
}

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let is_told = mode == "told";
    let ratios = if is_told { RATIOS.to_vec() } else { vec![1.0] };
    let trials = if is_told { 200 } else { 2_000 };
    let laws: Vec<[Law; 2]> =
        list(6, &[0, 1, 2, 3]).into_iter().map(|i| [Law::ALL[i]; 2]).collect();
    let unlike = vec![[Law::Exponential, Law::Disasters], [Law::Disasters, Law::Exponential]];
    let table = Table {
        trials: list(2, &[trials])[0],
        requests: list(3, &[2_000])[0],
        workers: list(4, &[1, 4, 16]),
        loads: list(5, &[0.5, 0.7, 0.8, 0.9, 0.95]),
        ratios,
        laws: if mode == "unlike" { unlike } else { laws },
    };
    table.print();
}

fn list<T: FromStr + Clone>(argument: usize, otherwise: &[T]) -> Vec<T> {
    let number = |text: &str| text.parse().ok().expect("numbers with commas");
    let given = std::env::args().nth(argument);
    given.map_or(otherwise.to_vec(), |text| text.split(',').map(number).collect())
}

impl Table {
    fn print(&self) {
        let title = |workers, ratio: &f64| format!("{workers} workers, {ratio}x");
        let of = |workers| self.ratios.iter().map(move |ratio| title(workers, ratio));
        let titles: Vec<String> = self.workers.iter().flat_map(of).collect();
        println!("| runs | load | pairs | {} |", titles.join(" | "));
        println!("|---|---|---|{}", "---|".repeat(titles.len()));
        for laws in &self.laws {
            self.loads.iter().for_each(|load| self.rows(*laws, *load));
        }
    }

    fn rows(&self, laws: [Law; 2], load: f64) {
        let case = |law, workers| Case { law, workers, load, requests: self.requests };
        let sides = |workers: &usize| Sides::new(laws.map(|law| case(law, *workers)));
        let told: Vec<Vec<Told>> =
            self.workers.iter().map(|workers| self.tally(&sides(workers))).collect();
        let names = laws.map(Law::name);
        let name = if laws[0] == laws[1] { names[0].into() } else { names.join(" against ") };
        for (pairs, place) in PAIRS.iter().zip(0..) {
            let own =
                |told: &Vec<Told>| told.chunks(self.ratios.len()).nth(place).map(<[_]>::to_vec);
            let cells: Vec<String> =
                told.iter().filter_map(own).flatten().map(|told| self.cell(told)).collect();
            println!("| {name} | {load} | {pairs} | {} |", cells.join(" | "));
        }
    }

    fn cell(&self, told: Told) -> String {
        let percent = |told: usize| 100.0 * told as f64 / self.trials as f64;
        format!("{:.1} → {:.1}", percent(told.before), percent(told.after))
    }

    /// Of each number of pairs and each ratio.
    fn tally(&self, sides: &Sides) -> Vec<Told> {
        let threads = thread::available_parallelism().map_or(1, |n| n.get());
        let part = |first: usize| {
            let mut told = vec![Told::default(); PAIRS.len() * self.ratios.len()];
            for trial in (first..self.trials).step_by(threads) {
                self.add(&mut told, &sides.pairs(trial));
            }
            told
        };
        thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|i| scope.spawn(move || part(i))).collect();
            let all = all.into_iter().map(|one| one.join().expect("no panic"));
            all.reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a.with(*b)).collect()).expect("one")
        })
    }

    fn add(&self, told: &mut [Told], pairs: &[Pair]) {
        for (at, ratio) in self.ratios.iter().enumerate() {
            let slow = slowed(pairs, *ratio);
            for (place, some) in PAIRS.iter().enumerate() {
                told[place * self.ratios.len() + at].look(&slow[..*some], *ratio);
            }
        }
    }
}

/// Both sides, of which one may be of another law: then it is slowed down until pooled figures are the same.
struct Sides {
    cases: [Case; 2],
    ratio: f64,
}

impl Sides {
    fn new(cases: [Case; 2]) -> Sides {
        let pooled = |case: &Case| {
            let runs = (0..ALIKE).flat_map(|trial| case.pairs(trial, MOST));
            let mut all: Vec<Nanos> = runs.flat_map(|(run, _)| run).collect();
            let index = P99_9.index(all.len());
            all.select_nth_unstable(index).1.0 as f64
        };
        let alike = cases[0].law == cases[1].law;
        let ratio = if alike { 1.0 } else { pooled(&cases[1]) / pooled(&cases[0]) };
        Sides { cases, ratio }
    }

    fn pairs(&self, trial: usize) -> Vec<Pair> {
        let [a, b] = self.cases;
        if a.law == b.law {
            return a.pairs(trial, MOST);
        }
        let apart = a.pairs(trial, MOST).into_iter().zip(b.pairs(trial, MOST));
        let pairs: Vec<Pair> = apart.map(|((a, _), (_, b))| (a, b)).collect();
        slowed(&pairs, self.ratio)
    }
}

impl Told {
    fn with(self, other: Told) -> Told {
        Told { before: self.before + other.before, after: self.after + other.after }
    }

    /// Of equals any answer counts.
    fn look(&mut self, pairs: &[Pair], ratio: f64) {
        let metric = Metric::Quantile(P99_9);
        let counts = |answer| answer == Answer::Worse || ratio == 1.0 && answer == Answer::Better;
        let told = |found: Option<Verdict>| usize::from(counts(found.expect("samples").answer));
        let after = compare(pairs, metric);
        let is_pooled = after.is_some_and(|found| found.basis == Basis::Pooled);
        let before = if is_pooled { after } else { compare_pooled(pairs, metric) };
        let [before, after] = [before, after].map(told);
        *self = self.with(Told { before, after });
    }
}
