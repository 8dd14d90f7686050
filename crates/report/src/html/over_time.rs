//! Charts over time: each group's share against what is due, and the lag of threads.

use super::axis::{Domain, Tick, short};
use super::chart::{Frame, Size, colour};
use super::labels::places;
use super::svg::{Point, escape, line, text};
use crate::document::{GroupResult, LagSample, PolicyResult};
use crate::human;

const PANEL: Size = Size { width: 440.0, height: 220.0, ..Size::WIDE };

/// One panel for each group that has samples: the share over time under every policy, and the due share dashed.
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
        body += &path("curve", *at, &shown[*at].policy, &points.collect::<Vec<_>>());
    }
    body += &due(&frame, groups.iter().find_map(|(_, group)| group.due_share));
    frame.drawing(&format!("Share of group {name} over time under each policy"), &body)
}

fn due(frame: &Frame, share: Option<f64>) -> String {
    let Some(share) = share else { return String::new() };
    let (from, to) = (frame.point(frame.x.min, share), frame.point(frame.x.max, share));
    let words = format!("due {}", human::share(Some(share)));
    let above = Point { x: to.x, y: to.y - 5.0 };
    format!("<path class=\"due\" d=\"{}\"/>", line(&[from, to]))
        + &text(above, "label ideal end", &words)
}

/// The band between the thread furthest ahead and the one furthest behind, for every policy; nothing without samples.
pub fn lag(shown: &[&PolicyResult], size: Size) -> String {
    let samples = || shown.iter().flat_map(|result| &result.lag_samples);
    if samples().next().is_none() {
        return String::new();
    }
    let lags = samples().flat_map(|sample| [sample.min_s, sample.max_s]).chain([0.0]);
    let frame = Frame {
        size: size.high(0.75 * size.height),
        x: time(samples().map(|sample| sample.at_ns)),
        y: Domain::linear(lags),
    };
    let seconds = |lag: f64| format!("{} s", short(lag));
    let mut body = grid(&frame, "lag of threads: behind what is due above 0, ahead below", seconds);
    body += &format!(
        "<path class=\"due\" d=\"{}\"/>",
        line(&[frame.point(frame.x.min, 0.0), frame.point(frame.x.max, 0.0)])
    );
    let mut tops = Vec::new();
    for (at, result) in shown.iter().enumerate() {
        let edge = |pick: fn(&LagSample) -> f64| -> Vec<Point> {
            result.lag_samples.iter().map(|s| frame.point(s.at_ns as f64, pick(s))).collect()
        };
        let (low, high) = (edge(|s| s.min_s), edge(|s| s.max_s));
        body += &outline(at, &low, &high);
        body += &path("curve", at, &result.policy, &high);
        body += &path("curve", at, &result.policy, &low);
        tops.push((result.policy.as_str(), high));
    }
    for (at, place) in places(&tops, frame.edges()).into_iter().enumerate() {
        let label = |place: super::labels::Place| {
            text(place.at, &format!("label {}", colour(at)), tops[at].0)
        };
        body += &place.map(label).unwrap_or_default();
    }
    frame.drawing("Least and greatest lag of a thread over time under each policy", &body)
}

fn outline(at: usize, low: &[Point], high: &[Point]) -> String {
    if low.is_empty() {
        return String::new();
    }
    let around: Vec<Point> = low.iter().chain(high.iter().rev()).copied().collect();
    format!("<path class=\"band {}\" d=\"{}Z\"/>", colour(at), line(&around))
}

fn path(class: &str, at: usize, name: &str, points: &[Point]) -> String {
    if points.is_empty() {
        return String::new();
    }
    format!(
        "<path class=\"{class} {}\" d=\"{}\"><title>{}</title></path>",
        colour(at),
        line(points),
        escape(name)
    )
}

fn time(moments: impl Iterator<Item = u64>) -> Domain {
    let mut domain = Domain::linear(moments.map(|ns| ns as f64 / 1e9));
    domain.min *= 1e9;
    domain.max *= 1e9;
    domain
}

fn grid(frame: &Frame, title: &str, words: impl Fn(f64) -> String) -> String {
    let seconds = |ns: f64| Tick { value: ns, label: short(ns / 1e9) };
    let x: Vec<Tick> = frame.x.ticks(frame.size.ticks()).into_iter().map(seconds).collect();
    let y: Vec<Tick> =
        frame.y.ticks(4).into_iter().map(|value| Tick { value, label: words(value) }).collect();
    frame.grid(("time (s)", &x), (title, &y))
}
