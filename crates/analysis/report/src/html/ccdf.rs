//! The tail chart: how many requests are slower than x, on a logarithmic axis labelled by percentile (as
//! Tales figure 1).

use super::axis::{Domain, Spacing, Tick, latency_ticks};
use super::chart::{Frame, Size};
use super::labels::{bundles, places};
use super::svg::{Point, escape, line, text, thinned};
use crate::document::CcdfPoint;
use crate::human;

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail<'a> {
    /// Its name.
    pub name: String,
    /// Its class in the style: a colour, or `ideal`.
    pub class: String,
    /// Latencies rise, proportions fall.
    pub points: &'a [CcdfPoint],
}

/// Rarer than this is not drawn.
const RAREST: f64 = 1e-7;
/// The chart reaches at least this far down.
const COMMONEST: f64 = 0.01;
/// The latency axis is logarithmic where the longest tail reaches this many times as far as the shortest.
const LOG_FROM: f64 = 6.0;

/// The frame that holds all curves; `None` where there is nothing to draw.
pub fn frame(tails: &[Tail], size: Size) -> Option<Frame> {
    let starts = tails.iter().filter_map(|tail| Some(tail.points.first()?.latency_ns as f64));
    let min = starts.fold(f64::INFINITY, f64::min).max(1.0);
    let drawn = tails.iter().flat_map(|tail| visible(tail.points));
    let rarest = drawn.map(|point| point.proportion).fold(COMMONEST, f64::min);
    let ends: Vec<f64> = tails.iter().filter_map(|tail| end(tail.points)).collect();
    let max = ends.iter().copied().fold(0.0, f64::max);
    let shortest = ends.iter().copied().fold(f64::INFINITY, f64::min);
    if ends.is_empty() || max <= 0.0 {
        return None;
    }
    let x = if max > LOG_FROM * shortest {
        Domain { spacing: Spacing::Log, min: 0.8 * min, max: 1.2 * max }
    } else {
        Domain { spacing: Spacing::Linear, min: 0.0, max: 1.08 * max }
    };
    let y = Domain { spacing: Spacing::Log, min: 0.8 * rarest, max: 1.0 };
    Some(Frame { size, x, y })
}

/// Grid, bands, curves and names; on top, strips that answer a pointer with the latencies of one percentile.
pub fn body(tails: &[Tail], frame: &Frame) -> String {
    let ticks = latency_ticks(&frame.x, frame.size.ticks());
    let latency = if frame.x.spacing == Spacing::Log { "latency (log scale)" } else { "latency" };
    let mut drawn = frame.grid(
        (latency, &ticks),
        ("percentile (log scale of the requests above)", &percentiles(frame.y.min)),
    );
    let curves: Vec<Vec<Point>> = tails.iter().map(|tail| curve(tail.points, frame)).collect();
    for tail in tails.iter().filter(|tail| tail.class != "ideal") {
        drawn += &band(tail, frame);
    }
    for (tail, points) in tails.iter().zip(&curves) {
        drawn += &format!(
            "<path class=\"curve {}\" data-name=\"{}\" d=\"{}\"/>",
            tail.class,
            escape(&tail.name),
            line(points)
        );
    }
    drawn + &names(tails, &curves, frame) + &strips(tails, frame)
}

/// Names beside the curves; curves that lie on each other share a place, and then no colour is the right one.
fn names(tails: &[Tail], curves: &[Vec<Point>], frame: &Frame) -> String {
    // Clear of the axis, which a name's halo would cut.
    let (left, top, right, bottom) = frame.edges();
    let bundles = bundles(curves);
    let name = |bundle: &Vec<usize>| {
        let names: Vec<&str> = bundle.iter().map(|at| tails[*at].name.as_str()).collect();
        (names.join(", "), curves[bundle[0]].as_slice())
    };
    let named: Vec<(String, &[Point])> = bundles.iter().map(name).collect();
    let places = places(&named, (left, top, right, bottom - 4.0));
    let mut drawn = String::new();
    for ((bundle, (name, _)), place) in bundles.iter().zip(&named).zip(places) {
        let class = if bundle.len() == 1 { &tails[bundle[0]].class } else { "ideal" };
        drawn += &place.map_or(String::new(), |at| text(at, &format!("label {class}"), name));
    }
    drawn
}

/// Where a curve ends; one that is all cliff ends where it starts.
fn end(points: &[CcdfPoint]) -> Option<f64> {
    visible(points).last().or(points.first()).map(|point| point.latency_ns as f64)
}

