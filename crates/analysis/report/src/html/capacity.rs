//! The page of what policies carry.

use super::{fan_out, parts};
use crate::capacity::CapacityRun;
use crate::human;

/// The body of the page.
pub fn body(run: &CapacityRun) -> String {
    let charts = run.charts();
    let drawn = charts.iter().filter(|chart| !chart.series.is_empty());
    format!("<h1>{}</h1>\n", super::svg::escape(&run.title()))
        + &run.sentences().iter().map(|words| parts::paragraph("", words)).collect::<String>()
        + &parts::table(&run.block())
        + &drawn.map(fan_out::chart).collect::<String>()
        + &parts::heading("How this was made")
        + &parts::verbatim("command", &human::command(&run.command))
        + &parts::facts(&facts(run))
        + &parts::verbatim("scenario", &run.scenario_text)
}

fn facts(run: &CapacityRun) -> [(&str, String); 4] {
    [
        ("rearguard", run.version.clone()),
        ("machine", run.machine.description.clone()),
        ("seeds", human::list(&run.seeds)),
        ("a run", human::round_span(run.duration_ns)),
    ]
}
