//! What the tables say, the same in a terminal and on a page: one block a service, the shares, the work of
//! the schedulers.

use std::collections::BTreeMap;

use crate::document::{
    Answer, Document, Estimate, GroupResult, Latency, Looks, PolicyResult, ProgramResult, Verdict,
};
use crate::grid::{Block, Cell, Grid, Room, Tone};
use crate::human;

/// The metric that verdicts of the tables are about.
pub const HEADLINE: &str = "latency_ns.p99_9";

/// The metric of programs that do the same again and again.
pub const ROUND: &str = "round_ns";

/// The heading of the block that holds groups against what is due.
pub const SHARES: &str = "shares of the machine's CPU time";

/// All blocks of a comparison, in order.
pub fn blocks(document: &Document) -> Vec<Block> {
    let shown = document.shown();
    let mut blocks: Vec<Block> =
        services(&shown).into_iter().map(|name| service(document, &shown, name)).collect();
    blocks.extend(repeated(&shown).into_iter().map(|name| rounds(document, &shown, name)));
    blocks.extend(shares(&shown));
    blocks.push(work(&shown));
    blocks
}

/// The names of the services, in the scenario's order.
pub fn services<'a>(shown: &[&'a PolicyResult]) -> Vec<&'a str> {
    named(shown, |program| program.latency_ns.is_some())
}

/// The names of the programs that do the same again and again, of which the time of a round is known.
fn repeated<'a>(shown: &[&'a PolicyResult]) -> Vec<&'a str> {
    named(shown, |program| program.round_ns.is_some())
}

fn named<'a>(shown: &[&'a PolicyResult], is_one: fn(&ProgramResult) -> bool) -> Vec<&'a str> {
    let programs = shown.first().map_or(&[][..], |result| &result.programs);
    programs.iter().filter(|program| is_one(program)).map(|p| p.name.as_str()).collect()
}

/// What each policy did to one service: (policy, its figures).
pub fn runs_of<'a>(shown: &[&'a PolicyResult], service: &str) -> Vec<(&'a str, &'a ProgramResult)> {
    let find = |result: &&'a PolicyResult| {
        let program = result.programs.iter().find(|program| program.name == service)?;
        Some((result.policy.as_str(), program))
    };
    shown.iter().filter_map(find).collect()
}

/// What a metric's path is called.
pub fn metric_name(path: &str) -> String {
    match path.strip_prefix("latency_ns.") {
        Some(quantile) => quantile.replace('_', "."),
        None => path.replace(['_', '.'], " "),
    }
}

fn service(document: &Document, shown: &[&PolicyResult], name: &str) -> Block {
    let runs = runs_of(shown, name);
    let against = runs.first().map_or("", |(policy, _)| policy);
    let threshold = runs.iter().find_map(|(_, program)| Some(program.outlier?.threshold_ns));
    let over = threshold.map_or("outliers".into(), |ns| format!("over {}", human::round_span(ns)));
    let verdict = format!("p99.9 against {against}");
    let titles = ["policy", "requests", "lost", "p50", "p99", "p99.9", "x ideal", "inversions"];
    let titles = titles.iter().map(|title| title.to_string());
    let mut grid = Grid::new(titles.chain([over.clone(), verdict]))
        .claiming(Room::Ample, &["p50", "p99", &over])
        .claiming(Room::First, &["p99.9"]);
    grid.spare = vec!["inversions".into(), over, "p50".into()];
    grid.rows.extend(ideals(&runs).into_iter().map(|(label, ideal)| ideal_row(label, ideal)));
    let counted = same_requests(&runs).is_none();
    let rows = runs.iter().map(|(policy, program)| {
        let verdict = headline(document, HEADLINE, [name, policy, against]);
        service_row(policy, program, counted, verdict)
    });
    grid.rows.extend(rows);
    Block {
        heading: heading(name, &runs),
        grid: grid.without_empty(),
        notes: notes(document, HEADLINE, name),
    }
}

/// The number of requests, if all policies had the same.
fn same_requests(runs: &[(&str, &ProgramResult)]) -> Option<u64> {
    let first = runs.first()?.1.requests;
    runs.iter().all(|(_, program)| program.requests == first).then_some(first)
}

