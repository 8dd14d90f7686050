//! The page of an explanation: stacked sources, findings, and a timeline for each of the slowest requests.

use super::{parts, stack, timeline};
use crate::explain::{Explained, ExplainedService, SlowRequest, beside_ideal, plain};
use crate::human;

/// Timelines on a page.
const TIMELINES: usize = 10;

const STACK_CAPTION: &str = "Where the time of a request went: the mean of all, the mean of the slowest, and the slowest one by one. Service and inherent queueing are what the load \
itself costs; everything else is excess.";
const TIMELINE_CAPTION: &str = "The holder of each CPU from the moment at which the request should have been sent until its thread was done with it. The bar above says what the request was \
at. Point at a piece for its name.";

/// The body of the page.
pub fn body(explained: &Explained) -> String {
    let facts = format!("{} arm · {}", explained.arm, explained.machine);
    let mut body = format!("<h1>{}</h1>\n", super::svg::escape(&explained.title()))
        + &parts::paragraph(
            "shows",
            "Where the time of slow requests went, the culprits, and what helps.",
        )
        + &parts::paragraph("facts", &facts);
    for service in &explained.services {
        body += &self::service(service);
    }
    let facts = [
        ("rearguard", explained.version.clone()),
        ("kernel", explained.kernel.clone().unwrap_or_default()),
    ];
    body + &parts::heading("How this was made")
        + &parts::verbatim("command", &human::command(&explained.command))
        + &parts::facts(&facts)
}

fn service(service: &ExplainedService) -> String {
    let mut blocks = service.blocks().into_iter();
    let division = blocks.next().unwrap_or_default();
    let mut section = parts::heading(&division.heading);
    section += &parts::paragraph("shows", &service.sentence());
    section += &parts::key(&stack::key(service));
    section += &parts::figure(&stack::drawings(service), STACK_CAPTION);
    section += &parts::table(&division);
    for block in blocks {
        section += &parts::heading(&block.heading);
        section += &parts::table(&block);
    }
    section += &parts::key(&timeline::key());
    let timelines = service.slow.iter().take(TIMELINES).map(one);
    section + &timelines.collect::<String>() + &parts::paragraph("note", TIMELINE_CAPTION)
}

fn one(slow: &SlowRequest) -> String {
    let words = format!(
        "request {}: {}{}{}",
        slow.request,
        human::span(slow.split_ns.latency),
        beside_ideal(slow.split_ns.ideal.map(human::span)),
        match (&slow.source, &slow.culprit) {
            (Some(source), Some(culprit)) => format!("; {}: {culprit}", plain(source)),
            _ => String::new(),
        }
    );
    parts::figure(&timeline::drawings(slow), &words)
}
