//! The page of a comparison: tails, shares, lag, verdicts, and how to make it again.

use super::ccdf::{self, Tail};
use super::chart::{Size, colour};
use super::{over_time, parts};
use crate::blocks::{self, ideals, runs_of};
use crate::document::{Document, PolicyResult, ProgramResult, Verdict};
use crate::grid::{Block, Cell, Grid};
use crate::human;
use crate::measured::Measured;

const TAIL_CAPTION: &str = "A point (x, y) says how many requests took longer than x: one in a hundred at p99, one in a \
thousand at p99.9. Latency counts from the moment at which a request should have been sent. Bands are 95% confidence \
intervals. The dashed curve is the ideal: the same arrivals and services in a first-come, first-served queue that no scheduler can beat at the tail.";
const SHARE_CAPTION: &str =
    "The share of the machine's CPU time that each group received, and what was due to it.";
const LAG_CAPTION: &str = "Lag is the CPU time due to a thread minus what it received: above 0 it is behind, below ahead. The \
band spans all threads; a fair scheduler keeps it narrow and level.";

/// The body of the page.
pub fn body(document: &Document) -> String {
    let shown = document.shown();
    let mut blocks = blocks::blocks(document).into_iter();
    let mut body = opening(document);
    for (service, block) in blocks::services(&shown).into_iter().zip(blocks.by_ref()) {
        body += &tail_section(&shown, service, &block);
    }
    for block in blocks {
        body += &parts::heading(&block.heading);
        body += &panels(&shown, &block);
        body += &parts::table(&block);
    }
    body + &verdicts(document) + &seeds(document) + &making(document)
}

/// The body of the page of a measured server.
pub fn measured(measured: &Measured) -> String {
    let document = measured.as_document();
    let time = measured.service_time.as_ref();
    let steps = time.map_or(&[][..], |time| &time.steps).iter();
    let steps = steps.map(|(n, rate)| format!("{n}: {rate:.0}/s")).collect::<Vec<_>>().join(", ");
    let facts = [
        ("rearguard", measured.version.clone()),
        ("seed", measured.seed.to_string()),
        ("machine", measured.machine.clone()),
        ("generator", measured.self_check.note()),
        ("saturation by connections", steps),
    ];
    let kinds = measured
        .kind_block()
        .map_or(String::new(), |block| parts::heading("Kinds of requests") + &parts::table(&block));
    let stages = measured.stage_block().map_or(String::new(), |block| {
        parts::heading("Stages in the server's kernel") + &parts::table(&block)
    });
    format!("<h1>{}</h1>\n", super::svg::escape(&measured.target))
        + &parts::paragraph("shows", &measured.shows())
        + &measured.headlines().iter().map(|line| parts::paragraph("", line)).collect::<String>()
        + &tail_section(&document.shown(), &measured.service.name, &measured.block())
        + &kinds
        + &stages
        + &parts::heading("How this was made")
        + &parts::verbatim("command", &human::command(&measured.command))
        + &parts::facts(&facts)
}

fn opening(document: &Document) -> String {
    let policies: Vec<&str> = document.shown().iter().map(|r| r.policy.as_str()).collect();
    let facts = format!(
        "{} arm · {} · seeds {} · policies {}",
        document.arm,
        document.machine.description,
        human::list(&document.seeds),
        policies.join(", ")
    );
    format!("<h1>{}</h1>\n", super::svg::escape(&document.scenario))
        + &parts::paragraph("shows", &document.shows)
        + &parts::paragraph("facts", &facts)
}

fn tail_section(shown: &[&PolicyResult], service: &str, block: &Block) -> String {
    let runs = runs_of(shown, service);
    let tails = tails(&runs);
    let words = format!("Tail latency of {service} under each policy and the ideal");
    let charts: String = Size::BOTH
        .into_iter()
        .filter_map(|size| ccdf::frame(&tails, size))
        .map(|frame| frame.drawing(&words, &ccdf::body(&tails, &frame)))
        .collect();
    let mut section = parts::heading(&block.heading) + &parts::paragraph("", &in_short(&runs));
    if !charts.is_empty() {
        section += &parts::key(&key(&runs));
        section += &parts::figure(&charts, TAIL_CAPTION);
    }
    section + &parts::table(block)
}

/// The curves of one service: the policies in their colours, and the ideal, or each policy's own where they
/// differ.
pub fn tails<'a>(runs: &[(&str, &'a ProgramResult)]) -> Vec<Tail<'a>> {
    let ideal = |(name, program): (String, &'a ProgramResult)| Tail {
        name,
        class: "ideal".to_string(),
        points: &program.ideal_ccdf,
    };
    let policy = |(at, (name, program)): (usize, &(&str, &'a ProgramResult))| Tail {
        name: name.to_string(),
        class: colour(at),
        points: &program.ccdf,
    };
    let policies = runs.iter().enumerate().map(policy);
    policies.chain(ideals(runs).into_iter().map(ideal)).filter(|t| !t.points.is_empty()).collect()
}

fn key(runs: &[(&str, &ProgramResult)]) -> Vec<(String, String, String)> {
    let remark = |latency: Option<crate::document::Latency>| {
        let p99_9 = latency.map(|latency| latency.p99_9).unwrap_or_default();
        format!("p99.9 {}", human::latency(&p99_9).0)
    };
    let policies = runs
        .iter()
        .enumerate()
        .map(|(at, (name, program))| (colour(at), name.to_string(), remark(program.latency_ns)));
    let ideals = ideals(runs)
        .into_iter()
        .map(|(label, program)| ("ideal".to_string(), label, remark(program.ideal_ns)));
    policies.chain(ideals).collect()
}

