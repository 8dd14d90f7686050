//! A slow request over time: its state, and the holder of each CPU.

use super::axis::{Domain, latency_ticks};
use super::chart::{Frame, Size};
use super::stack::piece;
use super::svg::{Point, escape, text};
use crate::explain::{SlowRequest, Span, within};
use crate::human;

const BAR: f64 = 16.0;
const PITCH: f64 = 22.0;

/// Kinds of spans with their colours and words.
const KINDS: [(&str, &str, &str); 8] = [
    ("own", "c0", "its own thread"),
    ("first", "c7", "siblings that came first"),
    ("later", "c1", "siblings that came later"),
    ("background", "c5", "other programs"),
    ("interrupt", "c4", "interrupts"),
    ("power", "c6", "leaving an idle state"),
    ("idle", "hint", "idle"),
    ("offline", "faint", "offline"),
];

/// The key of all timelines.
pub fn key() -> Vec<(String, String, String)> {
    let entry = |(_, tint, words): &(&str, &str, &str)| {
        (tint.to_string(), words.to_string(), String::new())
    };
    KINDS[..7].iter().map(entry).collect()
}

/// The timeline, for both sizes of page.
pub fn drawings(slow: &SlowRequest) -> String {
    Size::BOTH.into_iter().map(|size| drawing(slow, size)).collect()
}

fn drawing(slow: &SlowRequest, size: Size) -> String {
    let size = Size { height: size.top + PITCH * (slow.cpus.len() + 1) as f64 + 52.0, ..size };
    let length = slow.completed_ns.saturating_sub(slow.intended_ns);
    let frame = Frame {
        size,
        x: Domain::tight([0.0, length as f64].into_iter()),
        y: Domain::tight([0.0, 1.0].into_iter()),
    };
    let ticks = latency_ticks(&frame.x, frame.size.ticks());
    let mut body = frame.grid(("since it should have been sent", &ticks), ("", &[]));
    let row = |at: usize| size.top + 3.0 + PITCH * at as f64;
    body += &label(&frame, "request", row(0));
    body += &phases(&frame, slow, row(0));
    for (at, cpu) in slow.cpus.iter().enumerate() {
        body += &label(&frame, &format!("CPU {}", cpu.cpu), row(at + 1));
        for span in &cpu.spans {
            body += &held(&frame, span, slow.intended_ns, row(at + 1));
        }
    }
    frame.drawing(
        &format!("Holders of the CPUs while request {} was under way", slow.request),
        &body,
    )
}

fn label(frame: &Frame, words: &str, top: f64) -> String {
    text(Point { x: frame.size.left - 8.0, y: top + 12.0 }, "end", words)
}

fn phases(frame: &Frame, slow: &SlowRequest, top: f64) -> String {
    let begin = slow.intended_ns;
    let phases = [
        ("held by the client", "faint", begin, slow.sent_ns),
        ("waits", "hint", slow.sent_ns, slow.started_ns),
        ("its thread is off the CPU", "faint", slow.started_ns, slow.completed_ns),
    ];
    let drawn = |(words, tint, from, to): (&str, &str, u64, u64)| {
        let at = |ns: u64| frame.point(ns.saturating_sub(begin) as f64, 0.0).x;
        let title = format!("{words}: {}", human::span(to.saturating_sub(from) as f64));
        piece((at(from), at(to)), top, BAR, tint, &title)
    };
    let on_cpus = slow.cpus.iter().flat_map(|cpu| &cpu.spans).filter(|span| span.kind == "own");
    let own = on_cpus.map(|span| {
        let (from, to) = (span.from_ns.max(slow.started_ns), span.to_ns.min(slow.completed_ns));
        ("its thread is at work", "c0", from, to)
    });
    phases.into_iter().chain(own).filter(|(_, _, from, to)| to > from).map(drawn).collect()
}

fn held(frame: &Frame, span: &Span, begin: u64, top: f64) -> String {
    let (_, tint, _) = KINDS.iter().find(|(kind, _, _)| *kind == span.kind).unwrap_or(&KINDS[7]);
    let at = |ns: u64| frame.point(ns.saturating_sub(begin) as f64, 0.0).x;
    let name = within(&span.name, span.owner.as_deref().or(span.group.as_deref()));
    let length = human::span(span.to_ns.saturating_sub(span.from_ns) as f64);
    let title = escape(&format!("{name}: {length}"));
    piece((at(span.from_ns), at(span.to_ns)), top, BAR, tint, &title)
}