fn visible(points: &[CcdfPoint]) -> impl Iterator<Item = &CcdfPoint> {
    points.iter().filter(|point| point.proportion >= RAREST)
}

fn curve(points: &[CcdfPoint], frame: &Frame) -> Vec<Point> {
    let Some(first) = points.first() else { return Vec::new() };
    let start = frame.point(first.latency_ns as f64, 1.0);
    let rest = visible(points).map(|point| frame.point(point.latency_ns as f64, point.proportion));
    // Requests that are all equally fast have no tail to draw: theirs is a cliff.
    let cliff = visible(points).next().is_none();
    let foot = cliff.then(|| frame.point(first.latency_ns as f64, frame.y.min));
    thinned(std::iter::once(start).chain(rest).chain(foot))
}

fn band(tail: &Tail, frame: &Frame) -> String {
    let bounded: Vec<(f64, f64, f64)> = visible(tail.points)
        .filter_map(|point| Some((point.latency_ns as f64, point.low?, point.high?)))
        .collect();
    if bounded.is_empty() {
        return String::new();
    }
    let floor = frame.y.min;
    let lower = bounded.iter().map(|(x, low, _)| frame.point(*x, low.max(floor)));
    let upper = bounded.iter().rev().map(|(x, _, high)| frame.point(*x, high.max(floor)));
    let outline = thinned(lower.chain(upper));
    format!("<path class=\"band {}\" d=\"{}Z\"/>", tail.class, line(&outline))
}

fn percentiles(rarest: f64) -> Vec<Tick> {
    let decades = (0..=7).map(|k| 10f64.powi(-k)).filter(|level| *level >= 0.999 * rarest);
    decades.map(|level| Tick { value: level, label: percentile(level) }).collect()
}

/// `p0`, `p90`, `p99`, `p99.9` ... for the proportion above it.
fn percentile(above: f64) -> String {
    format!("p{}", super::axis::short(100.0 * (1.0 - above)))
}

fn strips(tails: &[Tail], frame: &Frame) -> String {
    let (left, _, right, _) = frame.edges();
    let levels = (1..=7).flat_map(|k| [5.0, 2.0, 1.0].map(|digit| digit * 10f64.powi(-k)));
    let levels = levels.filter(|level| *level >= frame.y.min);
    let strip = |level: f64| {
        let middle = frame.point(frame.x.min, level).y;
        let words: Vec<String> = tails.iter().filter_map(|tail| reading(tail, level)).collect();
        format!(
            "<rect class=\"strip\" x=\"{left}\" y=\"{:.1}\" width=\"{}\" height=\"20\"><title>{}\n{}</title></rect>",
            middle - 10.0,
            right - left,
            percentile(level),
            escape(&words.join("\n"))
        )
    };
    levels.map(strip).collect()
}

fn reading(tail: &Tail, level: f64) -> Option<String> {
    let at = tail.points.iter().find(|point| point.proportion <= level * 1.000_001)?;
    Some(format!("{}: {}", tail.name, human::span(at.latency_ns as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(points: &[CcdfPoint]) -> Vec<Point> {
        let tail = Tail { name: "one".into(), class: "c0".into(), points };
        let frame = frame(&[tail], Size::WIDE).expect("a frame");
        curve(points, &frame)
    }

    #[test]
    fn equal_requests_are_a_cliff_and_others_end_where_the_data_do() {
        let point =
            |latency_ns, proportion| CcdfPoint { latency_ns, proportion, ..CcdfPoint::default() };
        let (top, bottom) = (Size::WIDE.top, Size::WIDE.height - 44.0);
        let cliff = drawn(&[point(50_000, 0.0)]);
        assert_eq!(cliff.len(), 2);
        assert!(cliff[0].x == cliff[1].x && cliff[0].y == top && cliff[1].y == bottom, "{cliff:?}");
        let tail = drawn(&[point(50_000, 0.5), point(60_000, 0.001), point(70_000, 0.0)]);
        assert!(tail.last().expect("points").y < bottom - 5.0, "{tail:?}");
    }

    #[test]
    fn percentiles_have_their_names() {
        assert_eq!(
            [1.0, 0.5, 0.1, 0.01, 1e-3, 2e-4, 1e-5].map(percentile),
            ["p0", "p50", "p90", "p99", "p99.9", "p99.98", "p99.999"]
        );
    }
}