/// The policy closest to the ideal and the one furthest from it.
fn in_short(runs: &[(&str, &ProgramResult)]) -> String {
    let mut by_excess: Vec<(f64, &str)> = runs
        .iter()
        .filter_map(|(policy, program)| Some((program.excess_p99_9?, *policy)))
        .collect();
    by_excess.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(best), Some(worst)) = (by_excess.first(), by_excess.last()) else {
        return String::new();
    };
    let times = |excess: f64| format!("{excess:.2} times the ideal p99.9");
    let with = |edge: f64| -> Vec<&str> {
        let at_edge = by_excess.iter().filter(|(excess, _)| times(*excess) == times(edge));
        at_edge.map(|(_, policy)| *policy).collect()
    };
    let closest = with(best.0);
    if closest.len() == by_excess.len() {
        return format!("{} with {}.", closest.join(", "), times(best.0));
    }
    format!(
        "Closest to the ideal: {} with {}. Furthest from it: {} with {}.",
        closest.join(", "),
        times(best.0),
        with(worst.0).join(", "),
        times(worst.0)
    )
}

fn panels(shown: &[&PolicyResult], block: &Block) -> String {
    let of_shares = block.heading == blocks::SHARES;
    let panels = if of_shares { over_time::shares(shown) } else { over_time::lag(shown) };
    if panels.is_empty() {
        return panels;
    }
    let panels = format!("<div class=\"panels\">\n{panels}</div>\n");
    if !of_shares {
        return parts::figure(&panels, LAG_CAPTION);
    }
    let policies = shown.iter().enumerate();
    let key = policies.map(|(at, result)| (colour(at), result.policy.clone(), String::new()));
    parts::key(&key.collect::<Vec<_>>()) + &parts::figure(&panels, SHARE_CAPTION)
}

fn verdicts(document: &Document) -> String {
    if document.verdicts.is_empty() {
        return String::new();
    }
    let titles = ["policy", "against", "program", "metric", "ratio", "answer"].map(String::from);
    let mut grid = Grid::new(titles);
    grid.rows = document.verdicts.iter().map(verdict_row).collect();
    let block = Block { grid: grid.without_empty(), ..Block::default() };
    let words = "An answer is given only where the whole 95% interval of the ratio lies on one side of 1. A policy against \
itself is the A/A pair: the same runs made twice, where any other answer than \"cannot tell\" would be the method's own fault.";
    parts::heading("Verdicts") + &parts::paragraph("", words) + &parts::table(&block)
}

fn verdict_row(verdict: &Verdict) -> Vec<Cell> {
    let ratio = Cell::estimate(human::ratio(&verdict.ratio));
    let against = if verdict.a == verdict.b { "itself (A/A)" } else { &verdict.b };
    vec![
        Cell::plain(&verdict.a),
        Cell::plain(against),
        Cell::plain(verdict.program.as_deref().unwrap_or(human::UNKNOWN)),
        Cell::plain(blocks::metric_name(&verdict.metric)),
        ratio,
        Cell::plain(verdict.answer.word()).tone(blocks::verdict_cell(verdict).tone),
    ]
}

/// Runs of single seeds, where the document has them beside pooled ones.
fn seeds(document: &Document) -> String {
    let single: Vec<&PolicyResult> =
        document.results.iter().filter(|result| result.seed.is_some()).collect();
    if single.is_empty() || single.len() == document.results.len() {
        return String::new();
    }
    let titles = ["policy", "seed", "program", "p50", "p99", "p99.9", "x ideal"].map(String::from);
    let mut grid = Grid::new(titles);
    for result in single {
        let services = result.programs.iter().filter(|program| program.latency_ns.is_some());
        grid.rows.extend(services.map(|program| seed_row(result, program)));
    }
    let block = Block { grid, ..Block::default() };
    format!("<details>\n<summary>Each seed</summary>\n{}</details>\n", parts::table(&block))
}

fn seed_row(result: &PolicyResult, program: &ProgramResult) -> Vec<Cell> {
    let latency = program.latency_ns.unwrap_or_default();
    let mut row = vec![
        Cell::plain(&result.policy),
        Cell::plain(result.seed.map_or(human::UNKNOWN.into(), |seed| seed.to_string())),
        Cell::plain(&program.name),
    ];
    let quantiles = [latency.p50, latency.p99, latency.p99_9];
    row.extend(quantiles.iter().map(|q| Cell::estimate(human::latency(q))));
    row.push(Cell::plain(human::number(program.excess_p99_9)));
    row
}

fn making(document: &Document) -> String {
    let machine = &document.machine;
    let topology = format!(
        "{} CPUs, {} to a core, last-level caches {}, NUMA nodes {}",
        machine.cpus, machine.smt, machine.llcs, machine.nodes
    );
    let kernels = document
        .shown()
        .into_iter()
        .filter_map(|result| Some(format!("{} on {}", result.policy, result.kernel.as_deref()?)));
    let facts = [
        ("rearguard", document.version.clone()),
        ("seeds", human::list(&document.seeds)),
        ("machine", machine.description.clone()),
        ("scenario's machine", topology),
        ("kernels", kernels.collect::<Vec<_>>().join("; ")),
        ("discarded and repeated", document.discarded.join("; ")),
        ("shared CPUs", document.others().unwrap_or_default()),
    ];
    parts::heading("How this was made")
        + &parts::verbatim("command", &human::command(&document.command))
        + &parts::facts(&facts)
        + "<p class=\"quiet\">The scenario:</p>\n"
        + &parts::verbatim("scenario", &document.scenario_text)
}
