//! The page of a cluster.

use super::ccdf::{self, Tail};
use super::chart::{COLOURS, Size, colour};
use super::{fan_out, parts};
use crate::cluster::{ClusterRun, block, by_load, heading};
use crate::human;

const CAPTION: &str = "A point (x, y) says how many requests took longer than x: one in a hundred at p99, one in a thousand at p99.9.";

/// The body of the page: with several loads p99 by load, else the tails.
pub fn body(run: &ClusterRun) -> String {
    let chart = by_load(run).map_or_else(|| tails(run), |chart| fan_out::chart(&chart));
    format!("<h1>{}</h1>\n", super::svg::escape(&heading(run)))
        + &parts::paragraph("shows", &run.shows)
        + &chart
        + &parts::table(&block(run))
        + &parts::heading("How this was made")
        + &parts::verbatim("command", &human::command(&run.command))
        + &parts::facts(&[("rearguard", run.version.clone()), ("seed", run.seed.to_string())])
        + "<p class=\"quiet\">The cluster:</p>\n"
        + &parts::verbatim("scenario", &run.cluster_text)
}

/// The tails of the cases, as many as there are colours.
pub fn curves(run: &ClusterRun) -> Vec<Tail<'_>> {
    let mut curves = Vec::new();
    let drawn = run.cases.iter().filter(|case| !case.ccdf.is_empty()).take(COLOURS);
    for (at, case) in drawn.enumerate() {
        curves.push(Tail { name: case.name.clone(), class: colour(at), points: &case.ccdf });
    }
    curves
}

fn tails(run: &ClusterRun) -> String {
    let tails = curves(run);
    let charts: String = Size::BOTH
        .into_iter()
        .filter_map(|size| ccdf::frame(&tails, size))
        .map(|frame| frame.drawing(&heading(run), &ccdf::body(&tails, &frame)))
        .collect();
    let key: Vec<_> =
        tails.iter().map(|tail| (tail.class.clone(), tail.name.clone(), String::new())).collect();
    parts::key(&key) + &parts::figure(&charts, CAPTION)
}