/// `service front: 120,000 requests at 800/s, 40.0% of the machine used`.
pub fn heading(name: &str, runs: &[(&str, &ProgramResult)]) -> String {
    let first = runs.first().map(|(_, program)| program);
    let rate = first.and_then(|program| program.rate_per_s);
    let load = first.and_then(|program| program.utilisation);
    let mut text = format!("service {name}:");
    if let Some(requests) = same_requests(runs) {
        text.push_str(&format!(" {}", human::count(Some(requests))));
    }
    text.push_str(" requests");
    if rate.is_some() {
        text.push_str(&format!(" at {}/s", human::number(rate)));
    }
    if load.is_some() {
        text.push_str(&format!(", {} of the machine used", human::share(load)));
    }
    text
}

/// The ideals that differ, each with its label: one for all policies where they saw the same arrivals and
/// services.
pub fn ideals<'a>(runs: &[(&str, &'a ProgramResult)]) -> Vec<(String, &'a ProgramResult)> {
    let with: Vec<_> = runs.iter().filter(|(_, program)| program.ideal_ns.is_some()).collect();
    let Some((_, first)) = with.first() else { return Vec::new() };
    if with.iter().all(|(_, program)| program.ideal_ns == first.ideal_ns) {
        return vec![("ideal".to_string(), first)];
    }
    with.iter().map(|(policy, program)| (format!("ideal, {policy}"), *program)).collect()
}

fn quantiles(latency: &Latency) -> impl Iterator<Item = Cell> {
    [latency.p50, latency.p99, latency.p99_9]
        .into_iter()
        .map(|q| Cell::estimate(human::latency(&q)))
}

fn ideal_row(label: String, program: &ProgramResult) -> Vec<Cell> {
    let unknown = || Cell::plain(human::UNKNOWN);
    let ideal = program.ideal_ns.unwrap_or_default();
    let mut row = vec![Cell::plain(label), unknown(), unknown()];
    row.extend(quantiles(&ideal));
    row.extend([Cell::plain("1"), unknown(), unknown(), unknown()]);
    faint(row)
}

fn service_row(
    policy: &str,
    program: &ProgramResult,
    counted: bool,
    verdict: Option<&Verdict>,
) -> Vec<Cell> {
    let requests = human::count(counted.then_some(program.requests));
    let lost = match program.lost {
        0 => Cell::plain(human::UNKNOWN),
        lost => Cell::plain(human::count(Some(lost))).tone(Tone::Bad),
    };
    let mut row = vec![Cell::plain(policy), Cell::plain(requests), lost];
    row.extend(quantiles(&program.latency_ns.unwrap_or_default()));
    let excess = program.excess_p99_9.map(Estimate::exact).unwrap_or_default();
    let outliers = program.outlier.map(|outlier| outlier.proportion).unwrap_or_default();
    row.extend([
        Cell::estimate(human::ratio(&excess)),
        Cell::plain(inversions(program)),
        Cell::estimate(human::percent(&outliers)),
        verdict.map_or(Cell::plain(human::UNKNOWN), verdict_cell),
    ]);
    row
}

/// A row of quantiles below those of a grid of services, by the columns that the grid has kept.
pub fn least_row(grid: &Grid, label: &str, least: &Latency, ideal: Option<Latency>) -> Vec<Cell> {
    let quantile = |q: Estimate| Cell::estimate(human::latency(&q));
    let excess = || {
        let ratio = least.p99_9.value? / ideal?.p99_9.value?;
        Some(Cell::estimate(human::ratio(&Estimate::exact(ratio))))
    };
    let cell = |title: &str| match title {
        "policy" => Cell::plain(label),
        "p50" => quantile(least.p50),
        "p99" => quantile(least.p99),
        "p99.9" => quantile(least.p99_9),
        "x ideal" => excess().unwrap_or(Cell::plain(human::UNKNOWN)),
        _ => Cell::plain(human::UNKNOWN),
    };
    faint(grid.columns.iter().map(|column| cell(&column.title)).collect())
}

fn inversions(program: &ProgramResult) -> String {
    match (program.inversions_per_request, program.completion_inversions_per_request) {
        (None, None) => human::UNKNOWN.to_string(),
        (start, end) => format!("{}/{}", human::number(start), human::number(end)),
    }
}

