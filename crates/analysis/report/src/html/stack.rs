//! Stacked bars: where the time of requests went, by source.

use super::axis::{Domain, latency_ticks};
use super::chart::{Frame, Size};
use super::svg::{Point, escape, stroke, text};
use crate::explain::{ExplainedService, Split};
use crate::human;

/// Single requests below the two means.
const SINGLE: usize = 12;
const BAR: f64 = 18.0;
const PITCH: f64 = 26.0;

/// The classes of the parts' colours, in the order of [`Split::parts`].
const TINTS: [&str; 17] = [
    "c0", "c7", "c1", "c5", "c4", "c2", "c6", "c3", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7",
    "other",
];

/// The key: every part that any bar has.
pub fn key(service: &ExplainedService) -> Vec<(String, String, String)> {
    let parts = service.slow_ns.parts().into_iter().zip(service.mean_ns.parts()).zip(TINTS);
    let shown = parts.filter(|(((_, slow), (_, all)), _)| *slow > 0.0 || *all > 0.0);
    shown
        .map(|(((name, slow), _), tint)| {
            (tint.to_string(), name.to_string(), human::span(slow.max(0.0)))
        })
        .collect()
}

/// The bars, for both sizes of page.
pub fn drawings(service: &ExplainedService) -> String {
    Size::BOTH.into_iter().map(|size| drawing(service, size)).collect()
}

fn drawing(service: &ExplainedService, size: Size) -> String {
    let mut bars = vec![
        ("all".to_string(), service.mean_ns),
        (format!("slowest {}", service.slow_requests), service.slow_ns),
    ];
    let single = service.slow.iter().take(SINGLE);
    bars.extend(single.map(|slow| (format!("#{}", slow.request), slow.split_ns)));
    let longest = bars.iter().map(|(_, split)| split.latency.max(split.ideal.unwrap_or(0.0)));
    let left = size.left + 30.0;
    let height = size.top + PITCH * bars.len() as f64 + 52.0;
    let size = Size { left, height, ..size };
    let x = Domain::linear(longest.chain([0.0]));
    let frame = Frame { size, x, y: Domain::tight([0.0, bars.len() as f64].into_iter()) };
    let ticks = latency_ticks(&frame.x, frame.size.ticks());
    let mut body = frame.grid(("latency", &ticks), ("", &[]));
    for (row, (name, split)) in bars.iter().enumerate() {
        let top = size.top + 4.0 + PITCH * row as f64;
        body += &text(Point { x: left - 8.0, y: top + 13.0 }, "end", name);
        body += &bar(&frame, split, top);
    }
    frame.drawing("Stacked parts of latency by source", &body)
}

fn bar(frame: &Frame, split: &Split, top: f64) -> String {
    let mut drawn = String::new();
    let mut from = 0.0;
    for ((name, ns), tint) in split.parts().into_iter().zip(TINTS).filter(|((_, ns), _)| *ns > 0.0)
    {
        let (left, right) = (frame.point(from, 0.0).x, frame.point(from + ns, 0.0).x);
        let title = escape(&format!("{name}: {}", human::span(ns)));
        drawn += &piece((left, right), top, BAR, tint, &title);
        from += ns;
    }
    let Some(ideal) = split.ideal else { return drawn };
    let x = frame.point(ideal, 0.0).x;
    drawn + &stroke(Point { x, y: top - 2.0 }, Point { x, y: top + BAR + 2.0 }, "due")
}

/// A filled piece of a bar; `title` is escaped already.
pub fn piece((left, right): (f64, f64), top: f64, height: f64, tint: &str, title: &str) -> String {
    let width = (right - left).max(0.5);
    format!(
        "<rect class=\"fill {tint}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height}\"><title>{title}</title></rect>"
    )
}
