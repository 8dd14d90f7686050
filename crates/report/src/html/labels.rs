//! Names beside their curves, where they cover no curve and no other name.

use super::svg::Point;

/// A name's place: the left end of its baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Left end of the baseline.
    pub at: Point,
    /// Width of the text.
    pub width: f64,
}

/// Average width of a letter of the charts' labels; text is measured before any font is known.
const LETTER: f64 = 7.2;
const HEIGHT: f64 = 14.0;
/// Distance between a curve and its name.
const GAP: f64 = 7.0;

#[derive(Clone, Copy)]
struct Rect {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Rect {
    fn holds(&self, point: &Point) -> bool {
        self.left <= point.x
            && point.x <= self.right
            && self.top <= point.y
            && point.y <= self.bottom
    }

    fn overlaps(&self, other: &Rect) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// A place for every curve's name inside the edges (left, top, right, bottom); `None` for a curve without points.
///
/// Every point of a curve is tried, with the name right and left of it; the place that covers least wins, and among equals the
/// lowest: tails are where curves part.
pub fn places(curves: &[(&str, Vec<Point>)], edges: (f64, f64, f64, f64)) -> Vec<Option<Place>> {
    let (left, top, right, bottom) = edges;
    let plot = Rect { left, top, right, bottom };
    let ink: Vec<Point> = curves.iter().flat_map(|(_, points)| dense(points)).collect();
    let mut taken: Vec<Rect> = Vec::new();
    let mut places = Vec::new();
    for (name, points) in curves {
        let best = best(points, name.chars().count() as f64 * LETTER, &plot, &ink, &taken);
        taken.extend(best);
        places.push(best.map(|rect| Place {
            at: Point { x: rect.left, y: rect.bottom - 3.0 },
            width: rect.right - rect.left,
        }));
    }
    places
}

fn best(points: &[Point], width: f64, plot: &Rect, ink: &[Point], taken: &[Rect]) -> Option<Rect> {
    let sides =
        points.iter().flat_map(|point| [point.x + GAP, point.x - GAP - width].map(|x| (point, x)));
    let rects = sides.map(|(point, left)| Rect {
        left,
        top: point.y - HEIGHT / 2.0,
        right: left + width,
        bottom: point.y + HEIGHT / 2.0,
    });
    let cost = |rect: &Rect| {
        let covered = ink.iter().filter(|point| rect.holds(point)).count() as f64;
        let crowded = taken.iter().filter(|other| rect.overlaps(other)).count() as f64;
        let outside = rect.left < plot.left
            || rect.right > plot.right
            || rect.top < plot.top
            || rect.bottom > plot.bottom;
        let height = (plot.bottom - rect.bottom) / (plot.bottom - plot.top);
        4.0 * covered + 1e3 * crowded + 1e6 * f64::from(u8::from(outside)) + height
    };
    rects.min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

/// The curve's points and enough between them that no name slips through.
fn dense(points: &[Point]) -> Vec<Point> {
    let between = |pair: &[Point]| {
        let [from, to] = [pair[0], pair[1]];
        let steps = ((to.x - from.x).hypot(to.y - from.y) / 4.0).ceil().max(1.0);
        let part = move |step: usize| {
            let part = step as f64 / steps;
            Point { x: from.x + part * (to.x - from.x), y: from.y + part * (to.y - from.y) }
        };
        (0..steps as usize).map(part).collect::<Vec<_>>()
    };
    points.windows(2).flat_map(between).chain(points.last().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn falling(offset: f64) -> Vec<Point> {
        (0..100).map(|k| Point { x: offset + f64::from(k), y: 3.0 * f64::from(k) }).collect()
    }

    #[test]
    fn names_stay_apart_and_off_the_curves() {
        let curves = [("one", falling(50.0)), ("two", falling(52.0)), ("three", falling(120.0))];
        let edges = (0.0, 0.0, 400.0, 300.0);
        let places: Vec<Place> = places(&curves, edges).into_iter().flatten().collect();
        assert_eq!(places.len(), 3);
        for (k, place) in places.iter().enumerate() {
            let apart = |other: &Place| {
                (place.at.y - other.at.y).abs() >= HEIGHT
                    || place.at.x >= other.at.x + other.width
                    || other.at.x >= place.at.x + place.width
            };
            assert!(places[..k].iter().all(apart), "{place:?}");
            assert!(place.at.x >= 0.0 && place.at.x + place.width <= 400.0, "{place:?}");
        }
    }

    #[test]
    fn a_curve_without_points_has_no_name() {
        assert_eq!(places(&[("none", Vec::new())], (0.0, 0.0, 9.0, 9.0)), [None]);
    }
}