fn headline<'a>(
    document: &'a Document,
    metric: &str,
    [program, a, b]: [&str; 3],
) -> Option<&'a Verdict> {
    document.verdicts.iter().filter(|_| a != b).find(|verdict| {
        verdict.metric == metric
            && verdict.program.as_deref().is_none_or(|name| name == program)
            && verdict.a == a
            && verdict.b == b
    })
}

fn rounds(document: &Document, shown: &[&PolicyResult], name: &str) -> Block {
    let runs = runs_of(shown, name);
    let against = runs.first().map_or("", |(policy, _)| policy);
    let kind = runs.first().map_or("", |(_, program)| &program.kind);
    let verdict = format!("against {against}");
    let mut grid = Grid::new(["policy", "rounds", "a round", &verdict].map(String::from))
        .claiming(Room::First, &["a round"]);
    grid.rows.extend(runs.iter().map(|(policy, program)| {
        let verdict = headline(document, ROUND, [name, policy, against]);
        vec![
            Cell::plain(*policy),
            Cell::plain(human::count(program.rounds)),
            Cell::estimate(human::latency(&program.round_ns.unwrap_or_default())),
            verdict.map_or(Cell::plain(human::UNKNOWN), verdict_cell),
        ]
    }));
    Block {
        heading: format!("{kind} {name}: time of a round"),
        grid: grid.without_empty(),
        notes: notes(document, ROUND, name),
    }
}

/// The answer with its ratio: `worse 3.61x [3.30, 3.90]`.
pub fn verdict_cell(verdict: &Verdict) -> Cell {
    answer_cell(verdict.answer, &verdict.ratio)
}

/// [`verdict_cell`] of its parts.
pub fn answer_cell(answer: Answer, ratio: &Estimate) -> Cell {
    let (text, interval) = match human::ratio(ratio) {
        // Beyond any number: so many requests are lost.
        (unknown, _) if unknown == human::UNKNOWN && answer == Answer::Worse => {
            (format!("{}, lost", answer.word()), String::new())
        }
        (ratio, interval) => (format!("{} {ratio}", answer.word()), interval),
    };
    let tone = match answer {
        Answer::Better => Tone::Good,
        Answer::Worse => Tone::Bad,
        Answer::CannotTell => Tone::Faint,
    };
    Cell { text, interval, tone }
}

/// The A/A pair of the headline, any A/A pair that was told apart, and what is not told.
fn notes(document: &Document, metric: &str, program: &str) -> Vec<Cell> {
    let told = |verdict: &&Verdict| {
        verdict.a == verdict.b
            && verdict.program.as_deref().is_none_or(|name| name == program)
            && (verdict.metric == metric || verdict.answer != Answer::CannotTell)
    };
    let pairs = document.verdicts.iter().filter(told).map(same_policy);
    pairs.chain(by_pairs(document, metric, program)).chain(limits(document)).collect()
}

/// Which answers are about the median of the pairs of runs.
fn by_pairs(document: &Document, metric: &str, program: &str) -> Option<Cell> {
    let shown = |verdict: &&Verdict| {
        verdict.by_pairs && verdict.metric == metric && verdict.program.as_deref() == Some(program)
    };
    let policies: Vec<&str> = document.verdicts.iter().filter(shown).map(|one| &*one.a).collect();
    let text = format!(
        "{}: one or two runs hold a tail, so the answer is about the median of the pairs of runs",
        policies.join(", ")
    );
    (!policies.is_empty()).then(|| Cell::plain(text).tone(Tone::Faint))
}

/// The least difference that a verdict may tell, and why it is large where few runs were made.
fn limits(document: &Document) -> Option<Cell> {
    let (runs, enough) = (document.seeds.len(), Answer::ENOUGH_PAIRS);
    let least = 100.0 * (Answer::LEAST - 1.0);
    let text = if runs < enough {
        let (unseen, many) = (Answer::UNSEEN, if runs == 1 { "seed" } else { "seeds" });
        format!(
            "{runs} {many} cannot show how much whole runs differ: intervals allow for {unseen} times either \
             way; --seeds {enough} or more measures it"
        )
    } else {
        let looks = document.looks.as_ref().map_or(String::new(), looks);
        format!("better, worse: by {least:.0}% or more, with 95% confidence{looks}")
    };
    (!document.verdicts.is_empty()).then(|| Cell::plain(text).tone(Tone::Faint))
}

