//! The page of ideal queues: one figure, its figures in a table.

use super::ccdf::{self, Tail};
use super::chart::{Size, colour};
use super::parts;
use crate::curves;
use crate::figure::{Curve, Figure};
use crate::human;

/// The body of the page.
pub fn body(figure: &Figure) -> String {
    let tails = tails(figure);
    let charts: String = Size::BOTH
        .into_iter()
        .filter_map(|size| ccdf::frame(&tails, size))
        .map(|frame| frame.drawing(&figure.title, &ccdf::body(&tails, &frame)))
        .collect();
    let key: Vec<_> = figure.curves.iter().enumerate().map(key_entry).collect();
    let facts = [
        ("rearguard", figure.version.clone()),
        ("seed", figure.seed.map_or(String::new(), |seed| seed.to_string())),
    ];
    format!("<h1>{}</h1>\n", super::svg::escape(&figure.title))
        + &parts::paragraph("shows", &figure.caption)
        + &parts::key(&key)
        + &parts::figure(&charts, CAPTION)
        + &parts::table(&curves::block(figure))
        + &parts::heading("How this was made")
        + &parts::verbatim("command", &human::command(&figure.command))
        + &parts::facts(&facts)
}

const CAPTION: &str = "A point (x, y) says how many requests took longer than x: one in a hundred at p99, one in a \
thousand at p99.9. Below each simulated figure stand its 95% interval and, where there is a closed form, the exact value.";

/// The curves of a figure in their colours.
pub fn tails(figure: &Figure) -> Vec<Tail<'_>> {
    let mut tails = Vec::new();
    for (at, curve) in figure.curves.iter().enumerate().filter(|(_, curve)| !curve.ccdf.is_empty())
    {
        tails.push(Tail { name: curve.name.clone(), class: colour(at), points: &curve.ccdf });
    }
    tails
}

fn key_entry((at, curve): (usize, &Curve)) -> (String, String, String) {
    let p99_9 = human::latency(&curve.latency_ns.p99_9).0;
    (colour(at), curve.name.clone(), format!("p99.9 {p99_9}"))
}
