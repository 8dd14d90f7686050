//! One self-contained page: it opens without a network, needs no script, and prints.

mod axis;
mod capacity;
mod ccdf;
mod chart;
mod cluster;
mod comparison;
mod explain;
mod fan_out;
mod figure;
mod labels;
mod over_time;
mod paper;
mod parts;
mod picture;
mod series;
mod stack;
mod svg;
mod timeline;

use crate::capacity::CapacityRun;
use crate::cluster::ClusterRun;
use crate::difference::Difference;
use crate::document::Document;
use crate::explain::Explained;
use crate::fan_out::FanOut;
use crate::figure::Figure;
use crate::grid::Block;
use crate::measured::Measured;
use crate::overhead::Overhead;
use crate::paper::PaperFigure;
use crate::proof::Proof;
use crate::stages::StagesDocument;
use crate::whatif::WhatIf;

/// A comparison as an HTML page.
pub fn html(document: &Document) -> String {
    let title = format!("{} on {} - rearguard", document.scenario, document.arm);
    parts::page(&title, &comparison::body(document))
}

/// A measured server as an HTML page.
pub fn measure_html(measured: &Measured) -> String {
    parts::page(&format!("{} - rearguard", measured.target), &comparison::measured(measured))
}

/// The tail chart of a measured server as an SVG file with a ground of its own; `None` without a curve.
pub fn measure_picture(measured: &Measured) -> Option<String> {
    picture::of_comparison(&measured.as_document())
}

/// Ideal queues as an HTML page.
pub fn figure_html(figure: &Figure) -> String {
    parts::page(&format!("{} - rearguard", figure.title), &self::figure::body(figure))
}

/// The tail chart of a comparison's first service as an SVG file with a ground of its own; `None` without a
/// curve.
pub fn picture(document: &Document) -> Option<String> {
    picture::of_comparison(document)
}

/// The chart of ideal queues as an SVG file with a ground of its own; `None` without a curve.
pub fn figure_picture(figure: &Figure) -> Option<String> {
    picture::of_figure(figure)
}

/// Figures of papers, one below the other, as an HTML page.
pub fn paper_html(figures: &[PaperFigure]) -> String {
    let title = match figures {
        [one] => format!("{} {} - rearguard", one.paper, one.figure),
        _ => "The papers' figures - rearguard".to_string(),
    };
    parts::page(&title, &figures.iter().map(self::paper::body).collect::<String>())
}

/// The chart of a paper's figure as an SVG file with a ground of its own; `None` where it draws nothing.
pub fn paper_picture(figure: &PaperFigure) -> Option<String> {
    series::alone(figure.chart.as_ref()?, &figure.title)
}

/// A service's outliers as an HTML page.
pub fn fan_out_html(document: &FanOut) -> String {
    parts::page("Fan-out - rearguard", &self::fan_out::body(document))
}

/// The first chart of a service's outliers as an SVG file with a ground of its own; `None` without one.
pub fn fan_out_picture(document: &FanOut) -> Option<String> {
    series::alone(document.charts.first()?, &crate::fan_out::title(document))
}

/// What policies carry as an HTML page.
pub fn capacity_html(run: &CapacityRun) -> String {
    parts::page(&format!("{} - rearguard", run.title()), &self::capacity::body(run))
}

/// The proportion of slow requests over the load as an SVG file with a ground of its own; `None` without one.
pub fn capacity_picture(run: &CapacityRun) -> Option<String> {
    series::alone(&run.charts()[0], &run.title())
}

/// An explanation as an HTML page.
pub fn explained_html(explained: &Explained) -> String {
    parts::page(&format!("{} - rearguard", explained.title()), &self::explain::body(explained))
}

/// A cluster as an HTML page.
pub fn cluster_html(run: &ClusterRun) -> String {
    parts::page(&format!("{} - rearguard", run.cluster), &self::cluster::body(run))
}

/// A cluster's chart as an SVG file with a ground of its own; `None` without one.
pub fn cluster_picture(run: &ClusterRun) -> Option<String> {
    match crate::cluster::by_load(run) {
        Some(chart) => series::alone(&chart, &crate::cluster::heading(run)),
        None => picture::of_tails(
            &self::cluster::curves(run),
            &crate::cluster::heading(run),
            &run.shows,
        ),
    }
}

/// Two results held against each other as an HTML page.
pub fn difference_html(difference: &Difference) -> String {
    let Difference { command, version, .. } = difference;
    let facts = [("rearguard", version.clone())];
    let (title, blocks) = (difference.title(), difference.blocks());
    answered(&title, &difference.sentences(), &blocks, command, &facts)
}

/// A foretelling as an HTML page.
pub fn what_if_html(document: &WhatIf) -> String {
    let WhatIf { command, version, machine, .. } = document;
    let facts = [("rearguard", version.clone()), ("machine", machine.clone())];
    let (title, blocks) = (document.title(), document.blocks());
    answered(&title, &document.sentences(), &blocks, command, &facts)
}

/// Schedulers on a user's own machine as an HTML page.
pub fn proof_html(proof: &Proof) -> String {
    answered(&proof.title(), &proof.sentences(), &proof.blocks(), &proof.command, &[])
}

/// A page of answers, each a sentence, and the tables behind them.
fn answered(
    title: &str,
    sentences: &[String],
    blocks: &[Block],
    command: &[String],
    facts: &[(&str, String)],
) -> String {
    let table = |block: &Block| parts::heading(&block.heading) + &parts::table(block);
    let body = format!("<h1>{}</h1>\n", svg::escape(title))
        + &sentences.iter().map(|words| parts::paragraph("", words)).collect::<String>()
        + &blocks.iter().map(table).collect::<String>()
        + &parts::heading("How this was made")
        + &parts::verbatim("command", &crate::human::command(command))
        + &parts::facts(facts);
    parts::page(&format!("{title} - rearguard"), &body)
}

/// Stages as an HTML page.
pub fn stages_html(document: &StagesDocument) -> String {
    let StagesDocument { version, kernel, command, .. } = document;
    table_page("Stages", &document.block(), (version, kernel.as_deref()), command)
}

/// What watching costs as an HTML page.
pub fn overhead_html(document: &Overhead) -> String {
    let Overhead { version, kernel, command, .. } = document;
    table_page("Overhead", &document.block(), (version, kernel.as_deref()), command)
}

fn table_page(
    title: &str,
    block: &Block,
    (version, kernel): (&str, Option<&str>),
    command: &[String],
) -> String {
    let facts =
        [("rearguard", version.to_string()), ("kernel", kernel.unwrap_or_default().to_string())];
    let body = format!("<h1>{}</h1>\n", svg::escape(&block.heading))
        + &parts::table(block)
        + &parts::heading("How this was made")
        + &parts::verbatim("command", &crate::human::command(command))
        + &parts::facts(&facts);
    parts::page(&format!("{title} - rearguard"), &body)
}
