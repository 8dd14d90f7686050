//! Names beside their curves, where they cover no curve and no other name.

use super::svg::Point;

/// Width of a letter of the charts' labels in the widest of the usual fonts; no font is known yet when names
/// are placed.
pub const LETTER: f64 = 8.0;
const HEIGHT: f64 = 14.0;
/// Curves never further apart than this are one to the eye.
const NEAR: f64 = 5.0;
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

    fn inside(&self, (left, top, right, bottom): (f64, f64, f64, f64)) -> bool {
        self.left >= left && self.right <= right && self.top >= top && self.bottom <= bottom
    }

    fn overlaps(&self, other: &Rect) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// A place for each curve's name inside the edges (left, top, right, bottom), `None` where there is none.
///
/// Every piece of a curve is tried, with the name right and left of it. A name covers no curve and no other
/// name, and no other curve is as near to it as its own. Of such places the lowest is taken, right before
/// left: tails are where curves part.
pub fn places(curves: &[(String, &[Point])], edges: (f64, f64, f64, f64)) -> Vec<Option<Point>> {
    let ink: Vec<Vec<Point>> = curves.iter().map(|(_, points)| dense(points)).collect();
    let mut taken: Vec<Rect> = Vec::new();
    let mut places = Vec::new();
    for (at, (name, _)) in curves.iter().enumerate() {
        let width = name.chars().count() as f64 * LETTER;
        let free = |(anchor, rect): &(Point, Rect)| {
            rect.inside(edges)
                && !taken.iter().any(|other| rect.overlaps(other))
                && !ink.iter().flatten().any(|point| rect.holds(point))
                && !rivals(&ink, at).any(|point| anchor.distance(point) < GAP + 1.0)
        };
        let lowest = ink[at].iter().flat_map(|point| beside(*point, width)).filter(free);
        let best = lowest.max_by(|a, b| a.1.bottom.total_cmp(&b.1.bottom)).map(|(_, rect)| rect);
        taken.extend(best);
        places.push(best.map(|rect| Point { x: rect.left, y: rect.bottom - 3.0 }));
    }
    places
}

/// Curves that lie on each other, by index: each bundle in order, and the bundles in the order of their
/// first.
pub fn bundles(curves: &[Vec<Point>]) -> Vec<Vec<usize>> {
    let ink: Vec<Vec<Point>> = curves.iter().map(|points| dense(points)).collect();
    let near = |point: &Point, other: &[Point]| other.iter().any(|at| at.distance(point) < NEAR);
    let covers = |a: usize, b: usize| curves[b].iter().all(|point| near(point, &ink[a]));
    let mut bundles: Vec<Vec<usize>> = Vec::new();
    for at in 0..curves.len() {
        match bundles.iter_mut().find(|bundle| covers(bundle[0], at) && covers(at, bundle[0])) {
            Some(bundle) => bundle.push(at),
            None => bundles.push(vec![at]),
        }
    }
    bundles
}

/// The two rectangles for a name beside a point of its curve, each with the middle of its edge that faces the
/// curve.
fn beside(point: Point, width: f64) -> [(Point, Rect); 2] {
    let (top, bottom) = (point.y - HEIGHT / 2.0, point.y + HEIGHT / 2.0);
    [(-GAP - width, -GAP), (GAP, GAP)].map(|(shift, anchor)| {
        let left = point.x + shift;
        let anchor = Point { x: point.x + anchor, y: point.y };
        (anchor, Rect { left, top, right: left + width, bottom })
    })
}

fn rivals(ink: &[Vec<Point>], own: usize) -> impl Iterator<Item = &Point> {
    ink.iter().enumerate().filter(move |(at, _)| *at != own).flat_map(|(_, points)| points)
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

    const EDGES: (f64, f64, f64, f64) = (0.0, 0.0, 400.0, 300.0);

    #[test]
    fn names_stay_apart_and_off_the_curves() {
        let curves = [falling(50.0), falling(90.0), falling(200.0)];
        let named = ["one", "two", "three"]
            .map(String::from)
            .into_iter()
            .zip(curves.iter().map(Vec::as_slice));
        let places: Vec<Point> =
            places(&named.collect::<Vec<_>>(), EDGES).into_iter().flatten().collect();
        assert_eq!(places.len(), 3);
        for (k, place) in places.iter().enumerate() {
            let apart = |other: &Point| {
                (place.y - other.y).abs() >= HEIGHT || (place.x - other.x).abs() >= 3.0 * LETTER
            };
            assert!(places[..k].iter().all(apart), "{places:?}");
            assert!(place.x >= 0.0 && place.x + 5.0 * LETTER <= 400.0, "{place:?}");
        }
    }

    #[test]
    fn a_curve_between_two_near_ones_has_no_name() {
        let curves = [falling(92.0), falling(100.0), falling(108.0)];
        assert_eq!(bundles(&curves), [[0], [1], [2]]);
        let named = curves.iter().map(|curve| ("name".to_string(), curve.as_slice()));
        let places = places(&named.collect::<Vec<_>>(), EDGES);
        assert!(places[0].is_some() && places[1].is_none() && places[2].is_some(), "{places:?}");
    }

    #[test]
    fn curves_that_coincide_are_one_bundle_unless_one_goes_on_alone() {
        let short: Vec<Point> = falling(100.0).into_iter().take(50).collect();
        let curves = [falling(100.0), falling(300.0), falling(101.0), short];
        assert_eq!(bundles(&curves), [vec![0, 2], vec![1], vec![3]]);
    }

    #[test]
    fn a_curve_without_points_has_no_name() {
        assert_eq!(places(&[("none".to_string(), &[][..])], (0.0, 0.0, 9.0, 9.0)), [None]);
    }
}
