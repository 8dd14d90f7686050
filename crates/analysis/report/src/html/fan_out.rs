//! The page of a service's outliers.

use super::chart::colour;
use super::{parts, series};
use crate::fan_out::{FanOut, block, title};
use crate::human;
use crate::paper::SeriesChart;

/// The body of the page.
pub fn body(document: &FanOut) -> String {
    let charts: String = document.charts.iter().map(chart).collect();
    format!("<h1>{}</h1>\n", super::svg::escape(&title(document)))
        + &parts::table(&block(document))
        + &charts
        + &parts::heading("How this was made")
        + &parts::verbatim("command", &human::command(&document.command))
        + &parts::facts(&[("rearguard", document.version.clone())])
}

/// A chart with its key.
pub fn chart(chart: &SeriesChart) -> String {
    let names = chart.series.iter().enumerate();
    let key: Vec<_> =
        names.map(|(at, one)| (colour(at), one.name.clone(), String::new())).collect();
    let words = format!("{} by {}", chart.y, chart.x);
    parts::key(&key) + &parts::figure(&series::drawings(chart, &words), &words)
}
