//! Charts over time: each group's share against what is due, and the lag of threads.

use super::axis::{Domain, STEPS, Tick, short};
use super::chart::{Frame, Size, colour};
use super::svg::{Point, escape, line, text, thinned};
use crate::document::{GroupResult, LagSample, PolicyResult};
use crate::human;

const PANEL: Size = Size { class: "panel", width: 400.0, height: 210.0, ..Size::WIDE };

/// One panel for each group that has samples: the share over time under every policy, and the due share
/// dashed.
pub fn shares(shown: &[&PolicyResult]) -> String {
    let names: Vec<&str> = shown.first().map_or(Vec::new(), |result| {
        result.groups.iter().map(|group| group.name.as_str()).collect()
    });
    names.into_iter().map(|name| share_panel(shown, name)).collect()
}

fn share_panel(shown: &[&PolicyResult], name: &str) -> String {
    let groups: Vec<(usize, &GroupResult)> = shown
        .iter()
        .enumerate()
        .filter_map(|(at, result)| Some((at, result.groups.iter().find(|g| g.name == name)?)))
        .collect();
    let samples = || groups.iter().flat_map(|(_, group)| &group.share_samples);
    if samples().next().is_none() {
        return String::new();
    }
    let dues = groups.iter().filter_map(|(_, group)| group.due_share);
    let shares = samples().map(|sample| sample.share).chain(dues).chain([0.0]);
    let frame = Frame {
        size: PANEL,
        x: time(samples().map(|sample| sample.at_ns)),
        y: Domain::linear(shares),
    };
    let percent = |share: f64| format!("{}%", short(100.0 * share));
    let mut body = grid(&frame, name, percent);
    for (at, group) in &groups {
        let points = group.share_samples.iter().map(|s| frame.point(s.at_ns as f64, s.share));
        body += &curve(*at, &shown[*at].policy, &thinned(points));
    }
    if let Some(share) = groups.iter().find_map(|(_, group)| group.due_share) {
        body += &due(&frame, share, &format!("due {}", human::share(Some(share))));
    }
    frame.drawing(&format!("Share of group {name} over time under each policy"), &body)
}

/// The dashed line of what is due, with its words at the right end.
fn due(frame: &Frame, value: f64, words: &str) -> String {
    let (from, to) = (frame.point(frame.x.min, value), frame.point(frame.x.max, value));
    let above = Point { x: to.x, y: to.y - 6.0 };
    format!("<path class=\"due\" d=\"{}\"/>", line(&[from, to]))
        + &text(above, "label ideal end", words)
}

/// One panel for each policy that has samples: the band between the thread furthest ahead and the one
/// furthest behind, all on the same axes.
pub fn lag(shown: &[&PolicyResult]) -> String {
    let samples = || shown.iter().flat_map(|result| &result.lag_samples);
    let lags = samples().flat_map(|sample| [sample.min_s, sample.max_s]).chain([0.0]);
    let frame = Frame {
        size: PANEL,
        x: time(samples().map(|sample| sample.at_ns)),
        y: Domain::linear(lags),
    };
    let sampled = shown.iter().enumerate().filter(|(_, result)| !result.lag_samples.is_empty());
    sampled.map(|(at, result)| lag_panel(&frame, at, result)).collect()
}

fn lag_panel(frame: &Frame, at: usize, result: &PolicyResult) -> String {
    let mut body = grid(frame, &result.policy, |lag| format!("{} s", short(lag)));
    let edge = |pick: fn(&LagSample) -> f64| -> Vec<Point> {
        thinned(result.lag_samples.iter().map(|s| frame.point(s.at_ns as f64, pick(s))))
    };
    let (low, high) = (edge(|sample| sample.min_s), edge(|sample| sample.max_s));
    let around: Vec<Point> = low.iter().chain(high.iter().rev()).copied().collect();
    body += &format!("<path class=\"band {}\" d=\"{}Z\"/>", colour(at), line(&around));
    body += &curve(at, &result.policy, &high);
    body += &curve(at, &result.policy, &low);
    body += &due(frame, 0.0, "");
    let words = format!("Least and greatest lag of a thread over time under {}", result.policy);
    frame.drawing(&words, &body)
}

fn curve(at: usize, name: &str, points: &[Point]) -> String {
    format!(
        "<path class=\"curve {}\" d=\"{}\"><title>{}</title></path>",
        colour(at),
        line(points),
        escape(name)
    )
}

fn time(moments: impl Iterator<Item = u64>) -> Domain {
    Domain::tight(moments.map(|ns| ns as f64))
}

fn grid(frame: &Frame, title: &str, words: impl Fn(f64) -> String) -> String {
    let seconds = Domain { min: frame.x.min / 1e9, max: frame.x.max / 1e9, ..frame.x };
    let moment = |s: f64| Tick { value: s * 1e9, label: short(s) };
    let x: Vec<Tick> = seconds.ticks(frame.size.ticks()).into_iter().map(moment).collect();
    let y: Vec<Tick> =
        frame.y.ticks(STEPS).into_iter().map(|value| Tick { value, label: words(value) }).collect();
    frame.grid(("time (s)", &x), (title, &y))
}