/// When the verdicts could tell.
fn looks(looks: &Looks) -> String {
    let Looks { taken, planned, is_sure } = looks;
    match is_sure {
        true => format!(" over {planned} looks; sure at look {taken}"),
        false => format!(" over {planned} looks; not sure yet"),
    }
}

/// An A/A pair in words.
fn same_policy(verdict: &Verdict) -> Cell {
    let cell = verdict_cell(verdict);
    let metric = metric_name(&verdict.metric);
    let (moral, tone) = match verdict.answer {
        Answer::CannotTell => ("as it must be", Tone::Faint),
        _ => ("though nothing differs: take this run's verdicts with care", Tone::Bad),
    };
    let text = format!("A/A: {} against itself, {metric}: {}", verdict.a, cell.text);
    let interval =
        if cell.interval.is_empty() { cell.interval } else { format!(" {}", cell.interval) };
    Cell { text: format!("{text}{interval} ({moral})"), interval: String::new(), tone }
}

/// More groups than this stand below each other instead of beside each other.
const GROUPS_ABREAST: usize = 8;

fn shares(shown: &[&PolicyResult]) -> Option<Block> {
    let groups: Vec<&str> = shown
        .iter()
        .map(|result| &result.groups)
        .max_by_key(|g| g.len())?
        .iter()
        .map(|g| g.name.as_str())
        .collect();
    if groups.is_empty() {
        return None;
    }
    let titles = std::iter::once("policy").chain(groups.iter().copied());
    let mut grid = Grid::new(titles.map(String::from));
    let row = |label: &str, cell: &dyn Fn(&str) -> String| {
        let cells = groups.iter().map(|group| Cell::plain(cell(group)));
        std::iter::once(Cell::plain(label)).chain(cells).collect::<Vec<_>>()
    };
    let known: Vec<Groups> = shown.iter().map(|result| by_name(result)).collect();
    grid.rows.push(faint(row("weight", &|group| weight(&known, group))));
    grid.rows.retain(|row| row[1..].iter().any(|cell| cell.text != human::UNKNOWN));
    grid.rows.push(faint(row("due", &|group| due(&known, group))));
    for (result, known) in shown.iter().zip(&known) {
        let share = |name: &str| known.get(name)?.share;
        grid.rows.push(row(&result.policy, &|group| human::share(share(group))));
    }
    let grid = if groups.len() > GROUPS_ABREAST { grid.transposed("group") } else { grid };
    Some(Block { heading: SHARES.to_string(), grid, notes: Vec::new() })
}

/// Groups of one result by name: they may be many.
type Groups<'a> = BTreeMap<&'a str, &'a GroupResult>;

fn by_name(result: &PolicyResult) -> Groups<'_> {
    // Of a name that stands twice the first counts.
    result.groups.iter().rev().map(|group| (group.name.as_str(), group)).collect()
}

fn same_group<'a>(known: &'a [Groups], name: &str) -> impl Iterator<Item = &'a GroupResult> {
    known.iter().filter_map(move |groups| groups.get(name).copied())
}

fn weight(known: &[Groups], name: &str) -> String {
    human::count(same_group(known, name).find_map(|group| group.weight))
}

/// One due share where all policies owe the same, else each: what was due depends on what the group could
/// use.
fn due(known: &[Groups], name: &str) -> String {
    let mut dues: Vec<String> =
        same_group(known, name).map(|group| human::share(group.due_share)).collect();
    dues.dedup();
    dues.join(" / ")
}

fn faint(row: Vec<Cell>) -> Vec<Cell> {
    row.into_iter().map(|cell| cell.tone(Tone::Faint)).collect()
}

fn work(shown: &[&PolicyResult]) -> Block {
    let titles =
        ["policy", "lag of threads", "fairness", "switches", "migrations", "pulls/s", "idle"];
    let mut grid = Grid::new(titles.map(String::from));
    grid.rows.extend(shown.iter().map(|result| work_row(result)));
    let heading = "what the schedulers did".to_string();
    Block { heading, grid: grid.without_empty(), notes: Vec::new() }
}

fn work_row(result: &PolicyResult) -> Vec<Cell> {
    let cells = [
        result.policy.clone(),
        human::range(&result.threads_lag_s, " s"),
        human::range(&result.fairness, ""),
        human::count(result.switches),
        human::count(result.migrations),
        human::number(result.pulls_per_s),
        human::share(result.idle_share),
    ];
    cells.map(Cell::plain).to_vec()
}
